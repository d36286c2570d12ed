import { costAt, type Costs, type Limit, type LimitOptions } from "../core/limit.js";
import { definePolicy, type Policy } from "../core/policy.js";

const MOST = 9_007_199_254_740_991n;
const MILLION = 1_000_000n;

/**
 * The policy of a process by itself: the `share` of every limit, a number above 0 and at most 1, in millionths.
 *
 * A capacity is rounded down, but is at least 1 and at least its cost. A cost above the share is allowed when the
 * bucket is full, and then all of it must refill. The rate is exact while whole units can express it. Beyond that it is
 * rounded down, but never to zero.
 */
export function shareOf(policy: Policy, share: number, costs: Costs): Policy {
  const millionths = BigInt(Math.max(1, Math.round(share * 1e6)));
  return definePolicy({ name: policy.name, limits: policy.limits.map((limit, i) => shareOfLimit(limit, millionths, costAt(costs, i))) });
}

function shareOfLimit({ name, capacity, unitsPerMs, unitsPerToken }: Limit, millionths: bigint, cost: number): LimitOptions {
  const share = Number((BigInt(capacity) * millionths) / MILLION);
  let tokens = BigInt(unitsPerMs) * millionths;
  let everyMs = BigInt(unitsPerToken) * MILLION;
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
