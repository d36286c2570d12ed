import { charge, isStale, lagAt, remainingOf, spentAt, untilFull, waitFor, type Bucket } from "./bucket.js";
import type { Limit } from "./limit.js";
import type { Policy } from "./policy.js";

/** What one limit of a policy says, with a bucket of 10 at 2 a second as the worked number. */
export interface Reading {
  /** The limit's name. */
  readonly limit: string;
  /** The most it can hold: 10. */
  readonly capacity: number;
  /** Whole tokens left after this decision: 7 after three calls. */
  readonly remaining: number;
  /** Milliseconds until this cost fits: 500 for one token of an empty bucket. 0 when it fits, Infinity when it never can. */
  readonly retryAfterMs: number;
  /** Milliseconds until one more whole token: at most 500. 0 when full. */
  readonly nextTokenMs: number;
  /** Milliseconds until full: 1500 after three calls. 0 when full. */
  readonly resetMs: number;
}

/** What every decision tells, allowed or not. All of it is a snapshot: plain data that nobody changes afterwards. */
export interface DecisionFacts extends Reading {
  /** The policy's name. */
  readonly policy: string;
  /** Whole tokens that were asked for. */
  readonly cost: number;
  /**
   * One reading for each limit of a policy of several, in its order; null for a policy of one. The decision's own numbers
   * are those of the limit that binds: the longest refusing wait, or, when allowed, the fewest tokens left.
   */
  readonly limits: readonly Reading[] | null;
  /** When it was decided, in milliseconds of the store's clock. By this a refund tells that the tokens came back already. */
  readonly at: number;
  /** True when the store failed and something else answered: the numbers then say nothing about the caller's budget. */
  readonly degraded: boolean;
  /** What the store failed with. Only on a degraded decision. */
  readonly error?: unknown;
}

/** The tokens were taken. */
export interface Allowed extends DecisionFacts {
  readonly allowed: true;
  readonly reason: null;
  /** The refusal that a limiter with `shadow: true` kept to itself: nothing was taken. */
  readonly shadow?: Refused;
}

/** Nothing was taken. */
export interface Refused extends DecisionFacts {
  readonly allowed: false;
  /**
   * `"limited"`: wait `retryAfterMs`. `"cost_above_capacity"`: it can never succeed.
   * `"store_unavailable"`: nothing is known of the caller's budget, and this is not a 429.
   */
  readonly reason: "limited" | "cost_above_capacity" | "store_unavailable";
}

/** The plain answer to `consume` and `peek`: {@link Allowed} or {@link Refused}, told apart by `allowed` or `reason`. */
export type Decision = Allowed | Refused;

/**
 * Decides, and takes the tokens from every bucket or from none (law L10). This is the whole of rate limiting here; stores
 * differ only in where the buckets lie.
 *
 * `buckets` holds one record for each limit of the policy, in its order, and is changed in place: when allowed, and when
 * the policy's numbers are new to a record (law L14). Otherwise a refusal changes nothing (law L3).
 */
export function consume(buckets: readonly Bucket[], policy: Policy, cost: number, now: number): Decision {
  const decision = decide(buckets, policy, cost, now, true);
  for (let i = 0; i < buckets.length; i++) {
    const limit = policy.limits[i] as Limit;
    const bucket = buckets[i] as Bucket;
    if (decision.allowed) charge(bucket, limit, now, cost * limit.unitsPerToken);
    else if (isStale(bucket, limit)) charge(bucket, limit, now, 0);
  }
  return decision;
}

/** The decision that {@link consume} would make, with what is left now. Changes nothing. */
export function peek(buckets: readonly Bucket[], policy: Policy, cost: number, now: number): Decision {
  return decide(buckets, policy, cost, now, false);
}

/** Gives `tokens` back to every bucket, up to full. */
export function refund(buckets: readonly Bucket[], policy: Policy, tokens: number, now: number): void {
  // A product beyond 2^53 is rounded, but then it is more than anything that can be spent.
  policy.limits.forEach((limit, i) => charge(buckets[i] as Bucket, limit, now, -tokens * limit.unitsPerToken));
}

/** Takes `tokens` from every bucket although they may not be there, until twice its capacity is spent: a debt. */
export function debit(buckets: readonly Bucket[], policy: Policy, tokens: number, now: number): void {
  policy.limits.forEach((limit, i) => {
    const bucket = buckets[i] as Bucket;
    const room = Math.min(2 * limit.size, Number.MAX_SAFE_INTEGER) - spentAt(bucket, limit, now);
    charge(bucket, limit, now, Math.max(0, Math.min(tokens * limit.unitsPerToken, room)));
  });
}

/**
 * The readings of a decision, one for each limit of its policy, also when there is only one.
 * @example
 * for (const { limit, remaining } of readings(bucket.consume())) console.log(limit, remaining);
 */
export function readings(decision: Decision): readonly Reading[] {
  return decision.limits ?? [decision];
}

function decide(buckets: readonly Bucket[], policy: Policy, cost: number, now: number, take: boolean): Decision {
  if (policy.limits.length > 1) return decideSeveral(buckets, policy, cost, now, take);
  const limit = policy.limits[0];
  const bucket = buckets[0] as Bucket;
  const wait = waitOf(bucket, limit, cost, now);
  return answer(bucket, limit, policy, cost, take && wait === 0 ? cost : 0, wait, now);
}

// By itself: a function that makes closures allocates for them whether it comes to them or not.
function decideSeveral(buckets: readonly Bucket[], policy: Policy, cost: number, now: number, take: boolean): Decision {
  const waits = policy.limits.map((limit, i) => waitOf(buckets[i] as Bucket, limit, cost, now));
  const taken = take && waits.every((wait) => wait === 0) ? cost : 0;
  const all = policy.limits.map((limit, i) => answer(buckets[i] as Bucket, limit, policy, cost, taken, waits[i] as number, now));
  return { ...all.reduce((a, b) => (bindsMore(b, a) ? b : a)), limits: all.map(readingOf) };
}

// A cost of 0 takes nothing, so it fits even where more is spent than a new, smaller capacity holds (laws L9, L14).
function waitOf(bucket: Bucket, limit: Limit, cost: number, now: number): number {
  if (cost === 0) return 0;
  if (cost > limit.capacity) return Infinity;
  const wait = waitFor(cost, spentAt(bucket, limit, now), limit);
  return wait === 0 ? 0 : wait + lagAt(bucket, limit, now);
}

/** The decision as if `limit` were the only one. */
function answer(bucket: Bucket, limit: Limit, policy: Policy, cost: number, taken: number, wait: number, now: number): Decision {
  const spent = spentAt(bucket, limit, now) + taken * limit.unitsPerToken;
  const lag = lagAt(bucket, limit, now);
  const remaining = remainingOf(spent, limit);
  // One literal, so that every decision has one shape; that `allowed` and `reason` agree is seen here and not by the compiler.
  return {
    allowed: wait === 0,
    reason: wait === 0 ? null : wait === Infinity ? "cost_above_capacity" : "limited",
    policy: policy.name,
    limit: limit.name,
    cost,
    capacity: limit.capacity,
    remaining,
    retryAfterMs: wait,
    nextTokenMs: spent === 0 ? 0 : waitFor(remaining + 1, spent, limit) + lag,
    resetMs: spent === 0 ? 0 : untilFull(spent, limit) + lag,
    limits: null,
    at: now,
    degraded: false,
  } as Decision;
}

function readingOf({ limit, capacity, remaining, retryAfterMs, nextTokenMs, resetMs }: Decision): Reading {
  return { limit, capacity, remaining, retryAfterMs, nextTokenMs, resetMs };
}

function bindsMore(a: Reading, b: Reading): boolean {
  if (a.retryAfterMs !== b.retryAfterMs) return a.retryAfterMs > b.retryAfterMs;
  if (a.remaining !== b.remaining) return a.remaining < b.remaining;
  return a.nextTokenMs > b.nextTokenMs;
}
