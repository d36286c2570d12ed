/**
 * ky that obeys a 429. This is a hook for options that you already have:
 *
 *   const http = ky.create(obeyRateLimits());
 *
 * If you can set ky's `fetch`, examples/hosts/ky.ts gives you the whole client.
 */
import ky, { type AfterResponseHook, type Options } from "ky";
import { parseWait } from "sluice/client";

const REPEATABLE = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"];

// ky waits with one timer, and a timer above 2^31 - 1 ms fires at once. One day is left for the jitter.
const LONGEST_WAIT_MS = 2 ** 31 - 86_400_000;

/**
 * Options that make ky wait as long as the server says. A call that is given up rejects with an `HTTPError` of
 * status 429.
 */
export function obeyRateLimits({ maxAttempts = 3, maxWaitMs = 60_000 } = {}): Options {
  const obey: AfterResponseHook = (request, _, response, { retryCount }) => {
    if (response.status !== 429 || !REPEATABLE.includes(request.method)) return;
    const wait = parseWait(response.headers, Date.now())?.waitMs;
    if (retryCount + 1 >= maxAttempts || (wait ?? 0) > Math.min(maxWaitMs, LONGEST_WAIT_MS)) return;
    return ky.retry({ delay: wait === undefined ? backoff(retryCount) : withJitter(wait), code: "RATE_LIMITED" });
  };
  return {
    hooks: { afterResponse: [obey] },
    // Without 429, which the hook handles.
    retry: { limit: maxAttempts - 1, statusCodes: [408, 413, 500, 502, 503, 504] },
  };
}

/** Longer than the server said, never shorter: 1 ms more, because a timer may fire 1 ms early. */
function withJitter(waitMs: number): number {
  return Math.max(waitMs, 100) + 1 + Math.random() * Math.min(Math.max(waitMs / 10, 100), 1_000);
}

/** For servers that name no wait. */
function backoff(retryCount: number): number {
  return Math.random() * Math.min(30_000, 1_000 * 2 ** retryCount);
}
