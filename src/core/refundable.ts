import { readings, type Decision } from "./decision.js";
import type { Limit } from "./limit.js";
import { Policy } from "./policy.js";

/** What is to be given back, and to which limits. */
export interface Due {
  readonly policy: Policy;
  readonly tokens: number;
}

/**
 * How many of the `tokens` that a decision under `policy` took `ageMs` ago are still out, rounded up: for limits of which that
 * differs, one by one. Nothing for those that have had all of it back; an age that is not known (NaN) counts as none.
 *
 * A short limit has had them back by itself long before a long one: given back again, they would be there twice (law L1). That
 * nobody else asked meanwhile is assumed, for then most has come back. So each call mints less than one token.
 */
export function stillOut(decision: Decision, policy: Policy, tokens: number, ageMs: number): readonly Due[] {
  const found = new Map<number, [Limit, ...Limit[]]>();
  const all = readings(decision);
  for (const limit of policy.limits) {
    const resetMs = all.find((reading) => reading.limit === limit.name)?.resetMs ?? 0;
    // The least that can have been spent then, for whole milliseconds are rounded up; at the instant itself nothing has come back.
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
