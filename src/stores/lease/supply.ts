import type { Bucket } from "../../core/bucket.js";
import { peek, whileBlocked, type Decision, type Refused } from "../../core/decision.js";
import { refillOf, type LeaseTerms, type Take } from "./terms.js";

/** What a process knows of the tokens that the store has for a key. */
export interface Supply {
  /**
   * Tokens that the store had left after its last answer, which came at this instant of the steady clock. -1 at first.
   */
  readonly left: number;
  readonly leftAt: number;
  /** No token is there before this instant: a block or a debt. */
  readonly emptyUntil: number;
  /** Whether that is the end of a block. */
  readonly isBlocked: boolean;
  /** Tokens that the calls found there lately: what the other processes left to this one. */
  readonly share: number;
  /** The part of `share` that is not asked for, because a call asked for too much lately. */
  readonly caution: number;
  /** Whether the process refuses what it does not hold until the next call is due. */
  readonly isResting: boolean;
  /** The instant from which the next call is due. */
  readonly callFrom: number;
}

// Found by simulating 1 to 16 processes whose calls and answers come a few milliseconds late: 97 % of the rate or more
// is granted, and the process with the fewest grants gets 85 % of the one with the most.
const CAUTION = 0.2;
const CAUTION_KEPT = 0.9;
const GROWTH = 0.05;
const LATER = 0.5;

/** Nothing is known. */
export function unknownSupply(steady: number): Supply {
  return {
    left: -1, leftAt: steady, emptyUntil: -Infinity, isBlocked: false, share: Infinity, caution: 0, isResting: false,
    callFrom: -Infinity,
  };
}

/** The most tokens that the store can have at `steady`, unless some were given back. */
function mostThere({ left, leftAt }: Supply, { limit }: LeaseTerms, steady: number): number {
  return Math.min(limit.capacity, left + Math.floor((Math.max(0, steady - leftAt) * limit.unitsPerMs) / limit.unitsPerToken));
}

/**
 * Tokens that a call may ask for at `steady`: all that are likely there, if they refill in two `leaseMs`. Otherwise
 * half of them, which leaves other processes their part.
 */
export function offered(supply: Supply, terms: LeaseTerms, steady: number): number {
  if (supply.left < 0) return 0;
  const most = mostThere(supply, terms, steady);
  const likely = steady < supply.callFrom ? most : Math.min(most, Math.max(1, Math.round(supply.share * (1 - supply.caution))));
  return likely > 2 * refillOf(terms) ? Math.floor(likely / 2) : likely;
}

/** Whether the process refuses a cost by itself: the tokens are not there, and the next call is not due. */
export function isDry(supply: Supply, terms: LeaseTerms, cost: number, unused: number, steady: number): boolean {
  if (steady >= supply.callFrom) return false;
  return supply.isResting || mostThere(supply, terms, steady) + unused < cost;
}

/**
 * The refusal of this process. `bucket` is the store's by its last answer. In a rest no token is there before the next
 * call.
 */
export function refusal(
  { leftAt, emptyUntil, isBlocked, callFrom, isResting }: Supply,
  { policy }: LeaseTerms,
  bucket: Bucket,
  cost: number,
  steady: number,
): Refused {
  const decision = peek([bucket], policy, cost, bucket.at + Math.max(0, steady - leftAt));
  // Unused tokens that lapsed are still in `bucket`, and so is what refilled since.
  const isUntilCall = isResting || decision.allowed;
  const noneMs = Math.max(emptyUntil, isUntilCall ? callFrom : -Infinity) - steady;
  if (noneMs <= 0) return decision as Refused;
  // Any such wait is like that of a block. Only a caller that is blocked is told so.
  const { blocked, ...refused } = whileBlocked(decision, noneMs) as Refused;
  return isBlocked && emptyUntil > steady && blocked ? { ...refused, blocked } : refused;
}

/** What is known after the store took `tokens` in another way, or got some back. */
export function adjusted(supply: Supply, { limit }: LeaseTerms, tokens: number): Supply {
  if (supply.left < 0) return supply;
  const left = Math.min(limit.capacity, Math.max(0, supply.left - tokens));
  return tokens > 0 ? { ...supply, left } : { ...supply, left, isResting: false, emptyUntil: -Infinity, isBlocked: false };
}

/** What is known after an answer that came at `steady`. */
export function learn(supply: Supply, terms: LeaseTerms, { ask, isShort, sent }: Take, answer: Decision, steady: number): Supply {
  const { allowed, remaining, nextTokenMs } = answer;
  const refill = refillOf(terms);
  const found = remaining + (allowed ? ask : 0);
  const isPlenty = allowed && remaining >= refill;
  const isEarly = sent.steady < supply.callFrom;
  const learned = found < supply.share ? found : supply.share + (found - supply.share) * GROWTH;
  // The less a call finds, the sooner it came after that of another process. The next one then comes later, until the
  // calls of all processes are spread evenly over time.
  const later = isShort ? LATER * (1 - Math.min(1, found / refill)) : 0;
  return {
    left: remaining,
    leftAt: steady,
    emptyUntil: !allowed && remaining === 0 ? steady + nextTokenMs : -Infinity,
    isBlocked: !allowed && answer.blocked === true,
    share: isPlenty ? found : isEarly ? supply.share : learned,
    caution: allowed ? supply.caution * CAUTION_KEPT : CAUTION,
    // A flood begins when less is left than refills in `leaseMs`. It lasts as long as the calls that are due get too
    // little.
    isResting: isShort && (remaining < refill || (supply.isResting && !isEarly)),
    callFrom: sent.steady + Math.ceil(terms.leaseMs * (1 + later)),
  };
}
