/**
 * The Anthropic SDK, with the waits of sluice in place of its own retries.
 *
 *   const anthropic = createAnthropic({ apiKey });
 *
 * A call that is given up throws the SDK's `RateLimitError`, with the status 429 and the header fields.
 */
import Anthropic, { type ClientOptions as AnthropicOptions } from "@anthropic-ai/sdk";
import { createFetch, openai, type ClientOptions } from "sluice/client";

/** Makes the SDK's client. `limits` are options of `createFetch`. */
export function createAnthropic(options: AnthropicOptions, limits: ClientOptions = {}): Anthropic {
  const fetch = createFetch({
    giveUp: "return",
    methods: ["GET", "POST", "DELETE"], // almost every call is a POST; the SDK repeats them too
    vendor: openai, // obeys `x-should-retry`, which Anthropic also sends
    retryStatuses: [408, 409, 500, 502, 503, 504, 529], // as the SDK does; 529 means overloaded
    ...limits,
  });
  return new Anthropic({ ...options, fetch, maxRetries: 0 });
}
