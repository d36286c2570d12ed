import { SluiceError } from "../../core/errors.js";
import { sharesWork } from "../../platform.js";
import { toRetryAfter } from "../../http/retry-after/retry-after.js";
import { parseCall } from "./call.js";
import { RateLimitedError } from "./error.js";
import { createMerger, isGivenUp } from "./merge.js";
import type { ClientFetch, ClientOptions } from "./options.js";
import { createRetryBudget } from "./retry.js";
import { sendWithRetries } from "./send.js";
import { parseSettings } from "./settings.js";

/**
 * Creates a `fetch` that obeys a 429. It waits as long as the server says, and retries. When a retry makes no sense, it
 * gives up with a {@link RateLimitedError}. With `giveUp: "return"` it returns the 429 instead.
 *
 * - After a 503 with `Retry-After` it also waits and retries. Network errors are retried with backoff. When the retries
 *   end, the call returns that response or rejects with that error.
 * - Only repeatable calls are retried: those of `methods`, or with `retry: true`. Other statuses come back as
 *   responses, and an abort rejects, as with `fetch`.
 * - Where `merge` is on, identical `GET` and `HEAD` calls that are pending at the same time share one request.
 * - A body is sent again if it can be read again: text, bytes, `Blob`, `FormData`, `URLSearchParams`, or the body of a
 *   `Request`, which is copied. A stream or any other object in `init.body` is sent once.
 * - Headers, URL and body are sent as they were at the call, as `fetch` does.
 * - A call that waits keeps a Node process alive, as a pending request does.
 * - A call beyond `maxPending` rejects at once with a `SluiceError` of the code `"ERR_TOO_MANY_CALLS"`.
 *
 * Throws a TypeError or RangeError for wrong options. Wrong options of a call reject that call.
 *
 * Source: RFC 6585, section 4; RFC 9110, section 10.2.3.
 * @example
 * const fetch = createFetch();
 * const inbox = await fetch("https://api.example.com/inbox");
 * await fetch("https://api.example.com/login/code", { method: "POST", sensitive: true });
 */
export function createFetch(options: ClientOptions = {}): ClientFetch {
  const settings = parseSettings(options);
  const { maxPending, giveUp } = settings;
  const merge = createMerger();
  const budget = createRetryBudget(settings.retryBudget);
  let pending = 0;
  return async (input, init) => {
    // A request that is cancelled there never counts its call down.
    if (pending >= maxPending && sharesWork()) {
      throw new SluiceError(
        "ERR_TOO_MANY_CALLS",
        `Expected at most ${maxPending} pending calls, got one more. Await some, or raise \`maxPending\``,
      );
    }
    pending++;
    try {
      const call = parseCall(input, init ?? {}, settings);
      const result = await merge(call, (signal, onWait) => sendWithRetries(call, signal, budget, onWait));
      if (!isGivenUp(result)) return result;
      const error = new RateLimitedError(result);
      if (giveUp === "throw") throw error;
      return error.response ?? toResponse(error);
    } finally {
      pending--;
    }
  };
}

/** The 429 for a call that was not sent, because the wait is known. */
function toResponse({ message, waitMs }: RateLimitedError): Response {
  // 68 years stand for an endless wait, which cannot be written.
  const seconds = Math.min(toRetryAfter(Number(waitMs)), 2 ** 31 - 1);
  const headers = { "Content-Type": "application/problem+json", "Retry-After": `${seconds}` };
  return new Response(JSON.stringify({ code: "rate_limited", message, retry_after: seconds }), { status: 429, headers });
}
