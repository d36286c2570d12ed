/**
 * The OpenAI SDK, with the waits of sluice in place of its own retries.
 *
 *   const openai = createOpenAI({ apiKey });
 *
 * A call that is given up throws the SDK's `RateLimitError`, with the status 429 and the header fields.
 */
import OpenAI, { type ClientOptions as OpenAIOptions } from "openai";
import { createFetch, openai, type ClientOptions } from "sluice/client";

/** Makes the SDK's client. `limits` are options of `createFetch`. */
export function createOpenAI(options: OpenAIOptions, limits: ClientOptions = {}): OpenAI {
  const fetch = createFetch({
    giveUp: "return",
    methods: ["GET", "POST", "DELETE"], // almost every call is a POST; the SDK repeats them too
    vendor: openai,
    retryStatuses: [408, 409, 500, 502, 503, 504], // as the SDK does
    ...limits,
  });
  return new OpenAI({ ...options, fetch, maxRetries: 0 });
}
