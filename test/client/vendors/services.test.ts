/** Checklist items 51 and 60 of the HTTP contract: the waits and limits in refusals as known services send them. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseRateLimit, parseWait, type ToldLimit } from "sluice/client";
import { parseVendorLimits } from "sluice/client";
import { anyCharacter } from "../../helpers/arbitraries.js";
import { parseVendorReset } from "../../../src/client/vendors/vendor-limits.js";

const NOW = Date.UTC(2026, 7, 15, 12);
const SECONDS = NOW / 1_000;
const limit = (policy: string | null, capacity: number | null, remaining: number, resetMs: number | null): ToldLimit => ({
  policy,
  limit: capacity,
  remaining,
  resetMs,
  windowMs: null,
});

type Fields = Readonly<Record<string, string>>;

/** Services whose wait needs no more than `sluice/client`. */
const plain: [service: string, headers: Fields, waitMs: number][] = [
  ["GitHub, primary limit", { "X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Used": "5000", "X-RateLimit-Resource": "core", "X-RateLimit-Reset": `${SECONDS + 1_800}` }, 1_800_000],
  ["GitHub, secondary limit", { "Retry-After": "60", "X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "4000", "X-RateLimit-Reset": `${SECONDS + 1_800}` }, 60_000],
  ["OpenAI", { "retry-after": "7", "retry-after-ms": "6123", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s" }, 6_123],
  ["Anthropic", { "retry-after": "9", "anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "2026-08-15T12:00:09Z" }, 9_000],
  ["Shopify", { "Retry-After": "2.0", "X-Shopify-Shop-Api-Call-Limit": "40/40" }, 2_000],
  ["Slack", { "retry-after": "30" }, 30_000],
  ["Discord", { "Retry-After": "65", "X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": `${SECONDS + 64}.57`, "X-RateLimit-Reset-After": "64.57" }, 65_000],
  ["Azure", { "Retry-After": "1", "x-ms-retry-after-ms": "412" }, 412],
  ["Reddit", { "x-ratelimit-used": "996", "x-ratelimit-remaining": "0.0", "x-ratelimit-reset": "242" }, 242_000],
  ["GitLab", { "Retry-After": "30", "RateLimit-Limit": "60", "RateLimit-Remaining": "0", "RateLimit-Reset": `${SECONDS + 30}` }, 30_000],
  ["GitLab, without Retry-After", { "RateLimit-Limit": "60", "RateLimit-Remaining": "0", "RateLimit-Reset": `${SECONDS + 30}` }, 30_000],
  ["Atlassian Cloud", { "Retry-After": "5", "X-RateLimit-Limit": "350", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2026-08-15T12:05Z" }, 5_000],
  ["Atlassian Cloud, without Retry-After", { "X-RateLimit-Limit": "350", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2026-08-15T12:05Z" }, 300_000],
  ["Cloudflare", { "Retry-After": "12", Ratelimit: '"default";r=0;t=12', "Ratelimit-Policy": '"default";q=1200;w=300' }, 12_000],
];

test.each(plain)("51 · %s: the wait, with and without the fields of services", (_, headers, waitMs) => {
  expect(parseWait(headers, NOW)?.waitMs).toBe(waitMs);
  expect(parseWait(headers, NOW, parseVendorLimits)?.waitMs).toBe(waitMs);
});

/** Services whose wait or limits need `parseVendorLimits`. */
const vendors: [service: string, headers: Fields, waitMs: number | null, limits: ToldLimit[]][] = [
  ["GitHub", { "X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Resource": "core", "X-RateLimit-Reset": `${SECONDS + 1_800}` }, 1_800_000, [limit("core", 5_000, 0, 1_800_000)]],
  ["Discord", { "X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": `${SECONDS + 2}`, "X-RateLimit-Reset-After": "1.25", "X-RateLimit-Bucket": "abcd1234" }, 1_250, [limit("abcd1234", 5, 0, 1_250)]],
  ["OpenAI", { "x-ratelimit-remaining-requests": "59", "x-ratelimit-reset-requests": "1s", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s" }, 360_000, [limit("requests", null, 59, 1_000), limit("tokens", null, 0, 360_000)]],
  ["Anthropic", { "anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "2026-08-15T12:00:09Z" }, 9_000, [limit("requests", 50, 0, 9_000)]],
  ["X", { "x-rate-limit-limit": "15", "x-rate-limit-remaining": "0", "x-rate-limit-reset": `${SECONDS + 900}` }, 900_000, [limit(null, 15, 0, 900_000)]],
  ["Okta", { "X-Rate-Limit-Limit": "600", "X-Rate-Limit-Remaining": "0", "X-Rate-Limit-Reset": `${SECONDS + 60}`, Date: new Date(NOW).toUTCString() }, 60_000, [limit(null, 600, 0, 60_000)]],
  ["Shopify", { "X-Shopify-Shop-Api-Call-Limit": "40/40" }, null, [limit(null, 40, 0, null)]],
  ["Atlassian Data Center", { "X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "0", "X-RateLimit-FillRate": "10", "X-RateLimit-Interval-Seconds": "5" }, 5_000, [limit(null, 100, 0, 5_000)]],
  ["Linear", { "X-RateLimit-Requests-Limit": "5000", "X-RateLimit-Requests-Remaining": "0", "X-RateLimit-Requests-Reset": `${NOW + 90_000}` }, 90_000, [limit("requests", 5_000, 0, 90_000)]],
  ["rate-limiter-flexible", { "X-RateLimit-Limit": "4", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "Sat Aug 15 2026 12:00:30 GMT+0000 (Coordinated Universal Time)" }, 30_000, [limit(null, 4, 0, 30_000)]],
];

test.each(vendors)("60 · %s: the limits, and the wait where Retry-After is missing", (_, headers, waitMs, limits) => {
  expect(parseVendorLimits(headers, NOW)).toEqual(limits);
  expect(parseWait(headers, NOW, parseVendorLimits)).toEqual(waitMs === null ? null : { waitMs, source: "vendor" });
});

test("60 · services' fields are stronger than X-RateLimit, and weaker than the fields of the drafts", () => {
  const xRateLimit = { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "7" };
  const shopify = { ...xRateLimit, "X-Shopify-Shop-Api-Call-Limit": "40/40" };
  expect(parseRateLimit(shopify, NOW)).toEqual([limit(null, null, 0, 7_000)]);
  expect(parseVendorLimits(shopify, NOW)).toEqual([limit(null, null, 0, 7_000), limit(null, 40, 0, null)]);
  const draft = { ...shopify, "RateLimit-Remaining": "0", "RateLimit-Reset": "6" };
  expect(parseVendorLimits(draft, NOW)).toEqual([limit(null, null, 0, 6_000)]);
  expect(parseWait({ ...draft, "Retry-After": "5" }, NOW, parseVendorLimits)).toEqual({ waitMs: 5_000, source: "retry-after" });
});

test("60 · a response from a cache has no limits", () => {
  expect(parseVendorLimits({ Age: "1", "X-Shopify-Shop-Api-Call-Limit": "40/40" }, NOW)).toBeNull();
});

test("60 · a parser of your own reads the wait", () => {
  const own = (): ToldLimit[] => [limit("own", 9, 0, 4_000)];
  expect(parseWait({ "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "7" }, NOW, own)).toEqual({ waitMs: 4_000, source: "vendor" });
  expect(parseWait({}, NOW, () => null)).toBeNull();
});

test("60 · a vendor's reset that is long and malformed takes no time", () => {
  expect(parseVendorReset("Sat Aug 15 2026 12:00:30 GMT+0000 (".padEnd(128, "x"), NOW)).toBe(30_000);
  expect(parseVendorReset("Sat Aug 15 2026 12:00:30 GMT+0000 (".padEnd(129, "x"), NOW)).toBeNull();
  // Reading that took quadratic time would run into the timeout.
  const long = (piece: string): string => piece.repeat(5_000_000);
  const texts = [long("1"), long("1s") + "!", long("1.1"), "1." + long("1"), "Sat Nov 21 2026 12:00:00 GMT+0000 " + long("("), long("Sat ")];
  expect(texts.map((text) => parseVendorReset(text, NOW))).toEqual(texts.map(() => null));
});

test("60 · no fields of services make it throw, or give NaN or a negative number", () => {
  const names = ["x-ratelimit-limit", "x-ratelimit-reset", "x-ratelimit-reset-after", "x-ratelimit-interval-seconds", "x-rate-limit-reset", "x-ratelimit-reset-tokens",
    "anthropic-ratelimit-tokens-reset", "x-ratelimit-complexity-reset", "x-shopify-shop-api-call-limit", "x-hubspot-ratelimit-max", "x-hubspot-ratelimit-remaining",
    "x-hubspot-ratelimit-interval-milliseconds", "x-hubspot-ratelimit-daily-remaining", "date", "age"];
  const counts = { "x-ratelimit-remaining": "0", "x-rate-limit-remaining": "1", "x-ratelimit-remaining-tokens": "2", "anthropic-ratelimit-tokens-remaining": "3", "x-ratelimit-complexity-remaining": "4" };
  const piece = fc.oneof(
    fc.constantFrom("1", "9", "s", "ms", "m", "/", "-", "Sat Nov 21 2026 12:00:00 GMT+0000", "Foo Bar 99 2026 99:99:99 GMT+9999", " (", "e9", "1e400"),
    fc.string({ unit: anyCharacter, maxLength: 3 }),
  );
  const value = fc.tuple(fc.array(piece, { maxLength: 4 }), piece, fc.constantFrom(0, 1, 70, 5_000)).map(([head, one, times]) => head.join("") + one.repeat(times));
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 6 }), fc.constantFrom(0, NOW, -1, 8.64e15), (headers, now) => {
      for (const { limit: capacity, remaining, resetMs, windowMs } of parseVendorLimits({ ...counts, ...headers }, now) ?? []) {
        expect([capacity, remaining, resetMs, windowMs].filter((number) => !((number ?? 0) >= 0))).toEqual([]);
        expect(Number.isSafeInteger(remaining)).toBe(true);
        expect(windowMs).not.toBe(0);
      }
    }),
    { numRuns: 300 },
  );
});
