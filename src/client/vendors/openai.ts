import type { LimitsParser } from "../reading/rate-limit.js";
import type { VendorHook } from "../reading/vendor.js";
import { sentMember, textMember } from "./members.js";
import { parseVendorLimits } from "./vendor-limits.js";

const UNPAID_CODES = ["insufficient_quota", "billing_not_active", "billing_hard_limit_reached"];

/**
 * Obeys the field `x-should-retry` of OpenAI and Anthropic, and gives up when the credit is used up. Also reads their
 * limits. For the option `vendor` of `createFetch`.
 *
 * - A 429 with the code `insufficient_quota`, `billing_not_active` or `billing_hard_limit_reached` gives up at once: only
 *   a payment helps.
 * - `x-should-retry: false`: a 429 gives up at once. A response from 500 on is returned, also one with `Retry-After`.
 * - `x-should-retry: true`: a refusal, with any status. The fields state the wait.
 * - Any other response is as without it.
 *
 * Source: platform.openai.com, "Error codes"; `shouldRetry` in the clients openai-node and anthropic-sdk-typescript.
 * @example
 * const fetch = createFetch({ vendor: openai, giveUp: "return" });
 * const models = await fetch("https://api.openai.com/v1/models");
 */
export const openai: { readonly refusal: VendorHook; readonly limits: LimitsParser } = {
  refusal: openaiRefusal, limits: parseVendorLimits,
};

function openaiRefusal(response: Response, body: unknown): ReturnType<VendorHook> {
  const { status, headers } = response;
  const error = sentMember(body, "error");
  const isUnpaid = [textMember(error, "code"), textMember(error, "type")].some((code) => UNPAID_CODES.includes(code));
  const shouldRetry = headers.get("x-should-retry");
  if (status === 429 && (isUnpaid || shouldRetry === "false")) return { waitMs: Infinity };
  if (status >= 500 && shouldRetry === "false") return null;
  return shouldRetry === "true" && status >= 400 ? { waitMs: null } : undefined;
}
