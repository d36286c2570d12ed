// A policy is data: it crosses to another worker, process or Durable Object, and is a policy again there.
import fc from "fast-check";
import { combine, createLimiter, createWaiter, daily, definePolicy, MemoryStore, monthly, perSecond, run, TokenBucket, weekly, whenDone, type LimitOptions, type Policy, type PolicyOptions } from "sluice";
import { casStore } from "sluice/store";
import { adjustRecords, consumeRecords, peekRecords } from "../helpers/records.js";
import { createGate } from "sluice/http";
import { RedisStore } from "sluice/redis";
import { describe, expect, test } from "vitest";
import { samePolicy } from "../../src/core/policy.js";
import { anyStepsAndDebts, limits, policies, resolve, starts, type RateNumbers } from "../helpers/arbitraries.js";
import { memoryBucket } from "./subjects.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { fullBucket } from "../../src/core/bucket.js";

const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_.-]{0,20}$/);
/** Of one limit, written inline or in a list, under its own name or another, and of several. */
const written: fc.Arbitrary<PolicyOptions> = fc.oneof(
  limits,
  fc.tuple(name, limits).map(([own, limit]) => ({ ...limit, name: own })),
  fc.tuple(name, name, limits).map(([own, other, limit]) => ({ name: own, limits: [{ ...limit, name: other }] })),
  fc.tuple(name, limits).map(([unit, limit]) => ({ ...limit, unit })),
  limits.filter(({ refill: { tokens, everyMs } }) => tokens * everyMs <= Number.MAX_SAFE_INTEGER).map(({ refill }) => ({ refill })),
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
        for (const { call, now, cost } of resolve(start, list, policy.limits[0] as RateNumbers)) {
          one.clock.set(now);
          other.clock.set(now);
          if (call === "consume" || call === "peek") expect(other[call](cost)).toStrictEqual(one[call](cost));
          else if (call === "reset") [one, other].forEach((bucket) => bucket.reset());
          else [one, other].forEach((bucket) => bucket.credit(Math.max(1, cost)));
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
    expect(structuredClone(definePolicy({ ...limit, unit: "tokens" })).limits).toStrictEqual([{ name: "default", ...limit, unit: "tokens" }]);
    expect(Object.getPrototypeOf(definePolicy(limit))).toBe(Object.prototype);
  });

  test("says the capacity that a rate left out, so it stays when someone changes the refill of the copy", () => {
    const copy = structuredClone(definePolicy({ name: "api", refill: perSecond(100) }));
    expect(copy.limits).toStrictEqual([{ name: "api", capacity: 100, refill: perSecond(100) }]);
    const changed = definePolicy({ ...copy, limits: [{ ...copy.limits[0], refill: perSecond(50) }] } as PolicyOptions);
    expect(changed.limits[0].capacity).toBe(100);
  });

  const options = { name: "api", capacity: 5, refill: perSecond(1) };
  const key = () => "ann";
  const limiter = () => createLimiter({ policy: options });
  const gate = (given: object) => createGate({ key, ...given } as never, { method: () => "GET", header: () => undefined })({});
  const cas = () => {
    let kept: string | null = null;
    const read = async () => (kept === null ? null : { value: kept, version: kept });
    return casStore({ read, write: async (_, value) => ((kept = value), true) });
  };
  const redis = () => new RedisStore({ evalsha: async () => expect.unreachable("no call"), eval: async () => expect.unreachable("no call") });
  /** Where a copy is taken for the policy it was, because it is defined anew. */
  const DEFINES: Readonly<Record<string, (copy: Policy) => unknown>> = {
    createLimiter: (copy) => createLimiter({ policy: copy }).consume("ann"),
    TokenBucket: (copy) => new TokenBucket(copy as never).consume(),
    "rateLimit, policy": (copy) => gate({ policy: copy }),
  };
  /** Where only a policy of definePolicy is taken, because defining costs more than deciding. */
  const REFUSES: Readonly<Record<string, (copy: Policy) => unknown>> = {
    consume: (copy) => limiter().consume("ann", { policy: copy }),
    peek: (copy) => limiter().peek("ann", { policy: copy }),
    settle: (copy) => limiter().settle("ann", limiter().consume("ann"), { cost: 1, policy: copy }),
    refund: (copy) => limiter().refund("ann", limiter().consume("ann"), { policy: copy }),
    credit: (copy) => limiter().credit("ann", { cost: 1, policy: copy }),
    debit: (copy) => limiter().debit("ann", { cost: 1, policy: copy }),
    block: (copy) => limiter().block("ann", 1_000, { policy: copy }),
    reset: (copy) => limiter().reset("ann", { policy: copy }),
    run: (copy) => run(limiter(), "ann", () => 1, { policy: copy }),
    "consume of a combination": (copy) => combine({ user: limiter() }).consume({ user: "ann" }, { policy: { user: copy } }),
    "consume of a waiter": (copy) => createWaiter(limiter()).consume("ann", { policy: copy }),
    "rateLimit, policy()": (copy) => gate({ policy: () => copy }),
    "rateLimit, policy() over a combination": (copy) => gate({ limiter: combine({ user: limiter() }), key: () => ({ user: "ann" }), policy: () => ({ user: copy }) }),
    "consume of a memory store": (copy) => callsOf(new MemoryStore()).consume(copy, "ann", 1),
    "peek of a memory store": (copy) => callsOf(new MemoryStore()).peek(copy, "ann", 1),
    "adjust of a memory store": (copy) => callsOf(new MemoryStore()).adjust(copy, "ann", 1),
    "a call of several parts of a memory store": (copy) => callsOf(new MemoryStore()).together(["ann", "bob"].map((key) => ({ policy: copy, key, cost: 1 }))),
    "consume of a cas store": (copy) => callsOf(cas()).consume(copy, "ann", 1),
    "peek of a cas store": (copy) => callsOf(cas()).peek(copy, "ann", 1),
    "adjust of a cas store": (copy) => callsOf(cas()).adjust(copy, "ann", 1),
    "consume of a Redis store": (copy) => callsOf(redis()).consume(copy, "ann", 1),
    "peek of a Redis store": (copy) => callsOf(redis()).peek(copy, "ann", 1),
    "adjust of a Redis store": (copy) => callsOf(redis()).adjust(copy, "ann", 1),
    consumeRecords: (copy) => consumeRecords(new Map(), copy, 1, 0),
    "consumeRecords of a spent bucket": (copy) => consumeRecords(new Map([["api", { ...fullBucket(definePolicy(options).limits[0]), spent: 1 }]]), copy, 1, 0),
    adjustRecords: (copy) => adjustRecords(new Map(), copy, 1, 0),
    peekRecords: (copy) => peekRecords(new Map(), copy, 1, 0),
  };
  const WAYS = { structuredClone, JSON: (value: object) => JSON.parse(JSON.stringify(value)) as unknown };

  describe.each(Object.entries(WAYS))("by %s", (_, copyOf) => {
    const copied = copyOf(definePolicy(options)) as Policy;

    test.each(Object.entries(DEFINES))("is taken by %s", async (_name, use) => {
      expect(await use(copied)).toBeDefined();
    });

    test.each(Object.entries(REFUSES))("is refused by %s, with the cure", async (_name, use) => {
      await expect((async () => use(copied))()).rejects.toThrow(/^Expected `policy(\(\))?` to be made by definePolicy.*, got an object\. Pass a copy to definePolicy first\.$/);
    });
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

  test.each(Object.entries(WAYS))("of a quota or a limit in flight by %s says what to write, and that is taken", (_, copyOf) => {
    for (const [given, cure] of [[{ renews: daily({ at: "06:00" }) }, "daily"], [{ renews: weekly() }, "weekly"], [{ renews: monthly() }, "monthly"], [{ returns: whenDone() }, "whenDone"]] as const) {
      const policy = definePolicy({ name: "api", limits: [{ name: "a", capacity: 5, ...given } as LimitOptions, { name: "b", capacity: 5, refill: perSecond(1) }] });
      const copied = copyOf(policy) as Policy;
      const [field] = Object.keys(given) as ["renews" | "returns"];
      expect(() => definePolicy(copied)).toThrow(`Policy "api", limit "a": Expected \`${field}\` to be made by ${cure}(), got an object. For a copy write ${cure}(limit.${field})`);
      const make = { daily, weekly, monthly, whenDone }[cure] as unknown as (copy: unknown) => never;
      const mended = definePolicy({ ...copied, limits: copied.limits.map((each) => (each[field] ? { ...each, [field]: make(each[field]) } : each)) } as PolicyOptions);
      expect(samePolicy(mended, policy)).toBe(true);
    }
  });
});
