import { decimal, headerOf, sentAt, type HeaderSource } from "../../http/retry-after/retry-after.js";
import { countersIn, isCached, MAX_GUESS_MS, parseReset } from "./counters.js";
import type { LimitsParser, ToldLimit } from "./rate-limit.js";
import { sentMembers } from "./refusal-body.js";
import { parseDictionary, parseList, type ItemValue, type Member } from "./structured-field.js";

/** The limits of one family of fields. None when the family is absent or malformed. */
type LimitFamily = readonly [source: "ratelimit" | "ratelimit-reset" | "vendor", limits: readonly ToldLimit[]];

/**
 * Parses the limits that a response reports, at least one. Null when it reports none. Never throws.
 *
 * The first of these families that is present wins:
 *
 * 1. `RateLimit` of the drafts 07 to 11, completed from `RateLimit-Policy`.
 * 2. `RateLimit-Limit`, `-Remaining` and `-Reset` of the earlier drafts.
 * 3. `X-RateLimit-Limit`, `-Remaining` and `-Reset`.
 *
 * A malformed field counts as absent. A response from a cache (`Age` above 0) reports no limits. `now` is in
 * milliseconds since 1970. A reset instant is compared with the response's `Date`, or with `now` if there is none.
 *
 * Source: draft-ietf-httpapi-ratelimit-headers-11, section 7. The parameters `a`, `w` and `c`, proposed for its
 * successor, are accepted.
 * @example
 * parseRateLimit(new Headers({ RateLimit: '"default";r=0;t=3' }), Date.now());
 * // [{ policy: "default", limit: null, remaining: 0, resetMs: 3000, windowMs: null }]
 */
export function parseRateLimit(headers: HeaderSource, now: number): ToldLimit[] | null {
  return firstFamily(limitFamilies(headers, now));
}

/**
 * The limits of {@link parseRateLimit} as far as they are believed. In the older fields a number may be of seconds or
 * of milliseconds, so more than an hour of seconds is more likely a wrong guess, and counts as not stated. An instant
 * is believed.
 */
export function believedLimits(headers: HeaderSource, now: number): ToldLimit[] | null {
  return firstFamily(limitFamilies(headers, now, undefined, believedReset));
}

function believedReset(text: string, sent: number): number | null {
  const ms = decimal(text, 3) ?? 0;
  return ms > MAX_GUESS_MS && ms < 1e12 ? null : parseReset(text, sent);
}

/** The limits of the first family that has any. Null when none has. */
export function firstFamily(families: Iterable<LimitFamily>): ToldLimit[] | null {
  for (const [, limits] of families) if (limits.length > 0) return [...limits];
  return null;
}

/**
 * The limits of each family of fields, strongest first. Reads a family only when the caller asks for it. The fields
 * that `readVendors` reads are stronger than `X-RateLimit-*`.
 */
export function* limitFamilies(
  headers: HeaderSource, now: number, readVendors: LimitsParser = () => null, readReset = parseReset,
): Generator<LimitFamily> {
  if (isCached(headers)) return;
  const policies = parseList(headerOf(headers, "ratelimit-policy")) ?? [];
  const text = headerOf(headers, "ratelimit");
  const members = parseList(text);
  const sent = sentAt(headers, now);
  yield ["ratelimit", members ? namedLimits(members, policies) : dictionaryLimits(parseDictionary(text) ?? [], policies, sent)];
  const read = (prefix: string, known?: readonly Member[]): ToldLimit[] =>
    sizedCounters((name) => headerOf(headers, prefix + name), sent, known, readReset);
  yield ["ratelimit-reset", read("ratelimit-", policies)];
  yield ["vendor", readVendors(headers, now) ?? []];
  yield ["vendor", read("x-ratelimit-")];
}

/** The limits of {@link countersIn} with their windows, from the field `limit` and from `policies`. */
export function sizedCounters(
  field: (name: string) => string, sent: number, policies: readonly Member[] = [], readReset = parseReset,
): ToldLimit[] {
  const limits = countersIn(field, sent, readReset).filter(([left]) => Math.abs(left) < 1e15);
  // Of one server, further limits name its policies. Of several, they may belong to any.
  const [servers, sizes] = ["remaining", "limit"].map((name) => field(name).split(",").length);
  const isAligned = limits.length > 0 && (servers === 1 || servers === sizes);
  const known = isAligned ? [...policies, ...(parseList(field("limit")) ?? [])] : [];
  return limits.map(([left, resetMs, limit]) => {
    // Drafts 03 to 07 name a policy by its number of requests: 100;w=60.
    const policy = known.find(({ value, params }) => value === limit && "w" in params);
    return {
      policy: null, limit: isAligned && Number.isSafeInteger(limit) ? limit : null,
      // Reddit sends a fraction.
      remaining: Math.max(0, Math.floor(left)), resetMs, windowMs: scaledInteger(policy?.params["w"], 1_000) || null,
    };
  });
}

/** An Integer of at least 0, times `scale`. Null for every other value. */
function scaledInteger(value: ItemValue | undefined, scale = 1): number | null {
  return typeof value === "number" && value >= 0 ? value * scale : null;
}

// Drafts 08 to 11: "name";r=50;t=30. One malformed member makes the whole field malformed.
function namedLimits(members: readonly Member[], policies: readonly Member[]): ToldLimit[] {
  const limits: ToldLimit[] = [];
  // A search through all policies for each member would take quadratic time.
  const byName = new Map(policies.map(({ value, params }) => [value, params]));
  for (const { value: policy, params } of members) {
    const { a, r = a, w, t = w, c } = params;
    const remaining = scaledInteger(r);
    const resetMs = scaledInteger(t, 1_000);
    if (typeof policy !== "string" || remaining === null || (t !== undefined && resetMs === null)) return [];
    const { q, w: window, qu } = sentMembers(byName.get(policy)) as Member["params"];
    const cost = scaledInteger(c);
    const told = {
      policy, limit: scaledInteger(q), remaining, resetMs, windowMs: scaledInteger(window, 1_000) || null,
      ...(qu === "concurrent-requests" && { concurrent: true as const }),
    };
    // A malformed `c` counts as absent: in draft 11 it is an unknown parameter.
    limits.push(cost === null ? told : { ...told, cost });
  }
  return limits;
}

// Draft 07: limit=100, remaining=50, reset=5. The draft does not require `remaining`, but a limit without it says too
// little.
function dictionaryLimits(members: readonly Member[], policies: readonly Member[], sent: number): ToldLimit[] {
  const values = new Map(members.map(({ key, value }) => [key, scaledInteger(value)]));
  const limits = sizedCounters((name) => String(values.get(name)), sent, policies);
  return limits.filter(({ limit, resetMs }) => limit !== null && resetMs !== null);
}
