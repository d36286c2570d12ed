import type { Limit } from "./limit.js";

/**
 * All that is remembered of one token bucket: what was given out and has not come back.
 *
 * Nothing spent, full and forgotten are one and the same (law L4). Amounts are whole units: a token is `unitsPerToken`
 * of them and each millisecond gives back `unitsPerMs`, the numbers that this record was counted in (law L14).
 */
export interface Bucket {
  /** Units given out and not yet come back at `at`. */
  spent: number;
  /** The instant of `spent`, in whole milliseconds of the store's clock. */
  at: number;
  /** `p` of the limit that wrote the record. */
  unitsPerMs: number;
  /** `q` of the limit that wrote the record. */
  unitsPerToken: number;
}

/** A full bucket of `limit`, which is what an unknown caller has. */
export function fullBucket(limit: Limit): Bucket {
  return { spent: 0, at: 0, unitsPerMs: limit.unitsPerMs, unitsPerToken: limit.unitsPerToken };
}

/**
 * What `bucket` still has spent at `now`, in units of `limit`. Computes only; the bucket is not changed.
 *
 * Exact without capping the elapsed time first: a product beyond 2^53 is rounded, but only when it is already more than
 * anything that can be spent.
 */
export function spentAt(bucket: Bucket, limit: Limit, now: number): number {
  if (bucket.spent === 0 || isImpossible(bucket, limit, now)) return 0;
  const refilled = bucket.unitsPerMs * Math.max(0, now - bucket.at);
  const spent = Math.max(0, bucket.spent - refilled);
  return bucket.unitsPerToken === limit.unitsPerToken ? spent : convert(spent, bucket.unitsPerToken, limit.unitsPerToken);
}

/** Milliseconds that the record lies ahead of a clock that stepped back. Nothing is refilled until they have passed. */
export function lagAt(bucket: Bucket, limit: Limit, now: number): number {
  return bucket.at <= now || bucket.spent === 0 || isImpossible(bucket, limit, now) ? 0 : bucket.at - now;
}

/** Milliseconds until `cost` tokens fit beside `spent`: 0 when they fit now. `cost` is at most the capacity. */
export function waitFor(cost: number, spent: number, limit: Limit): number {
  const over = spent - (limit.size - cost * limit.unitsPerToken);
  return over <= 0 ? 0 : Math.ceil(over / limit.unitsPerMs);
}

/** Whole tokens that are left beside `spent`. */
export function remainingOf(spent: number, limit: Limit): number {
  return Math.max(0, Math.floor((limit.size - spent) / limit.unitsPerToken));
}

/** Milliseconds until nothing is spent any more. */
export function untilFull(spent: number, limit: Limit): number {
  return Math.ceil(spent / limit.unitsPerMs);
}

/** Brings the record to `now` and to the numbers of `limit`, then moves `units` out of the bucket (or back in, when negative). */
export function charge(bucket: Bucket, limit: Limit, now: number, units: number): void {
  const spent = spentAt(bucket, limit, now);
  bucket.at = now + lagAt(bucket, limit, now);
  bucket.spent = Math.max(0, spent + units);
  bucket.unitsPerMs = limit.unitsPerMs;
  bucket.unitsPerToken = limit.unitsPerToken;
}

/** Whether the record was counted in other numbers than `limit` has, so that even a denial must settle it (law L3). */
export function isStale(bucket: Bucket, limit: Limit): boolean {
  return bucket.unitsPerMs !== limit.unitsPerMs || bucket.unitsPerToken !== limit.unitsPerToken;
}

// A record further ahead than one whole refill cannot come from one step back of the clock that is worth waiting out.
function isImpossible(bucket: Bucket, limit: Limit, now: number): boolean {
  return bucket.at - now > limit.fullMs;
}

// Rounded up, so that changing numbers never mints; the product may pass 2^53 although the result does not.
function convert(spent: number, from: number, to: number): number {
  const units = (BigInt(spent) * BigInt(to) + BigInt(from) - 1n) / BigInt(from);
  return Math.min(Number(units), Number.MAX_SAFE_INTEGER);
}
