import { mapCosts } from "../../core/cost.js";
import { readings, type Decision } from "../../core/decision.js";
import { costAt, type Costs, type Limit } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";

/**
 * The part of `tokens` of the limit at `position` that has not refilled by itself yet, rounded up. A decision under
 * `policy` took the tokens `ageMs` ago. An unknown age (NaN) counts as 0.
 *
 * Giving back what has refilled would mint tokens (law L1), and a short limit refills long before a long one. The
 * refill is computed as if nothing else was charged since: then the least is left to give back. The rounding mints less
 * than one token for each call.
 */
function refundable(decision: Decision, policy: Policy, position: number, tokens: number, ageMs: number): number {
  const limit = policy.limits[position] as Limit;
  // The store compares a quota's exact dates.
  if (!(ageMs > 0) || limit.refill === undefined) return tokens;
  // `resetMs` is rounded up, so this is the least that can have been spent. At the instant itself nothing has refilled.
  const units = (resetMsOf(decision, limit) - 1 - ageMs) * limit.unitsPerMs + 1;
  return Math.max(0, Math.min(tokens, Math.ceil(units / limit.unitsPerToken)));
}

/** For each limit, the last instant at which a rate would still give back all of `changes` below 0. */
export function refundableUntil(decision: Decision, policy: Policy, changes: Costs): Costs {
  return mapCosts(policy, changes, (change, i) => {
    const limit = policy.limits[i] as Limit;
    const usedMs = Math.ceil(((-change - 1) * limit.unitsPerToken) / limit.unitsPerMs);
    return decision.at + Math.max(0, resetMsOf(decision, limit) - 1 - usedMs);
  });
}

/** By name, because versions of a policy differ in order. */
function resetMsOf(decision: Decision, { name }: Limit): number {
  return readings(decision).find(({ limit }) => limit === name)?.resetMs ?? 0;
}

/**
 * The tokens that change a charge, made `ageMs` ago, into `used`: to take, or below 0 to give back, for each limit.
 */
export function correction(decision: Decision, policy: Policy, taken: Costs, used: Costs, ageMs: number): Costs {
  return mapCosts(policy, used, (cost, i) => {
    const over = cost - costAt(taken, i);
    return over > 0 ? Math.min(over, policy.limits[i]?.capacity ?? 0) : 0 - refundable(decision, policy, i, 0 - over, ageMs);
  });
}
