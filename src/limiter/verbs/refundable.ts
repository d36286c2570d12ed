import { mapCosts } from "../../core/cost.js";
import { readings, type Decision } from "../../core/decision.js";
import { costAt, type Costs } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";

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
    const { name, unitsPerMs, unitsPerToken, refill } = policy.limits[i] as Policy["limits"][number];
    const resetMs = all.find(({ limit }) => limit === name)?.resetMs ?? 0;
    // `resetMs` is rounded up, so this is the least that can have been spent. At the instant itself nothing has
    // refilled.
    const units = (resetMs - 1 - ageMs) * unitsPerMs + 1;
    // The store compares a quota's exact dates.
    const left = ageMs > 0 && refill !== undefined ? Math.ceil(units / unitsPerToken) : cost;
    return Math.max(0, Math.min(cost, left));
  });
}

/** For each limit, the last instant at which {@link refundable} would still give back all of `changes` below 0. */
export function refundableUntil(decision: Decision, policy: Policy, changes: Costs): Costs {
  const all = readings(decision);
  return mapCosts(policy, changes, (change, i) => {
    const { name, unitsPerMs, unitsPerToken } = policy.limits[i] as Policy["limits"][number];
    const resetMs = all.find(({ limit }) => limit === name)?.resetMs ?? 0;
    return decision.at + Math.max(0, resetMs - 1 - Math.ceil(((-change - 1) * unitsPerToken) / unitsPerMs));
  });
}

/**
 * The tokens that change a charge, made `ageMs` ago, into `used`: to take, or below 0 to give back, for each limit.
 */
export function correction(decision: Decision, policy: Policy, taken: Costs, used: Costs, ageMs: number): Costs {
  const unused = mapCosts(policy, taken, (cost, i) => Math.max(0, cost - costAt(used, i)));
  const left = refundable(decision, policy, unused, ageMs);
  return mapCosts(policy, used, (cost, i) => {
    const over = cost - costAt(taken, i);
    return over > 0 ? Math.min(over, policy.limits[i]?.capacity ?? 0) : 0 - costAt(left, i);
  });
}
