import type { Costs } from "./limit.js";
import { mapCosts } from "./cost.js";
import { readings, type Decision } from "./decision.js";
import type { Policy } from "./policy.js";

/**
 * The tokens that a decision took, or would have taken, from each limit of `policy`. By name, because versions differ
 * in order.
 */
export function costsOf(decision: Decision, policy: Policy): Costs {
  const all = readings(decision);
  return mapCosts(policy, 0, (none, i) => all.find(({ limit }) => limit === policy.limits[i]?.name)?.cost ?? none);
}

/**
 * The part of `tokens` that has not refilled by itself yet, for each limit, rounded up. A decision under `policy` took
 * the tokens `ageMs` ago. An unknown age (NaN) counts as 0.
 *
 * Giving back what has refilled would mint tokens (law L1), and a short limit refills long before a long one. The
 * refill is computed as if nothing else was charged since: then the least is left to give back. The rounding mints less
 * than one token for each call.
 */
export function refundable(decision: Decision, policy: Policy, tokens: Costs, ageMs: number): Costs {
  const all = readings(decision);
  return mapCosts(policy, tokens, (cost, i) => {
    const { name, unitsPerMs, unitsPerToken, rule } = policy.limits[i] as Policy["limits"][number];
    const resetMs = all.find(({ limit }) => limit === name)?.resetMs ?? 0;
    // `resetMs` is rounded up, so this is the least that can have been spent. At the instant itself nothing has
    // refilled.
    const units = (resetMs - 1 - ageMs) * unitsPerMs + 1;
    // The store compares a quota's exact dates.
    const left = ageMs > 0 && rule === undefined ? Math.ceil(units / unitsPerToken) : cost;
    return Math.max(0, Math.min(cost, left));
  });
}
