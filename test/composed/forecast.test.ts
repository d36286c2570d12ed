import fc from "fast-check";
import { createLimiter, definePolicy, type Decision, type LimitOptions, type PolicyOptions } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { comesIn, outlookOf } from "../../src/composed/forecast.js";
import { limits, policies } from "../helpers/arbitraries.js";

// A century: what takes longer is right by the same arithmetic, and too long for a clock in milliseconds.
const LONG = 100 * 31_557_600_000;

const anyPolicy: fc.Arbitrary<PolicyOptions> = fc.oneof(limits, policies);
const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 12 });

/** Whole tokens of what the policy can grant at once, at least one. */
const costsOf = (policy: PolicyOptions, list: readonly number[]): number[] => {
  const { maxCost } = definePolicy(policy);
  return list.map((share) => Math.max(1, Math.round(share * maxCost)));
};

/** The instant at which each is served when each takes its tokens as soon as they are there, as told. */
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

describe("a forecast", () => {
  test("is never too long, and too short by less than a millisecond for each who is served", () => {
    fc.assert(
      fc.property(anyPolicy, shares, shares, (options, spent, list) => {
        const policy = definePolicy(options);
        const costs = costsOf(options, list);
        const { last, instants } = served(options, costsOf(options, spent), costs);
        const outlook = outlookOf(last, policy, 0);
        let tokens = 0;
        costs.forEach((cost, i) => {
          tokens += cost;
          const wait = comesIn(outlook, policy, tokens, 0);
          expect(wait).toBeLessThanOrEqual(instants[i] as number);
          expect(wait).toBeGreaterThanOrEqual((instants[i] as number) - i - 1);
        });
      }),
      { numRuns: 400 },
    );
  });

  test("is exact where a token takes whole milliseconds", () => {
    const policy = definePolicy({ capacity: 5, refill: { tokens: 1, everyMs: 300 } });
    const { last, instants } = served({ capacity: 5, refill: { tokens: 1, everyMs: 300 } }, [4], [1, 2, 5, 1]);
    const outlook = outlookOf(last, policy, 0);
    expect(instants).toEqual([0, 600, 2_100, 2_400]);
    expect([1, 3, 8, 9].map((tokens) => comesIn(outlook, policy, tokens, 0))).toEqual(instants);
  });

  test("gets shorter with time, millisecond by millisecond, down to nothing", () => {
    const policy = definePolicy({ capacity: 5, refill: { tokens: 1, everyMs: 300 } });
    const { last } = served({ capacity: 5, refill: { tokens: 1, everyMs: 300 } }, [5], []);
    const outlook = outlookOf(last, policy, 1_000);
    expect([1_000, 1_001, 1_599, 1_600, 9_999].map((now) => comesIn(outlook, policy, 2, now))).toEqual([600, 599, 1, 0, 0]);
  });

  test("of a tier counts what was spent at its own price, and a limit that nothing is known of as full", () => {
    const limit = (name: string, everyMs: number): LimitOptions => ({ name, capacity: 4, refill: { tokens: 1, everyMs } });
    const [free, pro] = [definePolicy({ limits: [limit("a", 1_000)] }), definePolicy({ limits: [limit("a", 100), limit("b", 500)] })];
    const { last } = served({ limits: [limit("a", 1_000)] }, [4], []);
    const outlook = outlookOf(last, free, 0);
    expect(comesIn(outlook, free, 2, 0)).toBe(2_000);
    expect(comesIn(outlook, pro, 2, 0)).toBe(200);
    expect(comesIn(outlook, pro, 6, 0)).toBe(1_000);
  });
});
