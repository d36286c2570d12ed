import { headerOf, type HeaderSource } from "../../http/retry-after/retry-after.js";
import type { RateLimit } from "./rate-limit.js";
import { parseDictionary, parseList, type Member } from "./structured-field.js";
import { readCounters, vendorLimits, whole, windowOf } from "./vendor-fields.js";

export type { RateLimit } from "./rate-limit.js";

type LimitSource = "ratelimit" | "ratelimit-reset" | "vendor";

/**
 * The limits that a response tells about, at least one; null when it tells about none.
 *
 * The `RateLimit` field of the drafts 07 to 11 comes first, with what `RateLimit-Policy` adds; then `RateLimit-Remaining` and its siblings
 * of the drafts before; then vendors' fields (`X-RateLimit-*` and the like). A malformed field counts as absent, and so do all of them in
 * a response that comes from a cache (`Age` above 0). `now` is in milliseconds since 1970; fields that name an instant are counted from the response's
 * `Date`, or without one from `now`. Never throws.
 *
 * Source: draft-ietf-httpapi-ratelimit-headers-11, section 7; the names `a` and `w` that its successor discusses are read too.
 * @example
 * parseRateLimit(new Headers({ RateLimit: '"default";r=0;t=3' }), Date.now());
 * // [{ policy: "default", limit: null, remaining: 0, resetMs: 3000, windowMs: null }]
 */
export function parseRateLimit(headers: HeaderSource, now: number): RateLimit[] | null {
  return limitsBySource(headers, now).find(([, limits]) => limits.length > 0)?.[1] ?? null;
}

/** The limits of each family of fields, strongest first; a family that is absent or malformed tells none. */
export function limitsBySource(headers: HeaderSource, now: number): (readonly [LimitSource, RateLimit[]])[] {
  if (Number(headerOf(headers, "age")) > 0) return [];
  const policies = parseList(headerOf(headers, "ratelimit-policy")) ?? [];
  const text = headerOf(headers, "ratelimit");
  const members = parseList(text);
  return [
    ["ratelimit", members === null ? dictionaryLimits(parseDictionary(text) ?? [], policies) : namedLimits(members, policies)],
    ["ratelimit-reset", readCounters(headers, now, "ratelimit-", "", policies)],
    ["vendor", vendorLimits(headers, now)],
  ];
}

// Drafts 08 to 11: "name";r=50;t=30. One member that breaks the rules spoils the field.
function namedLimits(members: readonly Member[], policies: readonly Member[]): RateLimit[] {
  const limits: RateLimit[] = [];
  for (const { value: policy, params } of members) {
    const { a, r = a, w, t = w } = params;
    const remaining = whole(r);
    const resetMs = whole(t, 1_000);
    if (typeof policy !== "string" || remaining === null || (t !== undefined && resetMs === null)) return [];
    const quota = policies.find(({ value }) => value === policy)?.params["q"];
    limits.push({ policy, limit: whole(quota), remaining, resetMs, windowMs: windowOf(policies, policy) });
  }
  return limits;
}

// Draft 07: limit=100, remaining=50, reset=5. It lets `remaining` be left out, and then there is nothing to go by.
function dictionaryLimits(members: readonly Member[], policies: readonly Member[]): RateLimit[] {
  const values: Member["params"] = Object.fromEntries(members.map(({ key, value }) => [key, value]));
  const limit = whole(values["limit"]);
  const remaining = whole(values["remaining"]);
  const resetMs = whole(values["reset"], 1_000);
  if (limit === null || remaining === null || resetMs === null) return [];
  return [{ policy: null, limit, remaining, resetMs, windowMs: windowOf(policies, limit) }];
}
