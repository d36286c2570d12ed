import { headerOf, type HeaderSource } from "../../http/retry-after/retry-after.js";
import type { RateLimit } from "./rate-limit.js";
import { parseDictionary, parseList, type Member } from "./structured-field.js";
import { parseCounters, parseVendorLimits, scaledInteger, windowOf } from "./vendor-fields.js";

type LimitSource = "ratelimit" | "ratelimit-reset" | "vendor";

/**
 * Parses the limits that a response reports, at least one. Null when it reports none. Never throws.
 *
 * The first of these families that is present wins:
 *
 * 1. `RateLimit` of the drafts 07 to 11, completed from `RateLimit-Policy`.
 * 2. `RateLimit-Limit`, `-Remaining` and `-Reset` of the earlier drafts.
 * 3. Vendors' fields, such as `X-RateLimit-Remaining`.
 *
 * A malformed field counts as absent. A response from a cache (`Age` above 0) reports no limits. `now` is in
 * milliseconds since 1970. A reset instant is compared with the response's `Date`, or with `now` if there is none.
 *
 * Source: draft-ietf-httpapi-ratelimit-headers-11, section 7. The parameters `a` and `w`, proposed for its successor,
 * are accepted.
 * @example
 * parseRateLimit(new Headers({ RateLimit: '"default";r=0;t=3' }), Date.now());
 * // [{ policy: "default", limit: null, remaining: 0, resetMs: 3000, windowMs: null }]
 */
export function parseRateLimit(headers: HeaderSource, now: number): RateLimit[] | null {
  return limitsBySource(headers, now).find(([, limits]) => limits.length > 0)?.[1] ?? null;
}

/** The limits of each family of fields, strongest first. An absent or malformed family has no limits. */
export function limitsBySource(headers: HeaderSource, now: number): (readonly [LimitSource, RateLimit[]])[] {
  if (Number(headerOf(headers, "age")) > 0) return [];
  const policies = parseList(headerOf(headers, "ratelimit-policy")) ?? [];
  const text = headerOf(headers, "ratelimit");
  const members = parseList(text);
  return [
    ["ratelimit", members === null ? dictionaryLimits(parseDictionary(text) ?? [], policies) : namedLimits(members, policies)],
    ["ratelimit-reset", parseCounters(headers, now, "ratelimit-", "", policies)],
    ["vendor", parseVendorLimits(headers, now)],
  ];
}

// Drafts 08 to 11: "name";r=50;t=30. One malformed member makes the whole field malformed.
function namedLimits(members: readonly Member[], policies: readonly Member[]): RateLimit[] {
  const limits: RateLimit[] = [];
  // A search through all policies for each member would take quadratic time.
  const byName = new Map(policies.map(({ value, params }) => [value, params]));
  for (const { value: policy, params } of members) {
    const { a, r = a, w, t = w } = params;
    const remaining = scaledInteger(r);
    const resetMs = scaledInteger(t, 1_000);
    if (typeof policy !== "string" || remaining === null || (t !== undefined && resetMs === null)) return [];
    const { q, w: window } = byName.get(policy) ?? {};
    limits.push({ policy, limit: scaledInteger(q), remaining, resetMs, windowMs: scaledInteger(window, 1_000) || null });
  }
  return limits;
}

// Draft 07: limit=100, remaining=50, reset=5. `remaining` is optional there; without it the field says too little.
function dictionaryLimits(members: readonly Member[], policies: readonly Member[]): RateLimit[] {
  const values: Member["params"] = Object.fromEntries(members.map(({ key, value }) => [key, value]));
  const limit = scaledInteger(values["limit"]);
  const remaining = scaledInteger(values["remaining"]);
  const resetMs = scaledInteger(values["reset"], 1_000);
  if (limit === null || remaining === null || resetMs === null) return [];
  return [{ policy: null, limit, remaining, resetMs, windowMs: windowOf(policies, limit) }];
}
