import { memberOf, textMember, type VendorVerdict } from "./verdict.js";

/**
 * Obeys the field `x-should-retry` of OpenAI and Anthropic, and gives up when the credit is used up. For the option
 * `refusal` of `createFetch`.
 *
 * - A 429 with the code `insufficient_quota` gives up at once: only a payment helps.
 * - `x-should-retry: false`: a 429 gives up at once. A response from 500 on is returned, also one with `Retry-After`.
 * - `x-should-retry: true`: a refusal, with any status. The fields state the wait.
 * - Undefined for all other responses.
 *
 * Source: platform.openai.com, "Error codes"; `shouldRetry` in the clients openai-node and anthropic-sdk-typescript.
 * @example
 * const fetch = createFetch({ refusal: openaiRefusal, giveUp: "return" });
 * const models = await fetch("https://api.openai.com/v1/models");
 */
export function openaiRefusal(response: Response, body: unknown): VendorVerdict {
  const { status, headers } = response;
  const error = memberOf(body, "error");
  const isUnpaid = [textMember(error, "code"), textMember(error, "type")].includes("insufficient_quota");
  const shouldRetry = headers.get("x-should-retry");
  if (status === 429 && (isUnpaid || shouldRetry === "false")) return { waitMs: Infinity };
  if (status >= 500 && shouldRetry === "false") return null;
  return shouldRetry === "true" && status >= 400 ? { waitMs: null } : undefined;
}
