import { readings, type Decision } from "../core/decision.js";
import type { Limit } from "../core/limit.js";
import type { Policy } from "../core/policy.js";

/**
 * How many of the `tokens` that were taken `ageMs` ago are still out, rounded up, and the limits of which that is so.
 *
 * A short limit has had them back by itself long before a long one: given back again, they would be there twice. That nobody
 * else asked meanwhile is assumed, for then most has come back. So each call mints less than one token.
 */
export function stillOut(decision: Decision, policy: Policy, tokens: number, ageMs: number): Map<number, [Limit, ...Limit[]]> {
  const found = new Map<number, [Limit, ...Limit[]]>();
  const all = readings(decision);
  policy.limits.forEach((limit, i) => {
    // The least that can have been spent then, for whole milliseconds are rounded up; at the instant itself nothing has come back.
    const units = ((all[i]?.resetMs ?? 0) - 1 - ageMs) * limit.unitsPerMs + 1;
    const left = ageMs <= 0 ? tokens : Math.min(tokens, Math.ceil(units / limit.unitsPerToken));
    const others = found.get(left);
    if (others !== undefined) others.push(limit);
    else if (left > 0) found.set(left, [limit]);
  });
  return found;
}
