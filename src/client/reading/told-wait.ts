import { decimal, headerOf, parseRetryAfter, type HeaderSource } from "../../http/retry-after/retry-after.js";
import type { RateLimit } from "./rate-limit.js";

/** Parses the wait of `Retry-After`, or of a field with its milliseconds. Null without them. */
export function parseToldWait(headers: HeaderSource, now: number): number | null {
  const wait = parseRetryAfter(headers, now);
  const exact = parseExactWait(headers);
  return exact !== null && (wait === null || exact > wait - 1_000) ? exact : wait;
}

/** Parses a field with the milliseconds of the wait. Null without it. */
export function parseExactWait(headers: HeaderSource): number | null {
  return decimal(headerOf(headers, "retry-after-ms"), 0) ?? decimal(headerOf(headers, "x-ms-retry-after-ms"), 0);
}

/** The longest wait of the limits with nothing left, in milliseconds. Null when none of them states it. */
export function waitForLimits(limits: readonly RateLimit[] | null): number | null {
  const longer = (most: number | null, { remaining, resetMs }: RateLimit): number | null =>
    remaining === 0 && resetMs !== null ? Math.max(most ?? 0, resetMs) : most;
  return (limits ?? []).reduce(longer, null);
}
