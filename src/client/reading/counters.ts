import type { RateLimit } from "./rate-limit.js";
import { parseReset } from "./reset.js";
import { parseList, type ItemValue, type Member } from "./structured-field.js";

/** An Integer of at least 0, times `scale`. Null for every other value. */
export function scaledInteger(value: ItemValue | undefined, scale = 1): number | null {
  return typeof value === "number" && value >= 0 ? value * scale : null;
}

/**
 * Parses the limit in the fields `limit`, `remaining` and `reset`, whose values `field` returns. Empty without a
 * well-formed `remaining`. `sent` is when the response was sent, in milliseconds since 1970.
 */
export function parseCounters(field: (name: string) => string, sent: number, policies: readonly Member[] = []): RateLimit[] {
  const remaining = field("remaining");
  if (!/^\d{1,15}(\.\d+)?$/.test(remaining)) return [];
  const limits = parseList(field("limit")) ?? [];
  const limit = scaledInteger(limits[0]?.value);
  // Drafts 03 to 07 name a policy by its number of requests: 100;w=60.
  const policy = limit === null ? undefined : [...policies, ...limits].find(({ value, params }) => value === limit && "w" in params);
  return [
    {
      policy: null,
      limit,
      remaining: Math.floor(Number(remaining)), // Reddit sends a fraction
      resetMs: parseReset(field("reset"), sent),
      windowMs: scaledInteger(policy?.params["w"], 1_000) || null,
    },
  ];
}
