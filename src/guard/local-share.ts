import { costAt, type Costs, type Limit, type LimitOptions } from "../core/limit.js";
import { definePolicy, type Policy } from "../core/policy.js";

const MOST = 9_007_199_254_740_991n;
// The part of a quota's share that one moment of an outage can take.
const QUOTA_PARTS = 32;

/**
 * The policy of one of `sharedBy` processes by itself: 1 / `sharedBy` of every limit.
 *
 * A quota becomes a rate: a 32nd of its share at once, and the share within a period. So an outage of a minute grants
 * no second month. A capacity is rounded down, but is at least 1 and at least its cost. A cost above the share is
 * allowed when the bucket is full, and then all of it must refill. The rate is exact while whole units can express it.
 * Beyond that it is rounded down, but never to zero.
 */
export function shareOf(policy: Policy, sharedBy: number, costs: Costs): Policy {
  const limits = policy.limits.map((limit, i) => shareOfLimit(limit, sharedBy, costAt(costs, i)));
  return definePolicy({ name: policy.name, limits });
}

function shareOfLimit({ name, capacity, unitsPerMs, unitsPerToken, rule }: Limit, sharedBy: number, cost: number): LimitOptions {
  const share = Math.floor(capacity / sharedBy / (rule === undefined ? 1 : QUOTA_PARTS));
  let tokens = BigInt(rule === undefined ? unitsPerMs : capacity);
  let everyMs = BigInt(rule === undefined ? unitsPerToken : rule.windowSeconds * 1_000) * BigInt(sharedBy);
  const divisor = commonDivisorOf(tokens, everyMs);
  tokens /= divisor;
  everyMs /= divisor;
  // Uses the limit's own capacity, not the cost's: all policies of one bucket must count in the same units.
  const longest = MOST / BigInt(capacity);
  const over = [ceilDiv(tokens, MOST), ceilDiv(everyMs, longest)].reduce((a, b) => (b > a ? b : a));
  tokens /= over;
  return {
    name,
    capacity: Math.max(1, share, cost),
    refill: { tokens: tokens === 0n ? 1 : Number(tokens), everyMs: Number(ceilDiv(everyMs, over)) },
  };
}

function ceilDiv(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}

function commonDivisorOf(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}
