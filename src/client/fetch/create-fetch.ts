import { parseCall } from "./call.js";
import { RateLimitedError } from "./error.js";
import { createMerger } from "./merge.js";
import type { ClientFetch, ClientOptions } from "./options.js";
import { createPendingLimit } from "./pending.js";
import { createRetryBudget } from "./retry-budget.js";
import { sendWithRetries } from "./send.js";
import { parseSettings } from "./settings.js";

/**
 * Creates a `fetch` that obeys a 429. It waits as long as the server says, retries, and gives up with a
 * {@link RateLimitedError} when a retry makes no sense.
 *
 * - Other statuses come back as responses. Network errors and aborts reject as they do with `fetch`.
 * - Identical `GET` and `HEAD` calls that are pending at the same time share one request.
 * - A body is sent again if it can be read again: text, bytes, `Blob`, `FormData` or `URLSearchParams` in `init.body`.
 *   A stream, or the body of a `Request`, is sent once.
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
  const merge = createMerger();
  const budget = createRetryBudget(settings.retryBudget);
  const limit = createPendingLimit(settings.maxPending);
  return (input, init) =>
    limit(async () => {
      const call = parseCall(input, init ?? {}, settings);
      const result = await merge(call, (signal) => sendWithRetries({ ...call, signal }, budget));
      if ("reason" in result) throw new RateLimitedError(result);
      return result;
    });
}
