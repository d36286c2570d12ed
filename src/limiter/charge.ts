import { limiterChecks } from "#diagnostics";
import type { Decision } from "../core/decision.js";
import { costAt, type Costs } from "../core/limit.js";
import { mapCosts } from "../core/cost.js";
import { encodeKey, type Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import { isUnlimited } from "./unlimited.js";
import { costOf, policyOf, type ConsumeArgument } from "./arguments.js";
import type { ConsumeOptions, PlainLimiter } from "./limiter.js";

/** One charge of a limiter, checked and copied. */
export interface LimiterCharge {
  readonly limiter: PlainLimiter;
  readonly key: Key;
  readonly policy: Policy;
  readonly cost: Costs;
  /** The cost and the policy, as in `consume`. */
  readonly asked: ConsumeOptions;
  /** The key, encoded for the store. */
  readonly encoded: string;
  /** Whether it is counted and never refused. Asked once for each call: a second answer of a function may differ. */
  readonly shadow: boolean;
}

/** The charges of one call, one for each part of a limiter. Null for a part without a limit. */
export type Charges = ReadonlyArray<LimiterCharge | null>;

/** One bucket to charge, for one part of a combination or for several. */
export interface Claim {
  readonly charge: LimiterCharge;
  /** The parts whose costs were added up, and the charge of each. */
  readonly parts: readonly number[];
  readonly own: readonly LimiterCharge[];
}

/** What a decision of a combination charged. */
export interface CombinedCharge {
  /** The combination that made it. */
  readonly by: object;
  readonly claims: readonly Claim[];
  readonly decisions: ReadonlyArray<Decision | null>;
}

/**
 * Checks the arguments of `consume` and returns the charge on `limiter`, or null for a policy without a limit.
 * `isForAll` says that a number is the cost for all members of a combination.
 */
export function chargeOf(limiter: PlainLimiter, key: Key, asked: ConsumeArgument, isForAll: boolean): LimiterCharge | null {
  const policy = policyOf(asked, limiter);
  const encoded = encodeKey(key);
  if (limiterChecks) limiterChecks.checkKeyText(key, limiter.policy);
  if (isUnlimited(policy)) return null;
  const cost = costOf(asked, policy, isForAll ? undefined : limiter.policy);
  // A copy, because the caller may change its key before the charge is made. A gate knows its own UNIDENTIFIED, which
  // is encoded as "(", by identity.
  const own = typeof key === "string" || encoded === "(" ? key : ([...key] as Key & unknown[]);
  return { limiter, key: own, policy, cost, asked: askedOf(policy, cost), encoded, shadow: limiter.shadow(own) };
}

/** Adds the cost of `other` to that of a charge on the same bucket. */
export function sumOfCharges(charge: LimiterCharge, other: LimiterCharge): LimiterCharge {
  const { policy } = charge;
  const cost = mapCosts(policy, charge.cost, (each, i) => Math.min(Number.MAX_SAFE_INTEGER, each + costAt(other.cost, i)));
  return { ...charge, cost, asked: askedOf(policy, cost) };
}

/** The options of `consume` for checked costs: a copy, because the caller may change its own. */
function askedOf(policy: Policy, cost: Costs): ConsumeOptions {
  return {
    // By name where one number may not be for limits in flight.
    cost:
      typeof cost === "number" && !policy.inFlight
        ? cost
        : Object.fromEntries(policy.limits.map(({ name }, i) => [name, costAt(cost, i)])),
    policy,
  };
}
