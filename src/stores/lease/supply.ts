import type { Bucket } from "../../core/bucket.js";
import type { Decision, Refused } from "../../core/decision.js";
import { peek, whileBlocked } from "../../core/decide.js";
import { HEADROOM } from "./demand.js";
import { refillOf, type LeaseTerms, type Take } from "./terms.js";

/** What a process knows of the tokens that the store has for a key. */
export interface Supply {
  /** Tokens that the store had left after its last answer. -1 at first. */
  readonly left: number;
  /** When that answer came, by the steady clock, and when it was made, by the store's. */
  readonly leftAt: number;
  readonly at: number;
  /** No token is there before this instant: a block or a debt. */
  readonly emptyUntil: number;
  /** Whether that is the end of a block. */
  readonly isBlocked: boolean;
  /** Tokens that the calls found there lately: what the other processes left to this one. */
  readonly share: number;
  /** The part of `share` that a call leaves in the store, so that a little less there is no refusal. */
  readonly margin: number;
  /** Whether the process refuses what it does not hold until the next call is due. */
  readonly isResting: boolean;
  /** The instant from which the next call is due. */
  readonly callFrom: number;
}

// Found by simulating 1 to 8 processes that are asked for 0.6 to 10 times the rate: 97 % of it or more is granted. A
// lease lasts one `leaseMs`, so a call that comes later by the part `LATER` loses as much of the demand. Near the rate
// there is little to lose.
const MARGIN = 0.15;
const MARGIN_KEPT = 0.8;
const GROWTH = 0.05;
/** In a full bucket tokens are lost, as when other processes are gone. */
const GROWTH_FULL = 0.2;
const LATER = 0.1;

/** Nothing is known. */
export function unknownSupply(steady: number): Supply {
  return {
    left: -1, leftAt: steady, at: 0, emptyUntil: -Infinity, isBlocked: false, share: Infinity, margin: 0, isResting: false,
    callFrom: -Infinity,
  };
}

/** The most tokens that the store can have `ms` after its last answer, unless some were given back. */
export function mostAfter({ left }: Supply, { limit }: LeaseTerms, ms: number): number {
  return Math.min(limit.capacity, left + Math.floor((Math.max(0, ms) * limit.unitsPerMs) / limit.unitsPerToken));
}

/** Whether the process refuses a cost by itself: the tokens are not there, and the next call is not due. */
export function isDry(supply: Supply, terms: LeaseTerms, cost: number, unused: number, steady: number): boolean {
  if (steady >= supply.callFrom) return false;
  return supply.isResting || mostAfter(supply, terms, steady - supply.leftAt) + unused < cost;
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
export function learn(supply: Supply, terms: LeaseTerms, take: Take, answer: Decision, steady: number): Supply {
  const { ask, missing, sent } = take;
  const { allowed, remaining, nextTokenMs, at } = answer;
  const refill = refillOf(terms);
  const isEmpty = !allowed && remaining === 0;
  const found = remaining + (allowed ? ask : 0);
  const isEarly = sent.steady < supply.callFrom;
  const isPlenty = remaining >= refill;
  const growth = found === terms.limit.capacity ? GROWTH_FULL : GROWTH;
  const learned = found < supply.share || isPlenty ? found : supply.share + (found - supply.share) * growth;
  // The less a call finds, the sooner it came after that of another process. The next one then comes later, until the
  // calls of all processes are spread evenly over time.
  const later = found < HEADROOM * missing ? LATER * Math.max(0, 1 - found / refill) : 0;
  const most = mostAfter(supply, terms, at - supply.at);
  return {
    left: remaining,
    leftAt: steady,
    at,
    emptyUntil: isEmpty ? steady + nextTokenMs : -Infinity,
    isBlocked: !allowed && Object.hasOwn(answer, "blocked"),
    // A block or a debt says nothing of the other processes.
    share: (isEarly && !isPlenty) || isEmpty ? supply.share : learned,
    margin: found < most ? MARGIN : supply.margin * MARGIN_KEPT,
    // A flood begins when less is left than the next lease needs. It lasts as long as the calls that are due get too
    // little.
    isResting: !isPlenty && (remaining < missing || (missing > 0 && supply.isResting && !isEarly)),
    callFrom: sent.steady + Math.ceil(terms.leaseMs * (1 + later)),
  };
}
