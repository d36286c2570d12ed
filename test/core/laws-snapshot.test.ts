import fc from "fast-check";
import { createLimiter, perSecond, type Decision, MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { readings } from "../../src/core/decision.js";
import { anySteps, limits, policies, resolve, starts, type RateNumbers } from "../helpers/arbitraries.js";
import { memoryBucket } from "./subjects.js";
import type { ManyLimitsPolicy } from "../../src/core/policy.js";

const anyPolicy = fc.oneof(limits, policies);
const firstOf = (policy: RateNumbers | ManyLimitsPolicy): RateNumbers => ("limits" in policy ? (policy.limits[0] as RateNumbers) : policy);

describe("L7 · a decision is a snapshot", () => {
  test("L7 · snapshot: nothing that happens later changes a decision", () => {
    fc.assert(
      fc.property(anyPolicy, starts, anySteps, (policy, start, list) => {
        const subject = memoryBucket(policy);
        const given: Decision[] = [];
        const copies: Decision[] = [];
        for (const { call, now, cost } of resolve(start, list, firstOf(policy))) {
          subject.clock.set(now);
          if (call === "reset") subject.reset();
          const decision = call === "consume" ? subject.consume(cost) : subject.peek(cost);
          given.push(decision);
          copies.push(structuredClone(decision));
        }
        expect(given).toStrictEqual(copies);
        // No two share a part, either.
        const parts = given.flatMap((one) => (one.limits === null ? [one] : [one, one.limits, ...one.limits]));
        expect(new Set<unknown>(parts).size).toBe(parts.length);
      }),
      { numRuns: 80 },
    );
  });

  test("L7 · snapshot: a decision is plain data, and writing on it changes no bucket", () => {
    fc.assert(
      fc.property(anyPolicy, (policy) => {
        const [asked, spared] = [memoryBucket(policy), memoryBucket(policy)];
        const scribbled = asked.consume();
        spared.consume();
        for (const part of [scribbled, ...readings(scribbled)]) {
          expect(Object.getPrototypeOf(part)).toBe(Object.prototype);
          Object.assign(part, { remaining: 1e9, cost: -5, capacity: 1e9, limits: [], retryAfterMs: 0, resetMs: 0 });
        }
        expect(asked.consume(2)).toStrictEqual(spared.consume(2));
      }),
      { numRuns: 50 },
    );
  });

  test("L7 · snapshot: a decision has the same fields whatever it says", () => {
    const one = memoryBucket({ capacity: 5, refill: perSecond(1) });
    const all = [one.consume(5), one.consume(1), one.consume(6), one.peek(0)];
    expect(all.map(({ reason }) => reason)).toEqual([null, "limited", "cost_above_capacity", null]);
    for (const decision of all) {
      expect(Object.keys(decision).join(" ")).toBe(
        "allowed reason policy limit cost capacity remaining retryAfterMs nextTokenMs resetMs limits at degraded",
      );
    }
  });

  test("L7 · snapshot: a burst in one tick admits exactly the limit, each call with its own place in it", async () => {
    const limiter = createLimiter({ policy: { capacity: 50, refill: perSecond(5) }, store: new MemoryStore({ clock: new ManualClock(7).now }) });
    const burst = await Promise.all(Array.from({ length: 200 }, async () => {
      await Promise.resolve();
      return limiter.consume("alice");
    }));
    expect(burst.filter(({ allowed }) => allowed).map(({ remaining }) => remaining)).toEqual(Array.from({ length: 50 }, (_, i) => 49 - i));
    expect(burst.filter(({ reason }) => reason === "limited")).toHaveLength(150);
  });
});
