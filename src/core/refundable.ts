import { readings, type Decision } from "./decision.js";
import type { Limit } from "./limit.js";
import { Policy } from "./policy.js";

/** Tokens to give back, and the limits to give them back to. */
export interface RefundPart {
  readonly policy: Policy;
  readonly tokens: number;
}

/**
 * The part of `tokens` that a decision under `policy` took `ageMs` ago and that has not refilled by itself yet, per
 * limit, rounded up. Limits with the same remainder are grouped. Limits that have refilled are left out. An unknown age
 * (NaN) gives back nothing.
 *
 * Giving back what has refilled would mint tokens (law L1), and a short limit refills long before a long one. The
 * refill is computed as if nothing else was charged since, when most refills. So each call mints less than one token.
 */
export function refundable(decision: Decision, policy: Policy, tokens: number, ageMs: number): readonly RefundPart[] {
  const groups = new Map<number, [Limit, ...Limit[]]>();
  const all = readings(decision);
  for (const limit of policy.limits) {
    const resetMs = all.find((reading) => reading.limit === limit.name)?.resetMs ?? 0;
    // `resetMs` is rounded up, so this is the least that can have been spent. At the instant itself nothing has
    // refilled.
    const units = (resetMs - 1 - ageMs) * limit.unitsPerMs + 1;
    const left = ageMs > 0 ? Math.min(tokens, Math.ceil(units / limit.unitsPerToken)) : resetMs > 0 ? tokens : 0;
    const group = groups.get(left);
    if (group !== undefined) group.push(limit);
    else if (left > 0) groups.set(left, [limit]);
  }
  return [...groups].map(([left, limits]) => ({
    tokens: left,
    policy: limits.length === policy.limits.length ? policy : new Policy(policy.name, limits),
  }));
}
