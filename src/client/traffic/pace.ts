import { changeUnits, fullBucket, spentAt, unitsOver, type Bucket } from "../../core/bucket.js";
import { makeLimit, type Limit, type Refill } from "../../core/limit.js";
import type { ToldLimit } from "../reading/rate-limit.js";

/** The client's copy of a server's limit, less a reserve of a tenth. Its bucket limits how fast calls are sent. */
export interface Pace {
  readonly limit: Limit;
  readonly bucket: Bucket;
  /** Milliseconds for a token by the server's window. What remains until a reset in whole seconds may be far slower. */
  readonly leastMs: number;
}

/** The tokens of calls that the server may have counted after the call that it responds to. */
export interface LaterCalls {
  /** Of calls that were sent later. The server has most likely counted them by the time they respond. */
  readonly likely: number;
  /** Of all calls that were pending at the same time: requests and responses overtake each other. */
  readonly atMost: number;
}

/**
 * Returns the pace after a response that reports `told`. Null when the response states too little for a pace.
 *
 * All but a tenth of the limit may be sent in a burst. The tenth is a reserve, for other clients of the same limit and
 * for responses that arrive out of order. Once only the reserve is left, calls are spaced by the refill rate.
 */
export function updatePace(before: Pace | null, told: ToldLimit, { likely, atMost }: LaterCalls, now: number): Pace | null {
  const limit = paceLimit(told);
  if (limit === null) return null;
  const token = limit.unitsPerToken;
  const counted = before === null ? 0 : limit.size - spentAt(before.bucket, limit, Math.floor(now));
  const leastLeft = told.remaining - atMost - reserveOf(told);
  const mostLeft = told.remaining - likely;
  const free = Math.max(leastLeft * token, Math.min(counted, mostLeft * token));
  const bucket = fullBucket(limit);
  bucket.at = Math.ceil(now);
  // Below 0 when more calls are pending than the limit has left. The next call then waits for their tokens, too.
  bucket.spent = Math.max(0, limit.size - free);
  const { windowMs, limit: most } = told;
  return { limit, bucket, leastMs: windowMs && most ? windowMs / most : limit.unitsPerToken / limit.unitsPerMs };
}

/** Milliseconds until calls of `tokens` more may have been sent. 0 when they may be sent now. */
export function paceWait({ limit, bucket }: Pace, tokens: number, now: number): number {
  return Math.ceil(unitsOver(limit, tokens, spentAt(bucket, limit, Math.floor(now))) / limit.unitsPerMs);
}

/** The least wait for `tokens` more, by the server's window. */
export function leastPaceWait({ limit, bucket, leastMs }: Pace, tokens: number, now: number): number {
  return Math.floor((unitsOver(limit, tokens, spentAt(bucket, limit, Math.floor(now))) / limit.unitsPerToken) * leastMs);
}

/** Counts `tokens` as sent. A negative number takes them back. */
export function countSent({ limit, bucket }: Pace, tokens: number, now: number): void {
  changeUnits(bucket, limit, Math.floor(now), tokens * limit.unitsPerToken);
}

const reserveOf = ({ limit }: ToldLimit): number => Math.floor((limit ?? 0) / 10);

// Null for numbers that no bucket can hold: a server's absurd numbers must not fail the call.
function paceLimit(told: ToldLimit): Limit | null {
  if (told.concurrent) return null; // it says nothing of a rate
  const refill = paceRefill(told);
  if (refill === null) return null;
  try {
    return makeLimit({ capacity: (told.limit as number) - reserveOf(told), refill }, "");
  } catch {
    return null;
  }
}

/**
 * The slower of two rates: the limit per window, and what remains per time until the reset.
 *
 * The second rate matters for fixed windows. Section 7 of the draft asks for it: no more than `r` calls within `t`.
 */
function paceRefill({ limit, remaining, resetMs, windowMs }: ToldLimit): Refill | null {
  if (limit === null) return null;
  const untilReset = resetMs && remaining ? { tokens: remaining, everyMs: Math.ceil(resetMs) } : null;
  if (!windowMs) return untilReset;
  const sustained = { tokens: limit, everyMs: windowMs };
  return untilReset !== null && untilReset.tokens * windowMs < limit * untilReset.everyMs ? untilReset : sustained;
}
