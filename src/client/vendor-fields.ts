import { headerOf, sentAt, type HeaderSource } from "../http/retry-after.js";
import type { RateLimit } from "./rate-limit.js";
import { parseReset } from "./reset.js";
import { parseList, type Member, type Value } from "./structured-field.js";

/** A non-negative Integer, else null. */
export function whole(value: Value | undefined): number | null {
  return typeof value === "number" && value >= 0 ? value : null;
}

/** `seconds` in milliseconds, null as null. */
export function inMs(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1_000;
}

/** The window `w` of the first of `policies` whose item is `quota`: a name or a number of requests. Null for none, or of no length. */
export function windowOf(policies: readonly Member[], quota: Value): number | null {
  const policy = policies.find(({ value, params }) => value !== null && value === quota && params.has("w"));
  return inMs(whole(policy?.params.get("w")) || null);
}

/** The fields `<before>limit<after>`, `…remaining…` and `…reset…` of one limit; none without a readable remaining. */
export function readCounters(headers: HeaderSource, now: number, before: string, after = "", policies: readonly Member[] = []): RateLimit[] {
  const field = (name: string): string | null => headerOf(headers, before + name + after);
  const remaining = field("remaining");
  if (remaining === null || !/^\d{1,15}(\.\d+)?$/.test(remaining)) return [];
  const limits = parseList(field("limit") ?? "") ?? [];
  const limit = whole(limits[0]?.value);
  // Discord's precise wait first; Atlassian's bucket tells only how often it is topped up.
  const reset = field("reset-after") ?? field("reset") ?? field("interval-seconds");
  return [
    {
      policy: field("resource") ?? field("bucket") ?? (after.slice(1) || null),
      limit,
      remaining: Math.floor(Number(remaining)),
      resetMs: reset === null ? null : parseReset(reset, sentAt(headers, now)),
      windowMs: windowOf([...policies, ...limits], limit),
    },
  ];
}

/** What is around the names of a vendor's counters. */
const VENDORS: ReadonlyArray<readonly [before: string, after?: string]> = [
  ["x-ratelimit-"], // GitHub, Discord, Reddit, Atlassian and most others
  ["x-rate-limit-"], // X
  ["x-ratelimit-", "-requests"], // OpenAI
  ["x-ratelimit-", "-tokens"],
  ["anthropic-ratelimit-requests-"],
  ["anthropic-ratelimit-tokens-"],
];

/** The limits that vendors' own fields tell. */
export function vendorLimits(headers: HeaderSource, now: number): RateLimit[] {
  return VENDORS.flatMap(([before, after]) => readCounters(headers, now, before, after));
}
