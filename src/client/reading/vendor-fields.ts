import { headerOf, sentAt, type HeaderSource } from "../../http/retry-after/retry-after.js";
import type { RateLimit } from "./rate-limit.js";
import { parseReset } from "./reset.js";
import { parseList, type ItemValue, type Member } from "./structured-field.js";

/** An Integer of at least 0, times `scale`. Null for every other value. */
export function scaledInteger(value: ItemValue | undefined, scale = 1): number | null {
  return typeof value === "number" && value >= 0 ? value * scale : null;
}

/**
 * The window `w`, in milliseconds, of the first of `policies` whose item is `quota`: a name or a number of requests.
 * Null when there is none, or when it is 0.
 */
export function windowOf(policies: readonly Member[], quota: ItemValue): number | null {
  const policy = policies.find(({ value, params }) => value !== null && value === quota && "w" in params);
  return scaledInteger(policy?.params["w"], 1_000) || null;
}

/**
 * Parses the limit in the fields `<before>limit<after>`, `<before>remaining<after>` and `<before>reset<after>`. Empty
 * without a well-formed `remaining`.
 */
export function parseCounters(headers: HeaderSource, now: number, before: string, after = "", policies: readonly Member[] = []): RateLimit[] {
  const field = (name: string): string => headerOf(headers, before + name + after);
  const reset = (name: string): number | null => parseReset(field(name), sentAt(headers, now));
  const remaining = field("remaining");
  if (!/^\d{1,15}(\.\d+)?$/.test(remaining)) return [];
  const limits = parseList(field("limit")) ?? [];
  const limit = scaledInteger(limits[0]?.value);
  return [
    {
      policy: field("resource") || field("bucket") || null, // GitHub, Discord
      limit,
      remaining: Math.floor(Number(remaining)), // Reddit sends a fraction
      // Discord's `reset-after` is the most exact. Atlassian Data Center states only the interval of refills.
      resetMs: reset("reset-after") ?? reset("reset") ?? reset("interval-seconds"),
      windowMs: windowOf([...policies, ...limits], limit),
    },
  ];
}

/** Parses the limits in the fields of known vendors. */
export function parseVendorLimits(headers: HeaderSource, now: number): RateLimit[] {
  const [, used, size] = /^(\d{1,15})\/(\d{1,15})$/.exec(headerOf(headers, "x-shopify-shop-api-call-limit")) ?? [];
  return [
    ...parseCounters(headers, now, "x-ratelimit-"), // GitHub, Discord, Reddit, Atlassian and most others
    ...parseCounters(headers, now, "x-rate-limit-"), // X
    ...["requests", "tokens", "input-tokens", "output-tokens"].flatMap((policy) =>
      [...parseCounters(headers, now, "x-ratelimit-", `-${policy}`), ...parseCounters(headers, now, `anthropic-ratelimit-${policy}-`)].map(
        (limit) => ({ ...limit, policy }),
      ),
    ),
    ...(size ? [{ policy: null, limit: Number(size), remaining: Math.max(0, Number(size) - Number(used)), resetMs: null, windowMs: null }] : []),
  ];
}
