// A policy is data: it crosses to another worker, process or Durable Object, and is a policy again there.
import fc from "fast-check";
import { createLimiter, definePolicy, perSecond, type PolicyOptions } from "sluice";
import { describe, expect, test } from "vitest";
import { samePolicy } from "../../src/core/policy.js";
import { anyStepsAndDebts, limits, policies, resolve, starts } from "../helpers/arbitraries.js";
import { memoryBucket } from "./subjects.js";

const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_.-]{0,20}$/);
/** Of one limit, written inline or in a list, under its own name or another, and of several. */
const written: fc.Arbitrary<PolicyOptions> = fc.oneof(
  limits,
  fc.tuple(name, limits).map(([own, limit]) => ({ ...limit, name: own })),
  fc.tuple(name, name, limits).map(([own, other, limit]) => ({ name: own, limits: [{ ...limit, name: other }] })),
  policies,
);
const ways: fc.Arbitrary<(value: object) => unknown> = fc.constantFrom(structuredClone, (value) => JSON.parse(JSON.stringify(value)) as unknown);

describe("a copy of a policy", () => {
  test("is defined as the same policy, and decides the same", () => {
    fc.assert(
      fc.property(written, ways, starts, anyStepsAndDebts, (options, copyOf, start, list) => {
        const policy = definePolicy(options);
        const again = definePolicy(copyOf(policy) as PolicyOptions);
        expect(again).toStrictEqual(policy);
        expect(samePolicy(again, policy)).toBe(true);
        expect(again.maxCost).toBe(policy.maxCost);
        const [one, other] = [memoryBucket(policy), memoryBucket(copyOf(policy) as PolicyOptions)];
        for (const { call, now, cost } of resolve(start, list, policy.limits[0])) {
          one.clock.set(now);
          other.clock.set(now);
          if (call === "consume" || call === "peek") expect(other[call](cost)).toStrictEqual(one[call](cost));
          else if (call === "reset") [one, other].forEach((bucket) => bucket.reset());
          else [one, other].forEach((bucket) => bucket.refund(Math.max(1, cost)));
        }
      }),
      { numRuns: 200 },
    );
  });

  test("holds what the user wrote, and nothing computed", () => {
    const limit = { capacity: 30, refill: { tokens: 10, everyMs: 2_000 } };
    expect(structuredClone(definePolicy(limit))).toStrictEqual({ name: "default", limits: [{ name: "default", ...limit }] });
    expect(structuredClone(definePolicy({ name: "api", limits: [limit, { name: "day", ...limit }] })))
      .toStrictEqual({ name: "api", limits: [{ name: "1", ...limit }, { name: "day", ...limit }] });
    expect(Object.getPrototypeOf(definePolicy(limit))).toBe(Object.prototype);
  });

  test("is no policy before it is defined", () => {
    const limiter = createLimiter({ policy: { capacity: 5, refill: perSecond(1) } });
    expect(() => limiter.consume("ann", { policy: structuredClone(limiter.policy) })).toThrow("Expected `policy` to be made by definePolicy, got an object");
  });

  const copy = structuredClone(definePolicy({ name: "api", capacity: 5, refill: perSecond(1) }));
  const [limit] = copy.limits;
  test.each<[what: string, copy: unknown, message: string]>([
    ["a computed number of a policy", { ...copy, maxCost: 5 }, "Unknown option `maxCost`"],
    ["a computed number of a limit", { ...copy, limits: [{ ...limit, unitsPerMs: 1 }] }, "Unknown option `unitsPerMs`"],
    ["no limit", { ...copy, limits: [] }, "Expected `policy.limits` to be a list of at least one limit"],
    ["two limits of one name", { ...copy, limits: [limit, limit] }, "to have different names, got api, api"],
    ["a capacity that is no number", { ...copy, limits: [{ ...limit, capacity: "5" }] }, "Expected `capacity` to be a positive integer, got \"5\""],
    ["a rate of nothing", { ...copy, limits: [{ ...limit, refill: { tokens: 0, everyMs: 1 } }] }, "Expected `refill.tokens` to be a positive integer, got 0"],
    ["a name that is none", { ...copy, name: "a b" }, "Expected `policy.name` to be 1 to 64 letters"],
  ])("with %s is refused", (_, nonsense, message) => {
    expect(() => definePolicy(nonsense as PolicyOptions)).toThrow(message);
  });
});
