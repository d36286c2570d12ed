/**
 * The OpenAI SDK, with the waits of sluice in place of its own retries.
 *
 *   const openai = createOpenAI({ apiKey });
 *
 * A call that is given up throws the SDK's `RateLimitError`, with the status 429 and the header fields.
 */
import OpenAI, { type ClientOptions as OpenAIOptions } from "openai";
import { createFetch, type ClientOptions } from "sluice/client";

/** Makes the SDK's client. `limits` are options of `createFetch`. */
export function createOpenAI(options: OpenAIOptions, limits: ClientOptions = {}): OpenAI {
  const fetch = createFetch({
    giveUp: "return",
    methods: ["GET", "POST", "DELETE"], // almost every call is a POST; the SDK repeats them too
    refusal: (_, body) => (codeOf(body) === "insufficient_quota" ? { waitMs: Infinity } : undefined), // waiting pays no bill
    ...limits,
  });
  return new OpenAI({ ...options, fetch, maxRetries: 0 });
}

function codeOf(body: unknown): unknown {
  return (body as { error?: { code?: unknown } | null } | null)?.error?.code;
}
