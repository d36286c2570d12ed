import fc from "fast-check";
import { definePolicy, TokenBucket, type Decision, type Reading } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { readings } from "../../src/core/decision.js";
import { onwardSteps, policies, resolve, starts, type RatesPolicy, type RateNumbers } from "../helpers/arbitraries.js";
import { memoryBucket } from "./subjects.js";

const histories = fc
  .tuple(policies, starts, onwardSteps, fc.nat(2))
  .map(([policy, start, list, aim]) => ({ policy, history: resolve(start, list, policy.limits[aim] ?? (policy.limits[0] as RateNumbers)) }));

/** One bucket for each limit, asked one after another: what a policy must equal. */
function apart(policy: RatesPolicy): { clock: ManualClock; consume: (cost: number) => Decision[] } {
  const clock = new ManualClock();
  const buckets = policy.limits.map((limit) => new TokenBucket({ ...limit, clock: clock.now }));
  return {
    clock,
    consume(cost) {
      const asked = buckets.map((bucket) => bucket.peek(cost));
      return asked.every(({ allowed }) => allowed) ? buckets.map((bucket) => bucket.consume(cost)) : asked;
    },
  };
}

/** What a limit says, apart from its name. */
function numbers({ cost, capacity, remaining, retryAfterMs, nextTokenMs, resetMs }: Reading): Omit<Reading, "limit"> {
  return { cost, capacity, remaining, retryAfterMs, nextTokenMs, resetMs };
}

describe("L10 · together or not at all", () => {
  test("L10 · together: a policy answers as its limits would if all were asked before any was charged", () => {
    fc.assert(
      fc.property(histories, ({ policy, history }) => {
        const together = memoryBucket(policy);
        const separate = apart(policy);
        for (const { now, cost } of history) {
          together.clock.set(now);
          separate.clock.set(now);
          const decision = together.consume(cost);
          const each = separate.consume(cost);
          expect(decision.allowed).toBe(each.every(({ allowed }) => allowed));
          expect(decision.limits?.map(numbers)).toStrictEqual(each.map(numbers));
        }
      }),
      { numRuns: 120 },
    );
  });

  test("L10 · together: allowed takes the cost from every limit, refused takes it from none", () => {
    fc.assert(
      fc.property(histories, ({ policy, history }) => {
        const subject = memoryBucket(policy);
        for (const { now, cost } of history) {
          subject.clock.set(now);
          const before = readings(subject.peek(0)).map(({ remaining }) => remaining);
          const { allowed } = subject.consume(cost);
          const after = readings(subject.peek(0)).map(({ remaining }) => remaining);
          expect(after).toStrictEqual(before.map((remaining) => remaining - (allowed ? cost : 0)));
        }
      }),
      { numRuns: 120 },
    );
  });

  test("L10 · together: the limit that binds has the longest refusing wait or else the fewest tokens left", () => {
    fc.assert(
      fc.property(histories, ({ policy, history }) => {
        const subject = memoryBucket(policy);
        for (const { now, cost } of history) {
          subject.clock.set(now);
          const decision = subject.consume(cost);
          const all = readings(decision);
          expect(all.map(({ limit }) => limit)).toStrictEqual(policy.limits.map((_, i) => `${i + 1}`));
          expect(all).toContainEqual({ limit: decision.limit, ...numbers(decision) });
          expect(decision.retryAfterMs).toBe(Math.max(...all.map(({ retryAfterMs }) => retryAfterMs)));
          if (decision.allowed) expect(decision.remaining).toBe(Math.min(...all.map(({ remaining }) => remaining)));
        }
      }),
      { numRuns: 100 },
    );
  });

  test("L10 · together: where limits agree, the slower next token binds, and after that the one written first", () => {
    const limit = (name: string, everyMs: number) => ({ name, capacity: 5, refill: { tokens: 1, everyMs } });
    expect(memoryBucket({ limits: [limit("quick", 10), limit("slow", 1_000)] }).consume()).toMatchObject({ limit: "slow" });
    expect(memoryBucket({ limits: [limit("first", 10), limit("second", 10)] }).consume()).toMatchObject({ limit: "first" });
  });

  test("L10 · together: a cost that one limit can never hold is refused for good and takes nothing from the others", () => {
    const subject = memoryBucket({
      limits: [
        { name: "burst", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } },
        { name: "day", capacity: 100, refill: { tokens: 1, everyMs: 1_000 } },
      ],
    });
    expect(subject.consume(3)).toMatchObject({ reason: "cost_above_capacity", limit: "burst", retryAfterMs: Infinity });
    expect(readings(subject.peek()).map(({ remaining }) => remaining)).toStrictEqual([2, 100]);
  });

  test("L10 · together: the largest cost that can succeed is the smallest capacity", () => {
    fc.assert(
      fc.property(policies, (policy) => {
        const { maxCost } = definePolicy(policy);
        expect(memoryBucket(policy).consume(maxCost).allowed).toBe(true);
        if (maxCost < Number.MAX_SAFE_INTEGER) {
          expect(memoryBucket(policy).consume(maxCost + 1).reason).toBe("cost_above_capacity");
        }
      }),
    );
  });
});
