import type { Cost } from "../../core/cost.js";
import { costAt } from "../../core/limit.js";
import type { Decision } from "../../core/decision.js";
import type { Key } from "../../core/key.js";
import { bucketId, samePolicy, type Policy } from "../../core/policy.js";
import { chargeGroup, chargeOf, thenAll, thenOne, type LimiterCharge } from "../../limiter/charge.js";
import { isShadow } from "../../limiter/internals.js";
import type { Limiter } from "../../limiter/limiter.js";
import type { Judged } from "../verdicts.js";

/** One charge of a request: the limiter, the key and the cost. */
export interface Claim {
  readonly limiter: Limiter;
  readonly caller: Key;
  readonly cost: Cost | undefined;
  readonly policy: Policy;
}

/**
 * Charges all claims, or none of them, in one step of the store. Claims on one bucket are one charge of their costs.
 */
export function takeCharges(claims: readonly Claim[]): readonly Judged[] | Promise<readonly Judged[]> {
  const byBucket = new Map<string, LimiterCharge>();
  for (const { limiter, caller, cost, policy } of claims) {
    const charge = chargeOf(limiter, caller, { cost, policy });
    const bucket = bucketId(policy, charge.encoded);
    const same = byBucket.get(bucket);
    if (same !== undefined && !samePolicy(same.policy, policy)) {
      throw new TypeError(`Expected the charges on one key under "${policy.name}" to have the same numbers, got two tiers. Give the policies different names`);
    }
    byBucket.set(bucket, same === undefined ? charge : chargeOf(limiter, caller, { cost: sumOf(same, charge), policy }));
  }
  const group = [...byBucket.values()];
  // In shadow mode a charge that would be refused must not refuse the others.
  const decided = claims.some(({ limiter }) => isShadow(limiter))
    ? thenAll<Decision, readonly Decision[]>(group.map(({ limiter, key, asked }) => limiter.consume(key, asked)), (all) => all)
    : chargeGroup(group);
  return thenOne(decided, (decisions) =>
    group.map(({ limiter, key, policy }, i) => ({ limiter, caller: key, policy, decision: decisions[i] as Decision })),
  );
}

function sumOf({ policy, cost }: LimiterCharge, other: LimiterCharge): Cost {
  return Object.fromEntries(policy.limits.map(({ name }, i) => [name, Math.min(Number.MAX_SAFE_INTEGER, costAt(cost, i) + costAt(other.cost, i))]));
}
