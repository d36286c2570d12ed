import { decimal, headerOf, sentAt, type HeaderSource } from "../../http/retry-after/retry-after.js";
import { firstFamily, limitFamilies, sizedCounters } from "../reading/rate-limit-fields.js";
import type { ToldLimit } from "../reading/rate-limit.js";
import { parseReset } from "../reading/counters.js";

/** Fields with the names `<before>limit<after>`, `<before>remaining<after>` and `<before>reset<after>`. */
type CounterNames = readonly [before: string, after: string, policy: string | null];

const COUNTER_NAMES: readonly CounterNames[] = [
  ["x-ratelimit-", "", null], // GitHub, Discord, Reddit, Atlassian and most others
  ["x-rate-limit-", "", null], // X, Okta
  ["x-ratelimit-", "-requests", "requests"], // OpenAI, Groq
  ["x-ratelimit-", "-tokens", "tokens"],
  ["x-ratelimit-", "-requests-day", "requests-day"], // Cerebras
  ["x-ratelimit-", "-tokens-minute", "tokens-minute"],
  ["x-user-limit-24hour-", "", "user-day"], // X
  ["x-app-limit-24hour-", "", "app-day"],
  ["x-sib-ratelimit-", "", null], // Brevo
  ["anthropic-ratelimit-requests-", "", "requests"],
  ["anthropic-ratelimit-tokens-", "", "tokens"],
  ["anthropic-ratelimit-input-tokens-", "", "input-tokens"],
  ["anthropic-ratelimit-output-tokens-", "", "output-tokens"],
  ["x-ratelimit-requests-", "", "requests"], // Linear
  ["x-ratelimit-complexity-", "", "complexity"],
  ["x-ratelimit-endpoint-requests-", "", "endpoint-requests"],
];

const DAILY_WINDOW_MS = 86_400_000;

/**
 * Parses the limits in the fields of known services, at least one. Null when the response reports none. Never throws.
 *
 * The fields of the drafts (`RateLimit`, `RateLimit-Remaining`) are stronger, as in `parseRateLimit`.
 *
 * | service | fields |
 * | --- | --- |
 * | GitHub, Reddit, Atlassian, others | `X-RateLimit-Limit`, `-Remaining`, `-Reset`, and the policy's name in `-Resource` |
 * | Discord | the same, with the name in `-Bucket` and the exact wait in `-Reset-After` |
 * | Atlassian Data Center | the same, with `X-RateLimit-Interval-Seconds` in place of `-Reset` |
 * | X, Okta | `X-Rate-Limit-Limit`, `-Remaining`, `-Reset`; X also `X-User-Limit-24hour-*` and `X-App-Limit-24hour-*` |
 * | OpenAI, Groq | `x-ratelimit-limit-requests`, `x-ratelimit-remaining-requests`, `x-ratelimit-reset-requests`, and `-tokens` |
 * | Cerebras | the same with `-requests-day` and `-tokens-minute` |
 * | Anthropic | `anthropic-ratelimit-requests-limit`, `-remaining`, `-reset`; so for `tokens`, `input-tokens`, `output-tokens` |
 * | Linear | `X-RateLimit-Requests-Limit`, `-Remaining`, `-Reset`, and so for `Complexity` and `Endpoint-Requests` |
 * | Shopify | `X-Shopify-Shop-Api-Call-Limit` |
 * | BigCommerce | `X-Rate-Limit-Requests-Left`, `-Requests-Quota`, `-Time-Reset-Ms`, `-Time-Window-Ms` |
 * | Brevo | `x-sib-ratelimit-limit`, `-remaining`, `-reset` |
 * | Contentful | `X-Contentful-RateLimit-Reset`, when nothing is left |
 * | HubSpot | `X-HubSpot-RateLimit-Max`, `-Remaining`, `-Interval-Milliseconds`, and `-Daily`, `-Daily-Remaining` |
 *
 * A reset may be seconds, seconds or milliseconds since 1970, ISO 8601, an HTTP-date, a duration such as `6m0s`, or a
 * JavaScript `Date` as text. A malformed field counts as absent. A response from a cache (`Age` above 0) reports no
 * limits. `now` is in milliseconds since 1970.
 *
 * Source: each service's own documentation of its rate limits.
 * @example
 * const fetch = createFetch({ vendor: { limits: parseVendorLimits } });
 * parseVendorLimits(new Headers({ "X-Shopify-Shop-Api-Call-Limit": "32/40" }), Date.now());
 * // [{ policy: null, limit: 40, remaining: 8, resetMs: null, windowMs: null }]
 */
export function parseVendorLimits(headers: HeaderSource, now: number): ToldLimit[] | null {
  return firstFamily(limitFamilies(headers, now, readVendors));
}

function readVendors(headers: HeaderSource, now: number): ToldLimit[] {
  const sent = sentAt(headers, now);
  return [
    ...COUNTER_NAMES.flatMap((names) => namedCounters(headers, sent, names)), ...shopifyLimits(headers),
    ...hubspotLimits(headers), ...bigcommerceLimits(headers), ...contentfulLimits(headers),
  ];
}

function namedCounters(headers: HeaderSource, sent: number, [before, after, policy]: CounterNames): ToldLimit[] {
  const field = (name: string): string => headerOf(headers, before + name + after);
  const resetMs = (name: string): number | null => parseVendorReset(field(name), sent);
  return sizedCounters(field, sent, [], parseVendorReset).map((limit) => ({
    ...limit,
    policy: policy ?? (field("resource") || field("bucket") || null), // GitHub, Discord
    // Discord's `reset-after` is the most exact. Atlassian Data Center states only the interval of refills.
    resetMs: resetMs("reset-after") ?? limit.resetMs ?? resetMs("interval-seconds"),
  }));
}

function shopifyLimits(headers: HeaderSource): ToldLimit[] {
  const [, used, size] = /^(\d{1,15})\/(\d{1,15})$/.exec(headerOf(headers, "x-shopify-shop-api-call-limit")) ?? [];
  const limit = Number(size);
  return size ? [{ policy: null, limit, remaining: Math.max(0, limit - Number(used)), resetMs: null, windowMs: null }] : [];
}

function countIn(headers: HeaderSource, name: string): number | null {
  const text = headerOf(headers, name);
  return text.length > 15 ? null : decimal(text, 0);
}

function bigcommerceLimits(headers: HeaderSource): ToldLimit[] {
  const count = (name: string): number | null => countIn(headers, `x-rate-limit-${name}`);
  const remaining = count("requests-left");
  if (remaining === null) return [];
  const [limit, resetMs, windowMs] = [count("requests-quota"), count("time-reset-ms"), count("time-window-ms") || null];
  return [{ policy: null, limit, remaining, resetMs, windowMs }];
}

// The seconds until the next request may be sent: 0 while some is left.
function contentfulLimits(headers: HeaderSource): ToldLimit[] {
  const seconds = countIn(headers, "x-contentful-ratelimit-reset");
  return seconds ? [{ policy: null, limit: null, remaining: 0, resetMs: seconds * 1_000, windowMs: null }] : [];
}

// The daily limit resets at midnight in the account's time zone, which no field states. The other one is a rolling
// window, so at its end everything is there again.
function hubspotLimits(headers: HeaderSource): ToldLimit[] {
  const count = (name: string): number | null => countIn(headers, `x-hubspot-ratelimit-${name}`);
  const windowMs = count("interval-milliseconds") || null;
  const limits = [
    { policy: "interval", limit: count("max"), remaining: count("remaining"), resetMs: windowMs, windowMs },
    { policy: "daily", limit: count("daily"), remaining: count("daily-remaining"), resetMs: null, windowMs: DAILY_WINDOW_MS },
  ];
  return limits.filter((limit): limit is typeof limit & ToldLimit => limit.remaining !== null);
}

// The longest text that is read: a `Date` as text, with the name of its time zone.
const MAX_VENDOR_RESET_CHARACTERS = 128;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
// Sat Nov 21 2026 12:00:00 GMT+0000 (Coordinated Universal Time)
const DATE_TEXT = /^([A-Z][a-z]{2} ){2}\d\d \d{4} [\d:]{8} GMT[+-]\d{4}(?=$| \()/;

/**
 * Parses a vendor's reset field into milliseconds from `sent`, at least 0. Null when it is malformed.
 *
 * Reads what {@link parseReset} reads, durations such as `6m0s`, and what `String(new Date())` gives.
 */
export function parseVendorReset(text: string, sent: number): number | null {
  if (text.length > MAX_VENDOR_RESET_CHARACTERS) return null;
  const resetMs = parseReset(text, sent);
  if (resetMs !== null || text === "") return resetMs;
  let ms = 0;
  // Sticky: stops at the first character that does not fit, so the time is linear.
  const rest = text.replace(
    /(\d+(?:\.\d+)?)(ms|[smh])/gy, (_, count: string, unit: string) => ((ms += +count * (UNIT_MS[unit] as number)), ""),
  );
  if (rest === "") return Math.ceil(ms);
  const at = Date.parse(DATE_TEXT.exec(text)?.[0] ?? "");
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil(at - sent));
}
