import fc from "fast-check";
import { createLimiter, definePolicy, MemoryStore, type Decision, type Policy, type PolicyOptions } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { addTokens, allFull, areThere, expectedAt, forecastAfter, predicted, wantsOf, type Forecast, type Tokens, type Want } from "../../../src/limiter/waiting/forecast.js";
import { partsOf } from "../../../src/limiter/parts.js";
import type { Charges } from "../../../src/limiter/charge.js";
import { limits, policies, type RateNumbers } from "../../helpers/arbitraries.js";

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
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
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

/** The charges of one caller. */
function chargesOf(policy: Policy, cost: number): Charges {
  return partsOf(createLimiter({ policy })).charges("alice", cost);
}

// Costs of several callers may pass what one call can cost.
const wanting = (policy: Policy, tokens: number): readonly Want[] => wantsOf(chargesOf(policy, 1)).map((want) => ({ ...want, tokens }));
const sums = (policy: Policy, cost: number): Tokens => addTokens(new Map(), wanting(policy, cost));

function forecastOf(options: PolicyOptions, last: Decision, at = 0, returned: Tokens = new Map()): Forecast {
  return forecastAfter([last], wanting(definePolicy(options), 0), returned, at);
}

/** Milliseconds from instant 0 until the tokens are expected. */
function waitFor(forecast: Forecast, policy: Policy, cost: number): number {
  return Math.max(0, expectedAt(forecast, wanting(policy, cost), sums(policy, cost)));
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
          const wait = waitFor(forecast, policy, tokens);
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
    expect([1, 3, 8, 9].map((tokens) => waitFor(forecast, policy, tokens))).toEqual(instants);
  });

  test("counts from the instant of the decision, with its fraction of a millisecond", () => {
    const forecast = forecastOf(limit, served(limit, [5], []).last, 1_000.25);
    expect(expectedAt(forecast, wanting(policy, 2), sums(policy, 2))).toBe(1_600.25);
    expect([1_599.25, 1_600.2, 1_600.25, 9_999].map((now) => areThere(forecast, wanting(policy, 2), sums(policy, 2), now))).toEqual([false, false, true, true]);
    // What is over the capacity never comes together.
    expect(areThere(forecast, wanting(policy, 6), sums(policy, 6), 9_999)).toBe(false);
  });

  test("takes a key of which nothing is known for full", () => {
    expect([5, 6, 7].map((tokens) => waitFor(allFull(0), policy, tokens))).toEqual([0, 300, 600]);
  });

  test("counts tokens that came back, up to full", () => {
    const { last } = served(limit, [5], []);
    expect([2, 3].map((tokens) => waitFor(forecastOf(limit, last, 0, sums(policy, 2)), policy, tokens))).toEqual([0, 300]);
    expect([5, 6].map((tokens) => waitFor(forecastOf(limit, last, 0, sums(policy, 9)), policy, tokens))).toEqual([0, 300]);
  });

  test("of a tier counts what was spent at the tier's rate, and takes an unknown limit for full", () => {
    const named = (name: string, everyMs: number): RateNumbers => ({ name, capacity: 4, refill: { tokens: 1, everyMs } });
    const [free, pro] = [definePolicy({ limits: [named("a", 1_000)] }), definePolicy({ limits: [named("a", 100), named("b", 500)] })];
    const { last } = served({ limits: [named("a", 1_000)] }, [4], []);
    const forecast = forecastAfter([last], wanting(free, 0), new Map(), 0);
    expect([[free, 2], [pro, 2], [pro, 6]].map(([tier, tokens]) => waitFor(forecast, tier as Policy, tokens as number))).toEqual([2_000, 200, 1_000]);
  });

  test("of a blocked key has no token before the block ends, at any cost", () => {
    const store = new MemoryStore({ clock: () => 0 });
    const limiter = createLimiter({ policy, store });
    limiter.block("alice", 60_000);
    const wants = wanting(limiter.policy, 1);
    const forecast = forecastAfter([limiter.peek("alice")], wants, new Map(), 0);
    expect(expectedAt(forecast, wants, sums(policy, 1))).toBe(60_000);
  });

  test("predicts the decision behind other callers", () => {
    const { last } = served(limit, [4], []);
    const [decision] = predicted(forecastOf(limit, last, 7.5), chargesOf(policy, 2), wanting(policy, 2), sums(policy, 3), 107.5);
    // One of five is left, three are wanted by others: four more must come, less a third of one that has come since.
    expect(decision).toMatchObject({ allowed: false, retryAfterMs: 1_100, remaining: 0, cost: 2, at: 100, degraded: false });
  });
});
