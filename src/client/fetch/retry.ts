/**
 * Why the client gave up a limited call:
 *
 * - `"sensitive"`: the call is sensitive, so it is sent at most once.
 * - `"not_repeatable"`: its method is not one of `methods`, or its body can be read only once.
 * - `"attempts"`: the server refused all `maxAttempts` requests.
 * - `"wait_too_long"`: the server asks for a wait longer than `maxWaitMs`, or `maxWaitMs` is below 100.
 * - `"budget"`: the retry budget of its origin is spent.
 */
export type RateLimitReason = "sensitive" | "not_repeatable" | "attempts" | "wait_too_long" | "budget";

/** A call that the server has refused. */
export interface RefusedCall {
  /** Whether the call is sent at most once. */
  readonly sensitive: boolean;
  /** Whether the request may be sent again, and its body can be. */
  readonly repeatable: boolean;
  /** The number of requests sent so far, at least 1. */
  readonly attempts: number;
  readonly maxAttempts: number;
  /** Milliseconds that the server asks for. Null when it names no wait. */
  readonly waitMs: number | null;
  /** Whether a limit of requests in flight refuses. When it has room is not known, so its wait is only a guess. */
  readonly concurrent?: boolean | undefined;
  readonly maxWaitMs: number;
  readonly backoff: { readonly baseMs: number; readonly capMs: number };
}

// The shortest wait before a retry, even if the server or `backoff` says less. It is also the least jitter of a
// server's wait.
const MIN_WAIT_MS = 100;
const MAX_JITTER_MS = 1_000;

/**
 * Returns the milliseconds to wait before the request is sent again, at least 100, or the reason to give up. `random`
 * is at least 0 and below 1. Jitter lengthens the wait and never shortens it.
 *
 * Source: RFC 9110, section 10.2.3, for additive jitter. Without a wait: "full jitter" of the AWS architecture blog.
 */
export function decideRetry(call: RefusedCall, random: number): number | RateLimitReason {
  const { waitMs, maxWaitMs, attempts, backoff } = call;
  if (call.sensitive) return "sensitive";
  if (!call.repeatable) return "not_repeatable";
  if (attempts >= call.maxAttempts) return "attempts";
  const asked = Math.max(waitMs ?? 0, MIN_WAIT_MS);
  if (asked > maxWaitMs) return "wait_too_long";
  const backoffMs = Math.min(backoff.capMs, maxWaitMs, backoff.baseMs * 2 ** (attempts - 1));
  const told = call.concurrent ? Math.max(asked, backoffMs || 0) : asked;
  const jitterMs =
    waitMs === null
      ? backoffMs - told
      : Math.min(Math.max(told / 10, MIN_WAIT_MS), MAX_JITTER_MS);
  const fraction = Math.min(Math.max(random, 0), 1) || 0;
  // A backoff may be shorter than the minimum, and 0 times an infinite power is NaN.
  return Math.ceil(told + fraction * (Math.max(jitterMs, 0) || 0));
}

// A crawler calls more origins than this. The first ones seen are forgotten first.
const MAX_ORIGINS = 1_000;

/** Records a failure or success of an origin. Returns whether the origin has enough tokens left for a retry. */
export type RetryBudget = (origin: string, hasFailed: boolean) => boolean;

/**
 * Creates a budget of retries for each origin. A failure takes a token, and a success returns `perSuccess`. With half
 * of the `tokens` or fewer left there are no retries.
 */
export function createRetryBudget(options: false | { readonly tokens: number; readonly perSuccess: number }): RetryBudget {
  if (!options) return () => true;
  const { tokens, perSuccess } = options;
  // Tokens spent, by origin. An origin that has spent nothing is not stored.
  const spentByOrigin = new Map<string, number>();
  return (origin, hasFailed) => {
    const spent = Math.min(tokens, (spentByOrigin.get(origin) ?? 0) + (hasFailed ? 1 : -perSuccess));
    if (spent > 0) spentByOrigin.set(origin, spent);
    else spentByOrigin.delete(origin);
    if (spentByOrigin.size > MAX_ORIGINS) spentByOrigin.delete(spentByOrigin.keys().next().value as string);
    return spent < tokens / 2;
  };
}
