import { readCall } from "./call.js";
import { RateLimitedError } from "./error.js";
import { createShare } from "./merge.js";
import type { ClientFetch, ClientOptions } from "./options.js";
import { createRetryBudget } from "./retry-budget.js";
import { send } from "./send.js";
import { readSettings } from "./settings.js";

/**
 * A `fetch` that obeys a 429: it waits for as long as the server says, comes back, and gives up with a
 * {@link RateLimitedError} when that makes no sense.
 *
 * All else is `fetch` as it was: other statuses, network errors and aborts come through untouched, and a call that waits
 * keeps a Node process alive as a request does. Identical `GET`s and `HEAD`s that are under way at once share one request. A body is sent
 * again only if it can be read again: text, bytes, `Blob`, `FormData` or `URLSearchParams` in `init.body`; not a stream, and not the
 * body of a `Request`. Throws a TypeError or RangeError for wrong options; wrong options of a call reject it.
 *
 * Source: RFC 6585, section 4; RFC 9110, section 10.2.3.
 * @example
 * const fetch = createFetch();
 * const inbox = await fetch("https://api.example.com/inbox");
 * await fetch("https://api.example.com/login/code", { method: "POST", sensitive: true });
 */
export function createFetch(options: ClientOptions = {}): ClientFetch {
  const settings = readSettings(options);
  const share = createShare();
  const spend = createRetryBudget(settings.retryBudget);
  return async (input, init) => {
    const call = readCall(input, init ?? {}, settings);
    const outcome = await share(call, (signal) => send({ ...call, signal }, spend));
    if ("reason" in outcome) throw new RateLimitedError(outcome);
    return outcome;
  };
}
