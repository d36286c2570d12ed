import { neededLately, withHeadroom, type Demand } from "./demand.js";
import { keepableNow, type Holding } from "./held.js";
import { mostAfter, type Supply } from "./supply.js";
import { refillOf, type LeaseInstant, type Take } from "./terms.js";

/** What a process knows of a leased key. */
interface Known extends Holding {
  readonly demand: Demand;
  readonly supply: Supply;
}

/** Of the tokens that the store has beyond those that are needed, a lease has at most this part. */
const SPARE = 1 / 8;

/** The next call: for as much as is wanted, if the store is likely to have it. */
export function plan(known: Known, cost: number, sent: LeaseInstant): Take {
  const { terms, demand, held: { taken, sent: last }, supply } = known;
  if (supply.left < 0) return { ask: cost, missing: 0, sent };
  const kept = keepableNow(known, sent);
  // Without the tokens that are held, the store might refuse a cost that is there.
  const least = Math.max(0, cost - kept);
  if (!demand.isHot) return { ask: least, missing: 0, sent };
  const isEarly = sent.steady < supply.callFrom;
  const refill = refillOf(terms);
  // A lease that was used up early grows with the pace: to four times at most, and beyond what refills in `leaseMs` to
  // twice at most. If demand ends, the rest lapses.
  const pace = (taken * terms.leaseMs) / Math.max(1, sent.steady - last.steady);
  const grown = isEarly ? Math.min(pace, Math.max(2 * taken, Math.min(4 * taken, refill))) : 0;
  const expected = Math.max(neededLately(demand), grown);
  const needed = Math.max(cost, Math.ceil(expected)) - kept;
  const most = cost + Math.max(0, withHeadroom(expected) - kept);
  const there = mostAfter(supply, terms, sent.steady - supply.leftAt);
  const offer = isEarly ? there : Math.min(there, Math.max(1, Math.round(supply.share * (1 - supply.margin))));
  const enough = needed + Math.floor((offer - needed) * SPARE);
  if (most <= enough) return { ask: most, missing: 0, sent };
  // Where tokens are scarce, those that lapse here are missed elsewhere. But in a jump of demand the process refuses
  // nothing before it has asked for all that is there.
  const isLast = isEarly && offer - enough < Math.min(needed, refill);
  return { ask: Math.max(least, offer < needed || isLast ? offer : enough), missing: needed, sent };
}
