import { charge, fullBucket, spentAt, waitFor, type Bucket } from "../../core/bucket.js";
import { makeLimit, type Limit, type Refill } from "../../core/limit.js";
import type { RateLimit } from "../reading/rate-limit.js";

/** What a server's limit leaves to send: its bucket, less a reserve, as far as it can be known from here. */
export interface Pace {
  readonly limit: Limit;
  readonly bucket: Bucket;
}

/** How many calls the server may have counted after the one that it answers. */
export interface Later {
  /** Those sent after it, which is most likely. */
  readonly likely: number;
  /** Those under way at the same time: requests and answers overtake each other. */
  readonly perhaps: number;
}

/**
 * The pace after an answer; null when the answer tells too little for one.
 *
 * All but a tenth of the limit may go in a burst. That tenth is the reserve, for others who share the limit and for answers
 * that overtake each other: with no more than it left, calls are spaced so that there is always something left. `unheard`
 * counts the calls sent since that the answer does not know of.
 */
export function adjustPace(before: Pace | null, told: RateLimit, { likely, perhaps }: Later, now: number): Pace | null {
  const limit = limitOf(told);
  if (limit === null) return null;
  const token = limit.unitsPerToken;
  const counted = before === null ? 0 : limit.size - spentAt(before.bucket, limit, Math.floor(now));
  const reserve = reserveOf(told);
  const least = told.remaining - perhaps - reserve;
  const most = told.remaining - likely;
  const free = Math.max(least * token, Math.min(counted, most * token));
  const bucket = fullBucket(limit);
  bucket.at = Math.ceil(now);
  // Free may be less than nothing: then some of what is under way is ahead of its time.
  bucket.spent = Math.max(0, limit.size - free);
  return { limit, bucket };
}

/** Milliseconds until `calls` may have been sent; 0 when they may go now. */
export function paceWait({ limit, bucket }: Pace, calls: number, now: number): number {
  return waitFor(calls, spentAt(bucket, limit, Math.floor(now)), limit);
}

/** Counts `calls` as sent; a negative number takes them back. */
export function countSent({ limit, bucket }: Pace, calls: number, now: number): void {
  charge(bucket, limit, Math.floor(now), calls * limit.unitsPerToken);
}

const reserveOf = ({ limit }: RateLimit): number => Math.floor((limit ?? 0) / 10);

// Whatever a server tells, however absurd, is no reason to fail: numbers that no bucket can hold set no pace.
function limitOf(told: RateLimit): Limit | null {
  const refill = refillOf(told);
  if (refill === null) return null;
  try {
    return makeLimit({ capacity: (told.limit as number) - reserveOf(told), refill }, "");
  } catch {
    return null;
  }
}

/**
 * The slower of two rates: the limit over its window, which lasts for ever, and what is left over the time until there is more.
 *
 * The second is what matters for windows that start afresh, and what the draft asks for (section 7: no more than `r` within `t`).
 */
function refillOf({ limit, remaining, resetMs, windowMs }: RateLimit): Refill | null {
  if (limit === null) return null;
  const lasting = resetMs && remaining ? { tokens: remaining, everyMs: Math.ceil(resetMs) } : null;
  if (!windowMs) return lasting;
  const sustained = { tokens: limit, everyMs: windowMs };
  return lasting !== null && lasting.tokens * windowMs < limit * lasting.everyMs ? lasting : sustained;
}
