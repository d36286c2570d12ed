import { decimal } from "../../http/retry-after/retry-after.js";
import type { RefusalHook } from "../reading/vendor.js";
import { listMember, memberOf, textMember } from "./members.js";

// Errors of a daily quota may carry the delay of a quota per minute. A longer delay is that of the day.
const MIN_DAILY_WAIT_MS = 3_600_000;

/**
 * Reads the wait in an error of Gemini, which has no field for it. For the option `vendor` of `createFetch`.
 *
 * - The wait of a 429 or 503 is `retryDelay` in the `RetryInfo` of the error, such as `"27s"`.
 * - A 429 for a quota per day gives up at once, also when the error suggests to try again in seconds. The quota comes
 *   back at midnight, Pacific time.
 * - Any other response is as without it. Other APIs of Google report errors in the same form.
 *
 * Source: ai.google.dev, "Rate limits" of the Gemini API; google.rpc.RetryInfo and google.rpc.QuotaFailure in
 * google/rpc/error_details.proto.
 * @example
 * const fetch = createFetch({ vendor: gemini });
 * const models = await fetch("https://generativelanguage.googleapis.com/v1beta/models");
 */
export const gemini: { readonly refusal: RefusalHook } = { refusal: geminiRefusal };

function geminiRefusal(response: Response, body: unknown): ReturnType<RefusalHook> {
  const { status } = response;
  if (status !== 429 && status !== 503) return undefined;
  // A stream reports its error in a list of one.
  const details = listMember(memberOf(Array.isArray(body) ? body[0] : body, "error"), "details");
  const quotas = details
    .flatMap((detail) => listMember(detail, "violations"))
    .map((violation) => textMember(violation, "quotaId"));
  const [delay = ""] = details.filter(isRetryInfo).map((detail) => textMember(detail, "retryDelay"));
  const waitMs = delay.endsWith("s") ? decimal(delay.slice(0, -1), 3) : null;
  const isDaily = status === 429 && quotas.some((quota) => quota.includes("PerDay"));
  if (isDaily && (waitMs ?? 0) < MIN_DAILY_WAIT_MS) return { waitMs: Infinity };
  return waitMs === null ? undefined : { waitMs };
}

function isRetryInfo(detail: unknown): boolean {
  return textMember(detail, "@type").endsWith("google.rpc.RetryInfo");
}
