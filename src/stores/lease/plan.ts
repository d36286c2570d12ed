import { HOT_REQUESTS, neededLately, withHeadroom, type Demand } from "./demand.js";
import { keepableNow, type HeldTokens } from "./held.js";
import { offered, type Supply } from "./supply.js";
import { refillOf, type LeaseInstant, type LeaseTerms, type Take } from "./terms.js";

/** What a process knows of a leased key. */
interface Known {
  readonly terms: LeaseTerms;
  readonly demand: Demand;
  readonly held: HeldTokens;
  readonly supply: Supply;
}

// A lease has the tokens that are needed, and of those that the store has beyond them, this part.
const SPARE_PARTS = 8;
const MOST_GROWTH = 4;

/** The next call: for as much as is wanted, if the store is likely to have it. */
export function plan(known: Known, cost: number, sent: LeaseInstant): Take {
  const { terms, demand, held, supply } = known;
  const kept = keepableNow(held, terms, sent);
  // Without the tokens that are held, the store might refuse a cost that is there.
  const least = Math.max(0, cost - kept);
  const expected = Math.max(neededLately(demand), neededByPace(known, sent));
  const wanted = withHeadroom(expected);
  const needed = Math.max(cost, Math.ceil(expected)) - kept;
  if (supply.left < 0) return { ask: cost, needed, isShort: false, sent };
  if (!demand.isHot || wanted < HOT_REQUESTS) return { ask: least, needed, isShort: false, sent };
  const most = cost + wanted - Math.min(kept, wanted);
  const offer = offered(supply, terms, sent.steady);
  const enough = needed + Math.floor((offer - needed) / SPARE_PARTS);
  if (most <= enough) return { ask: most, needed, isShort: false, sent };
  // Where tokens are scarce, those that lapse here are missed elsewhere. But in a jump of demand the process refuses
  // nothing before it has asked for all that is there.
  const refill = refillOf(terms);
  const isLast = sent.steady < supply.callFrom && offer - enough < Math.min(needed, refill);
  const some = offer < needed || isLast ? offer : enough;
  const isTooFew = offer - least < HOT_REQUESTS && offer > refill;
  return { ask: isTooFew ? least : Math.max(least, some), needed, isShort: true, sent };
}

/**
 * Tokens that `leaseMs` needs at the pace since the last call, if that was used up early. At most four times those that
 * it took, and never more than refill in `leaseMs`: if demand ends, the rest lapses.
 */
function neededByPace({ terms, held, supply }: Known, sent: LeaseInstant): number {
  if (sent.steady >= supply.callFrom) return 0;
  const elapsed = Math.max(1, sent.steady - held.sent.steady);
  return Math.min(held.taken * Math.min(MOST_GROWTH, terms.leaseMs / elapsed), refillOf(terms));
}
