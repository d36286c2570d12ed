import fc from "fast-check";
import { daily, definePolicy, monotonicClock, perDay, perHour, perMinute, perSecond, TokenBucket, whenDone, type Policy, type PolicyOptions } from "sluice";
import { describe, expect, test } from "vitest";
import { samePolicy } from "../../src/core/policy.js";
import { limits } from "../helpers/arbitraries.js";

const refill = perSecond(5);

describe("limits", () => {
  test("a rate is what its name says", () => {
    expect([perSecond(5), perMinute(5), perHour(5), perDay(5)]).toEqual([
      { tokens: 5, everyMs: 1_000 },
      { tokens: 5, everyMs: 60_000 },
      { tokens: 5, everyMs: 3_600_000 },
      { tokens: 5, everyMs: 86_400_000 },
    ]);
  });

  test("a period as the second argument is refused, and the message has the rate that it means", () => {
    const rates = { perSecond, perMinute, perHour, perDay } as unknown as Record<string, (...given: unknown[]) => unknown>;
    const cures: Array<[name: string, given: unknown[], code: string]> = [
      ["perMinute", [5, 15], "{ tokens: 5, everyMs: 900_000 }"],
      ["perSecond", [100, 10], "{ tokens: 100, everyMs: 10_000 }"],
      ["perHour", [3, 6], "{ tokens: 3, everyMs: 21_600_000 }"],
      ["perDay", [1, 30], "{ tokens: 1, everyMs: 2_592_000_000 }"],
      ["perHour", [5, { every: 2 }], "{ tokens: 5, everyMs: 54_000_000 }"],
      ["perMinute", [5, undefined], "{ tokens: 5, everyMs: 900_000 }"],
      ["perMinute", [5, 0], "{ tokens: 5, everyMs: 900_000 }"],
    ];
    for (const [name, given, code] of cures) {
      const text = `Expected one number, got two. For another period write ${code}`;
      expect(() => rates[name]?.(...given)).toThrow(new TypeError(text));
    }
    for (const each of Object.values(rates)) expect([5, 10].map(each)).toEqual([each(5), each(10)]);
  });

  test("a rate is kept in lowest terms and never rounded", () => {
    fc.assert(
      fc.property(limits, (limit) => {
        const { unitsPerMs, unitsPerToken, size, fullMs } = definePolicy(limit).limits[0];
        const [p, q] = [BigInt(unitsPerMs), BigInt(unitsPerToken)];
        expect(p * BigInt(limit.refill.everyMs)).toBe(q * BigInt(limit.refill.tokens));
        for (let divisor = 2; divisor < 60; divisor++) expect(unitsPerMs % divisor === 0 && unitsPerToken % divisor === 0).toBe(false);
        expect(BigInt(size)).toBe(BigInt(limit.capacity) * q);
        expect(BigInt(fullMs) * p >= BigInt(size) && (BigInt(fullMs) - 1n) * p < BigInt(size)).toBe(true);
      }),
    );
  });
});

describe("a rate without a capacity", () => {
  test("holds the tokens of its refill: alone, in a list, beside other limits and in a bucket", () => {
    const bare = definePolicy({ name: "api", refill: perMinute(100) });
    expect(bare).toStrictEqual(definePolicy({ name: "api", capacity: 100, refill: perMinute(100) }));
    expect(bare.limits[0]).toMatchObject({ capacity: 100, size: 60_000, fullMs: 60_000 });
    expect(definePolicy({ name: "api", refill: perMinute(100), unit: "tokens" }).maxCost).toBe(100);
    const several = definePolicy({ limits: [{ refill: perSecond(7), cost: 7 }, { capacity: 30, refill }, { name: "day", capacity: 50, renews: daily() }] });
    expect(several.limits.map(({ capacity }) => capacity)).toEqual([7, 30, 50]);
    const bucket = new TokenBucket({ refill: perMinute(100), clock: () => 0 });
    expect([bucket.consume(100), bucket.consume()].map(({ allowed }) => allowed)).toEqual([true, false]);
  });

  test("has the numbers of one that says them, and is refused where that one is", () => {
    const tried = (make: () => unknown): unknown => {
      try {
        return make();
      } catch (error) {
        return String(error);
      }
    };
    fc.assert(
      fc.property(limits, ({ refill: of }) => {
        const told = tried(() => definePolicy({ capacity: of.tokens, refill: of }));
        expect(tried(() => definePolicy({ refill: of }))).toStrictEqual(told);
        expect(tried(() => definePolicy({ limits: [{ name: "default", refill: of }] }))).toStrictEqual(typeof told === "string" ? expect.stringContaining(told.replace(/^.*?: /, "")) : told);
      }),
    );
  });

  test("keeps its promise: 100 at once, and up to 200 in the first minute; 40 and 60 are at most 100 in any", () => {
    const granted = (numbers: ConstructorParameters<typeof TokenBucket>[0]): number => {
      let now = 0;
      const bucket = new TokenBucket({ ...numbers, clock: () => now });
      let sum = 0;
      for (; now < 60_000; now += 10) while (bucket.consume().allowed) sum += 1;
      return sum;
    };
    expect(granted({ refill: perMinute(100) })).toBe(199);
    expect(granted({ capacity: 40, refill: perMinute(60) })).toBe(99);
  });
});

describe("policies", () => {
  test("one limit takes the policy's name, several take their place unless they are named", () => {
    const names = (policy: PolicyOptions): string[] => definePolicy(policy).limits.map(({ name }) => name);
    expect(names({ capacity: 5, refill })).toEqual(["default"]);
    expect(names({ name: "api", capacity: 5, refill })).toEqual(["api"]);
    expect(names({ name: "api", limits: [{ capacity: 5, refill }, { name: "day", capacity: 9, refill }] })).toEqual(["1", "day"]);
  });

  test("a policy is checked once, frozen, and keeps nothing of what it was made from", () => {
    const mine = { capacity: 5, refill: { tokens: 5, everyMs: 1_000 } };
    const policy = definePolicy(mine);
    mine.capacity = 1_000;
    mine.refill.tokens = 1_000;
    expect(policy.limits[0]).toMatchObject({ capacity: 5, refill: { tokens: 5, everyMs: 1_000 } });
    for (const part of [policy, policy.limits, policy.limits[0], policy.limits[0].refill]) expect(Object.isFrozen(part)).toBe(true);
    expect(definePolicy(policy)).toBe(policy);
  });

  test("two policies are the same when they count alike, however their rates are written", () => {
    const one = definePolicy({ name: "api", capacity: 5, refill: perSecond(2) });
    expect(samePolicy(one, definePolicy({ name: "api", capacity: 5, refill: perMinute(120) }))).toBe(true);
    const others: PolicyOptions[] = [
      { name: "web", capacity: 5, refill: perSecond(2) },
      { name: "api", capacity: 6, refill: perSecond(2) },
      { name: "api", capacity: 5, refill: perSecond(3) },
      { name: "api", capacity: 5, refill: { tokens: 2, everyMs: 999 } },
      { name: "api", limits: [{ capacity: 5, refill: perSecond(2) }] },
      { name: "api", limits: [{ name: "api", capacity: 5, refill: perSecond(2) }, { capacity: 5, refill: perSecond(2) }] },
    ];
    for (const other of others) expect(samePolicy(one, definePolicy(other)), JSON.stringify(other)).toBe(false);
    expect(samePolicy(one, definePolicy({ name: "api", limits: [{ name: "api", capacity: 5, refill: perSecond(2) }] }))).toBe(true);
  });

  test("two limits in flight are the same when they count alike, and refused callers are told to ask again alike", () => {
    const policyOf = (options?: Parameters<typeof whenDone>[0]): Policy => definePolicy({ capacity: 5, returns: whenDone(options) });
    expect(samePolicy(policyOf(), policyOf({ maxWorkMs: 60_000 }))).toBe(true);
    for (const other of [{ staleAfterMs: 16_000 }, { retryAfterMs: 999 }]) expect(samePolicy(policyOf(), policyOf(other))).toBe(false);
  });
});

describe("the default clock", () => {
  test("is monotonic, and is asked for when it is read", () => {
    const first = monotonicClock();
    expect(Number.isFinite(first)).toBe(true);
    expect(monotonicClock()).toBeGreaterThanOrEqual(first);
  });
});
