import { decimal } from "../../http/retry-after/retry-after.js";
import type { VendorHook } from "../reading/vendor.js";
import { listMember, sentMember, textMember } from "./members.js";

// Errors of a daily quota may carry the delay of a quota per minute. A longer delay is that of the day.
const MIN_DAILY_WAIT_MS = 3_600_000;

// The reasons of a 403. Google's other APIs refuse with it, as they do with 429.
const RATE_REASONS = ["rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED"];
const QUOTA_REASONS = ["dailyLimitExceeded", "quotaExceeded"];

/**
 * Recognizes the refusals of Gemini and other APIs of Google. For the option `vendor` of `createFetch`.
 *
 * - The wait of a 429 or 503 is `retryDelay` in the `RetryInfo` of the error, such as `"27s"`.
 * - A 403 with the reason `rateLimitExceeded` or `userRateLimitExceeded` is a refusal. It seldom has a wait: without one
 *   the client backs off.
 * - A 403 or 429 for a quota per day gives up at once, also when the error suggests to try again in seconds. The quota
 *   comes back at midnight, Pacific time. The reasons `dailyLimitExceeded` and `quotaExceeded` mean the same.
 * - Any other response is as without it, such as a 403 for a missing permission.
 *
 * Source: ai.google.dev, "Rate limits" of the Gemini API; google.rpc.RetryInfo and google.rpc.QuotaFailure in
 * google/rpc/error_details.proto; the reasons of 403 that Google's own API clients retry.
 * @example
 * const fetch = createFetch({ vendor: gemini });
 * const models = await fetch("https://generativelanguage.googleapis.com/v1beta/models");
 */
export const gemini: { readonly refusal: VendorHook } = { refusal: geminiRefusal };

function geminiRefusal(response: Response, body: unknown): ReturnType<VendorHook> {
  const { status } = response;
  if (status !== 403 && status !== 429 && status !== 503) return undefined;
  // A stream reports its error in a list of one.
  const error = sentMember(Array.isArray(body) ? body[0] : body, "error");
  const details = listMember(error, "details");
  const reasons = [...listMember(error, "errors"), ...details].map((each) => textMember(each, "reason"));
  const quotas = [
    ...details.flatMap((detail) => listMember(detail, "violations")).map((violation) => textMember(violation, "quotaId")),
    ...details.map((detail) => textMember(sentMember(detail, "metadata"), "quota_limit")),
  ];
  const [delay = ""] = details.filter(isRetryInfo).map((detail) => textMember(detail, "retryDelay"));
  const waitMs = delay.endsWith("s") ? decimal(delay.slice(0, -1), 3) : null;
  const isSpent = quotas.some((quota) => quota.includes("PerDay")) || reasons.some((reason) => QUOTA_REASONS.includes(reason));
  if (status !== 503 && isSpent && (waitMs ?? 0) < MIN_DAILY_WAIT_MS) return { waitMs: Infinity };
  if (status === 403) return reasons.some((reason) => RATE_REASONS.includes(reason)) ? { waitMs } : undefined;
  return waitMs === null ? undefined : { waitMs };
}

function isRetryInfo(detail: unknown): boolean {
  return textMember(detail, "@type").endsWith("google.rpc.RetryInfo");
}
