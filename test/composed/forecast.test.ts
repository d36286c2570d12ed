import fc from "fast-check";
import { createLimiter, definePolicy, type Costs, type Decision, type LimitOptions, type Policy, type PolicyOptions } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { expectedWait, forecastAfter, FULL, refundForecast, want, type Forecast, type Wanted } from "../../src/composed/forecast.js";
import { limits, policies } from "../helpers/arbitraries.js";

// A century. Longer waits follow the same arithmetic, but exceed what a clock in milliseconds can tell.
const LONG = 100 * 31_557_600_000;

const anyPolicy: fc.Arbitrary<PolicyOptions> = fc.oneof(limits, policies);
const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 12 });

/** Costs of at least 1, as shares of the largest cost that the policy can grant. */
const costsOf = (policy: PolicyOptions, list: readonly number[]): number[] => {
  const { maxCost } = definePolicy(policy);
  return list.map((share) => Math.max(1, Math.round(share * maxCost)));
};

/** The instants at which callers of these costs are served when each takes its tokens as soon as they are there. */
function served(policy: PolicyOptions, before: readonly number[], costs: readonly number[]): { last: Decision; instants: number[] } {
  const clock = new ManualClock();
  const limiter = createLimiter({ policy, clock: clock.now });
  let last = limiter.consume("alice", 0);
  for (const cost of before) last = limiter.consume("alice", cost);
  const instants = costs.map((cost) => {
    const { retryAfterMs } = limiter.peek("alice", cost);
    clock.advance(retryAfterMs);
    fc.pre(clock.now() < LONG);
    expect(limiter.consume("alice", cost).allowed).toBe(true);
    return clock.now();
  });
  return { last, instants };
}

function forecastOf(options: PolicyOptions, last: Decision, now = 0): Forecast {
  return forecastAfter([last], [{ policy: definePolicy(options), cost: 0 }], now);
}

/** What one caller wants under a policy. */
function wanted(policy: Policy, cost: Costs): Wanted {
  return want(new Map(), [{ policy, cost }]);
}

describe("a forecast", () => {
  test("is never too late, and early by less than a millisecond for each caller before", () => {
    fc.assert(
      fc.property(anyPolicy, shares, shares, (options, spent, list) => {
        const policy = definePolicy(options);
        const costs = costsOf(options, list);
        const { last, instants } = served(options, costsOf(options, spent), costs);
        const forecast = forecastOf(options, last);
        let tokens = 0;
        costs.forEach((cost, i) => {
          tokens += cost;
          const wait = expectedWait(forecast, [{ policy, cost: 0 }], wanted(policy, tokens), 0);
          expect(wait).toBeLessThanOrEqual(instants[i] as number);
          expect(wait).toBeGreaterThanOrEqual((instants[i] as number) - i - 1);
        });
      }),
      { numRuns: 400 },
    );
  });

  const limit = { capacity: 5, refill: { tokens: 1, everyMs: 300 } };
  const policy = definePolicy(limit);

  test("is exact where a token takes whole milliseconds", () => {
    const { last, instants } = served(limit, [4], [1, 2, 5, 1]);
    const forecast = forecastOf(limit, last);
    expect(instants).toEqual([0, 600, 2_100, 2_400]);
    expect([1, 3, 8, 9].map((tokens) => expectedWait(forecast, [{ policy, cost: 0 }], wanted(policy, tokens), 0))).toEqual(instants);
  });

  test("shrinks by a millisecond every millisecond, down to 0", () => {
    const { last } = served(limit, [5], []);
    const forecast = forecastOf(limit, last, 1_000);
    // A decision that arrives between two milliseconds counts from the later one.
    expect([999, 1_000, 1_001, 1_599, 1_600, 9_999].map((now) => expectedWait(forecast, [{ policy, cost: 0 }], wanted(policy, 2), now))).toEqual([601, 600, 599, 1, 0, 0]);
  });

  test("takes a key of which nothing is known for full", () => {
    expect([5, 6, 7].map((tokens) => expectedWait(FULL, [{ policy, cost: 0 }], wanted(policy, tokens), 0))).toEqual([0, 300, 600]);
  });

  test("counts refunds, up to full", () => {
    const { last } = served(limit, [5], []);
    const forecast = forecastOf(limit, last);
    refundForecast(forecast, [{ policy, cost: 2 }], 0);
    expect([2, 3].map((tokens) => expectedWait(forecast, [{ policy, cost: 0 }], wanted(policy, tokens), 0))).toEqual([0, 300]);
    refundForecast(forecast, [{ policy, cost: 9 }], 0);
    expect([5, 6].map((tokens) => expectedWait(forecast, [{ policy, cost: 0 }], wanted(policy, tokens), 0))).toEqual([0, 300]);
    refundForecast(FULL, [{ policy, cost: 1 }], 0);
    expect(FULL.size).toBe(0);
  });

  test("of a tier counts what was spent at the tier's rate, and takes an unknown limit for full", () => {
    const named = (name: string, everyMs: number): LimitOptions => ({ name, capacity: 4, refill: { tokens: 1, everyMs } });
    const [free, pro] = [definePolicy({ limits: [named("a", 1_000)] }), definePolicy({ limits: [named("a", 100), named("b", 500)] })];
    const { last } = served({ limits: [named("a", 1_000)] }, [4], []);
    const forecast = forecastOf({ limits: [named("a", 1_000)] }, last);
    expect(expectedWait(forecast, [{ policy: free, cost: 0 }], wanted(free, 2), 0)).toBe(2_000);
    expect(expectedWait(forecast, [{ policy: pro, cost: 0 }], wanted(pro, 2), 0)).toBe(200);
    expect(expectedWait(forecast, [{ policy: pro, cost: 0 }], wanted(pro, 6), 0)).toBe(1_000);
  });
});
