import { headerOf, sentAt, type HeaderSource } from "../../http/retry-after/retry-after.js";
import type { RateLimit } from "./rate-limit.js";
import { parseReset } from "./reset.js";

/**
 * Parses the limit in the fields `remaining` and `reset`, whose values `field` returns. Null without a well-formed
 * `remaining`. `sent` is when the response was sent, in milliseconds since 1970.
 */
export function parseCounter(field: (name: string) => string, sent: number): RateLimit | null {
  const remaining = field("remaining");
  if (!/^\d{1,15}(\.\d+)?$/.test(remaining)) return null;
  // Reddit sends a fraction.
  return {
    policy: null, limit: null, remaining: Math.floor(Number(remaining)), resetMs: parseReset(field("reset"), sent),
    windowMs: null,
  };
}

/** Parses `RateLimit-Remaining` and `-Reset`, or else `X-RateLimit-Remaining` and `-Reset`. Null without them. */
export function parseCounters(headers: HeaderSource, now: number): RateLimit[] | null {
  if (isCached(headers)) return null;
  const sent = sentAt(headers, now);
  const read = (prefix: string): RateLimit | null => parseCounter((name) => headerOf(headers, prefix + name), sent);
  const limit = read("ratelimit-") ?? read("x-ratelimit-");
  return limit && [limit];
}

/** Whether the response comes from a cache, so its limits are out of date. */
export function isCached(headers: HeaderSource): boolean {
  return Number(headerOf(headers, "age")) > 0;
}
