import { notDefined } from "./check.js";
import type { Limit } from "./limit.js";
import { ALL_UNITS } from "./rules.js";

/**
 * The record of one token bucket: the units that were spent and have not refilled yet.
 *
 * A full bucket, a bucket with nothing spent and a missing record are the same state (law L4). Amounts are whole units:
 * a token is `unitsPerToken` units and each millisecond refills `unitsPerMs`. The record keeps both numbers, because a
 * policy's numbers can change (law L14).
 */
export interface Bucket {
  /** Units spent and not refilled at `at`. */
  spent: number;
  /** The instant of `spent`, in whole milliseconds of the store's clock. */
  at: number;
  /** `p` of the limit that wrote the record. */
  unitsPerMs: number;
  /** `q` of the limit that wrote the record. */
  unitsPerToken: number;
  /** Only for a limit in flight: date, tokens, date, tokens and so on, earliest first. `spent` sums up the tokens. */
  dates?: readonly number[] | undefined;
}

/**
 * A full bucket of `limit`: the state of a key without a record.
 *
 * Throws a TypeError for a limit of a copied policy, which has no numbers to count with.
 */
export function fullBucket(limit: Limit): Bucket {
  if (limit.unitsPerMs === undefined) throw notDefined(limit);
  return { spent: 0, at: 0, unitsPerMs: limit.unitsPerMs, unitsPerToken: limit.unitsPerToken };
}

/**
 * Units of `limit` that `bucket` still has spent at `now`. Does not change the bucket.
 *
 * Exact although the elapsed time is not capped: a product beyond 2^53 is rounded, but exceeds all that can be spent.
 */
export function spentAt(bucket: Bucket, limit: Limit, now: number): number {
  if (bucket.spent === 0) return 0;
  if (limit.rule?.inFlight) return limit.rule.spentAt(bucket, now);
  const refilled = bucket.unitsPerMs * Math.max(0, now - bucket.at);
  const spent = Math.max(0, bucket.spent - refilled);
  return bucket.unitsPerToken === limit.unitsPerToken ? spent : convert(spent, bucket.unitsPerToken, limit.unitsPerToken);
}

/**
 * Milliseconds in which nothing refills: until the date of a quota, after `taken` more units, or until a clock that
 * stepped back has caught up. Tokens that a rate takes over from a quota refill from now on.
 */
export function lagAt(bucket: Bucket, limit: Limit, now: number, taken = 0): number {
  if (limit.rule !== undefined) return limit.rule.lagAt(bucket, now, taken);
  if (bucket.at <= now || bucket.spent === 0 || (bucket.unitsPerMs === ALL_UNITS && limit.unitsPerMs < ALL_UNITS)) return 0;
  return isImpossible(bucket, limit, now) ? 0 : bucket.at - now;
}

/** Milliseconds until `cost` tokens fit beside `spent` units: 0 when they fit now. `cost` is at most the capacity. */
export function waitFor(cost: number, spent: number, limit: Limit): number {
  const over = spent - (limit.size - cost * limit.unitsPerToken);
  return over <= 0 ? 0 : Math.ceil(over / limit.unitsPerMs);
}

/** `units`, or if they are given back to a rate, those of them that did not refill in the last `lateMs`. */
export function stillSpent(units: number, { rule, unitsPerMs }: Limit, lateMs: number): number {
  return units < 0 && lateMs > 0 && rule === undefined ? Math.min(0, units + unitsPerMs * lateMs) : units;
}

/**
 * Brings the record to `now` and to the numbers of `limit`, then spends `units`. Negative `units` are given back, to
 * the period of the decision made at `from`.
 */
export function charge(bucket: Bucket, limit: Limit, now: number, units: number, from?: number): void {
  const change = limit.rule?.unitsFor(bucket, now, units, from) ?? units;
  const spent = spentAt(bucket, limit, now);
  bucket.at = now + lagAt(bucket, limit, now, change);
  bucket.spent = Math.max(0, spent + change);
  bucket.unitsPerMs = limit.unitsPerMs;
  bucket.unitsPerToken = limit.unitsPerToken;
}

/**
 * Whether the record was counted in other numbers than those of `limit`, or is impossible. Even a refusal must convert
 * it (law L3): otherwise an impossible record would refuse until the clock has caught up (law L6).
 */
export function isStale(bucket: Bucket, limit: Limit, now: number): boolean {
  if (bucket.unitsPerMs !== limit.unitsPerMs || bucket.unitsPerToken !== limit.unitsPerToken) return true;
  return bucket.spent > 0 && isImpossible(bucket, limit, now);
}

// A record more than one full refill ahead of the clock is brought to now, because waiting for that instant would take
// too long. Its spent units stay: counting it as full would lift a fine.
function isImpossible(bucket: Bucket, limit: Limit, now: number): boolean {
  return bucket.at - now > limit.fullMs;
}

// Rounds up, so that a change of numbers never creates tokens. The product may pass 2^53 although the result does not.
function convert(spent: number, from: number, to: number): number {
  const units = (BigInt(spent) * BigInt(to) + BigInt(from) - 1n) / BigInt(from);
  return Math.min(Number(units), Number.MAX_SAFE_INTEGER);
}
