import { readings, type Decision } from "./decision.js";
import type { Limit } from "./limit.js";
import { Policy } from "./policy.js";

/** Tokens to give back to the limits of `policy`. */
export interface Refundable {
  readonly policy: Policy;
  readonly tokens: number;
}

/**
 * The part of a charge that has not refilled by itself yet, in whole tokens per limit, rounded up.
 *
 * `tokens` is what `decision` took under `policy`, `ageMs` milliseconds ago. An unknown age (NaN) refunds nothing.
 * Limits with the same remainder are grouped; limits that have refilled all of it are omitted. A short limit refills
 * long before a long one, and tokens given back on top would be there twice (law L1). The refill is computed as if no
 * other call used the bucket since: then it is largest. So each call creates less than one token.
 */
export function refundable(decision: Decision, policy: Policy, tokens: number, ageMs: number): readonly Refundable[] {
  const found = new Map<number, [Limit, ...Limit[]]>();
  const all = readings(decision);
  for (const limit of policy.limits) {
    const resetMs = all.find((reading) => reading.limit === limit.name)?.resetMs ?? 0;
    // The fewest units that can still be spent, since `resetMs` was rounded up. At age 0 nothing has refilled.
    const units = (resetMs - 1 - ageMs) * limit.unitsPerMs + 1;
    const left = ageMs > 0 ? Math.min(tokens, Math.ceil(units / limit.unitsPerToken)) : resetMs > 0 ? tokens : 0;
    const others = found.get(left);
    if (others !== undefined) others.push(limit);
    else if (left > 0) found.set(left, [limit]);
  }
  return [...found].map(([left, limits]) => ({
    tokens: left,
    policy: limits.length === policy.limits.length ? policy : new Policy(policy.name, limits),
  }));
}
