import { monotonicClock, readClock } from "../core/clock.js";
import { mapCosts, parseTokens, type Cost } from "../core/cost.js";
import { costAt, type Costs } from "../core/limit.js";
import type { Decision } from "../core/decision.js";
import { bucketId, type Policy } from "../core/policy.js";
import { refundable } from "../core/refundable.js";
import type { LocalCharge, Store } from "../port/store.js";
import { requireMethod } from "../limiter/arguments.js";
import { internalsOf } from "../limiter/internals.js";
import type { Limiter } from "../limiter/limiter.js";
import { tookNothing } from "../limiter/refund.js";
import type { LimiterCharge } from "../limiter/charge.js";

/** One charge of a reservation. */
export interface Settlement {
  /** Checks an actual cost. A limit that is not named keeps its estimate. */
  parse(actual: Cost): Costs;
  /** Changes the charge to `used`. Returns whether the bucket is correct afterwards. Only the first call counts. */
  settle(used: Costs): boolean | Promise<boolean>;
}

/** The time by the clock that dates a limiter's charges. */
export function timeOf({ store }: Limiter): number {
  return readClock(typeof store.clock === "function" ? store.clock : monotonicClock);
}

/** Makes the settlement of a charge decided by `decision`, which was sent at `at` of {@link timeOf}. */
export function settlementOf({ limiter, policy, cost: estimate, encoded }: LimiterCharge, decision: Decision | null, at: number, expiresMs: number): Settlement {
  const { store, guarded } = internalsOf(limiter);
  const charge = decision === null ? null : decision.degraded ? guarded.localChargeOf(decision) : wasCharged(decision) ? { store, policy } : null;
  // From here on, only the reservation may refund the decision.
  if (decision !== null) tookNothing(decision);
  let outcome: boolean | Promise<boolean> | undefined;

  return {
    parse: (actual) => parseTokens(policy, actual, "actual", estimate),
    settle(used) {
      if (outcome !== undefined) return outcome;
      // Set first, because a failure below must not allow a second settlement.
      outcome = false;
      const ageMs = timeOf(limiter) - at;
      if (charge === null || ageMs >= expiresMs) return false;
      const changes = correctionOf(charge, decision as Decision, estimate, used, ageMs);
      // An exact estimate needs no call, and so gives no information about the store.
      if (changes === 0) return (outcome = true);
      const correct = (): boolean | Promise<boolean> => requireMethod(charge.store, "adjust").call(charge.store, charge.policy, encoded, changes);
      let wasAsked = true;
      const settled = charge.store === store ? guarded.call([bucketId(policy, encoded)], correct, () => void (wasAsked = false)) : correct();
      // After any other failure the store may have made the change, so only this one may be repeated.
      outcome = wasAsked ? settled : undefined;
      return settled;
    },
  };
}

// A shadow limiter's refusal took nothing, although the decision is allowed.
function wasCharged(decision: Decision): boolean {
  return decision.allowed && !Object.hasOwn(decision, "shadow");
}

/**
 * The tokens that change an estimate, taken `ageMs` ago, into `used`: to take, or below 0 to refund, for each limit.
 */
function correctionOf({ policy }: LocalCharge | { readonly store: Store; readonly policy: Policy }, decision: Decision, estimate: Costs, used: Costs, ageMs: number): Costs {
  const unused = mapCosts(policy, estimate, (cost, i) => Math.max(0, cost - costAt(used, i)));
  const left = refundable(decision, policy, unused, ageMs);
  return mapCosts(policy, used, (cost, i) => {
    const over = cost - costAt(estimate, i);
    return over > 0 ? Math.min(over, policy.limits[i]?.capacity ?? 0) : 0 - costAt(left, i);
  });
}
