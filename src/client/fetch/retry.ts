/**
 * Why a limited call was not tried again: it is `"sensitive"`; it is `"not_repeatable"`, by its method or for a body that
 * can be read only once; its `"attempts"` are used up; the server's wait is longer than `maxWaitMs` (`"wait_too_long"`); or
 * the retry `"budget"` of its origin is spent.
 */
export type RateLimitReason = "sensitive" | "not_repeatable" | "attempts" | "wait_too_long" | "budget";

/** What is known when a server has refused. */
export interface RefusedCall {
  /** Never to be sent twice without being asked to. */
  readonly sensitive: boolean;
  /** Whether the request may be sent again, and can be. */
  readonly repeatable: boolean;
  /** Requests sent so far, at least 1. */
  readonly attempts: number;
  readonly maxAttempts: number;
  /** Milliseconds that the server asks for; null when it names none. */
  readonly waitMs: number | null;
  readonly maxWaitMs: number;
  readonly backoff: { readonly baseMs: number; readonly capMs: number };
}

// Even a server that asks for no wait is given a moment, and not the same one by everybody.
const LEAST_MS = 100;

/**
 * The rule: the milliseconds to wait before the request is sent again, or why it is not. `random` is from 0 up to 1; it
 * lengthens the wait that a server asked for and never shortens it.
 *
 * Source: the additive jitter keeps RFC 9110, section 10.2.3; without a wait, "full jitter" of the AWS architecture blog.
 */
export function decideRetry(call: RefusedCall, random: number): number | RateLimitReason {
  const { waitMs, maxWaitMs, attempts, backoff } = call;
  if (call.sensitive) return "sensitive";
  if (!call.repeatable) return "not_repeatable";
  if (attempts >= call.maxAttempts) return "attempts";
  if (waitMs !== null && waitMs > maxWaitMs) return "wait_too_long";
  const chance = Math.min(Math.max(random, 0), 1) || 0;
  if (waitMs === null) return Math.ceil(chance * Math.min(backoff.capMs, maxWaitMs, backoff.baseMs * 2 ** (attempts - 1)));
  return Math.ceil((waitMs || LEAST_MS) + chance * Math.min(waitMs / 10 || LEAST_MS, 1_000));
}
