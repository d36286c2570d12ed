import { costAt, greatestCommonDivisor, type Costs, type Limit, type LimitOptions } from "../core/limit.js";
import { definePolicy, type Policy } from "../core/policy.js";
import { datedWorkOf, type DatedWork } from "../port/dated.js";

const MOST = 9_007_199_254_740_991n;

/**
 * The policy of one of `sharedBy` processes by itself: 1 / `sharedBy` of every limit.
 *
 * A quota becomes a rate: a 32nd of its share at once, and the share within a period. So an outage of a minute grants
 * no second month. A capacity is rounded down, but is at least 1 and at least its cost. A cost above the share is
 * allowed when the bucket is full, and then all of it must refill. The rate is exact while whole units can express it.
 * Beyond that it is rounded down, but never to zero.
 */
export function shareOf(policy: Policy, sharedBy: number, costs: Costs): Policy {
  const work = datedWorkOf(policy);
  const limits = policy.limits.map((limit, i) => shareOfLimit(limit, sharedBy, costAt(costs, i), work));
  return definePolicy({ name: policy.name, limits });
}

function shareOfLimit(limit: Limit, sharedBy: number, cost: number, work: DatedWork | undefined): LimitOptions {
  const { capacity, unitsPerMs, unitsPerToken } = work?.evenly(limit) ?? limit;
  const share = Math.max(1, Math.floor(capacity / sharedBy), cost);
  if (limit.returns) return { name: limit.name, capacity: share, returns: limit.returns };
  // `unitsPerMs` and `unitsPerToken` have no common divisor.
  const divisor = greatestCommonDivisor(unitsPerMs, sharedBy);
  const everyMs = BigInt(unitsPerToken) * BigInt(sharedBy / divisor);
  // Uses the limit's own capacity, not the cost's: all policies of one bucket must count in the same units.
  const over = ceilDiv(everyMs, MOST / BigInt(limit.capacity));
  const tokens = Number(BigInt(unitsPerMs / divisor) / over);
  return {
    name: limit.name, capacity: share,
    refill: { tokens: Math.max(1, tokens), everyMs: Number(ceilDiv(everyMs, over)) },
  };
}

function ceilDiv(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}
