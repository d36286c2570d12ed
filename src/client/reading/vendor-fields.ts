import { headerOf, sentAt, type HeaderSource } from "../../http/retry-after/retry-after.js";
import type { RateLimit } from "./rate-limit.js";
import { parseReset } from "./reset.js";
import { parseList, type Member, type Value } from "./structured-field.js";

/** A non-negative Integer times `scale`, else null. */
export function whole(value: Value | undefined, scale = 1): number | null {
  return typeof value === "number" && value >= 0 ? value * scale : null;
}

/** The window `w` of the first of `policies` whose item is `quota`: a name or a number of requests. Null for none, or of no length. */
export function windowOf(policies: readonly Member[], quota: Value): number | null {
  const policy = policies.find(({ value, params }) => value !== null && value === quota && "w" in params);
  return whole(policy?.params["w"], 1_000) || null;
}

/** The limit that the fields `<before>limit<after>`, `…remaining…` and `…reset…` tell; none without a readable remaining. */
export function readCounters(headers: HeaderSource, now: number, before: string, after = "", policies: readonly Member[] = []): RateLimit[] {
  const field = (name: string): string => headerOf(headers, before + name + after);
  const reset = (name: string): number | null => parseReset(field(name), sentAt(headers, now));
  const remaining = field("remaining");
  if (!/^\d{1,15}(\.\d+)?$/.test(remaining)) return [];
  const limits = parseList(field("limit")) ?? [];
  const limit = whole(limits[0]?.value);
  return [
    {
      policy: field("resource") || field("bucket") || null, // GitHub, Discord
      limit,
      remaining: Math.floor(Number(remaining)), // Reddit's has a fraction
      // Discord's precise wait first; Atlassian Data Center tells only how often the bucket is topped up.
      resetMs: reset("reset-after") ?? reset("reset") ?? reset("interval-seconds"),
      windowMs: windowOf([...policies, ...limits], limit),
    },
  ];
}

/** The limits that vendors' own fields tell. */
export function vendorLimits(headers: HeaderSource, now: number): RateLimit[] {
  const [, used, size] = /^(\d{1,15})\/(\d{1,15})$/.exec(headerOf(headers, "x-shopify-shop-api-call-limit")) ?? [];
  return [
    ...readCounters(headers, now, "x-ratelimit-"), // GitHub, Discord, Reddit, Atlassian and most others
    ...readCounters(headers, now, "x-rate-limit-"), // X
    ...["requests", "tokens", "input-tokens", "output-tokens"].flatMap((policy) =>
      [...readCounters(headers, now, "x-ratelimit-", `-${policy}`), ...readCounters(headers, now, `anthropic-ratelimit-${policy}-`)].map(
        (limit) => ({ ...limit, policy }),
      ),
    ),
    ...(size ? [{ policy: null, limit: Number(size), remaining: Math.max(0, Number(size) - Number(used)), resetMs: null, windowMs: null }] : []),
  ];
}
