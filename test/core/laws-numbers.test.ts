import fc from "fast-check";
import { createLimiter, definePolicy, perMinute, perSecond, type Decision, type Policy, MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { changeUnits, fullBucket, spentAt, type Bucket } from "../../src/core/bucket.js";
import { consume } from "../../src/core/decide.js";
import { limits, refillMs, type RateNumbers } from "../helpers/arbitraries.js";

const policy = (limit: RateNumbers): Policy => definePolicy({ name: "tier", ...limit });

/** One caller of a limiter, who may ask under any numbers. */
interface Caller {
  readonly clock: ManualClock;
  as(tier: Policy, cost: number): Decision;
  left(tier: Policy): number;
}

function caller(first: Policy): Caller {
  const clock = new ManualClock();
  const limiter = createLimiter({ policy: first, store: new MemoryStore({ clock: clock.now }) });
  return {
    clock,
    as: (tier, cost) => limiter.consume("alice", { policy: tier, cost }),
    left: (tier) => limiter.peek("alice", { policy: tier, cost: 0 }).remaining,
  };
}

const share = fc.double({ min: 0, max: 1, noNaN: true });

/** A limit whose tokens are few enough units that several of them fit the largest number in any other limit's units. */
const modest: fc.Arbitrary<RateNumbers> = fc.record({
  capacity: fc.integer({ min: 1, max: 1_000_000 }),
  refill: fc.record({ tokens: fc.integer({ min: 1, max: 1_000_003 }), everyMs: fc.integer({ min: 1, max: 1_000_003 }) }),
});

describe("L14 · numbers can change", () => {
  test("L14 · numbers can change: without a capacity, another refill is another capacity too, and what was spent stays spent", () => {
    const [before, after] = [definePolicy({ name: "tier", refill: perMinute(100) }), definePolicy({ name: "tier", refill: perMinute(50) })];
    const { clock, as, left } = caller(before);
    expect(as(before, 80)).toMatchObject({ allowed: true, capacity: 100, remaining: 20 });
    // 80 are spent, and the bucket holds 50: 31 have to come back, at 50 a minute.
    expect(as(after, 1)).toMatchObject({ allowed: false, capacity: 50, remaining: 0, retryAfterMs: 37_200 });
    expect(left(before)).toBe(20);
    clock.advance(37_199);
    expect(as(after, 1).allowed).toBe(false);
    clock.advance(1);
    expect(as(after, 1)).toMatchObject({ allowed: true, remaining: 0 });
    expect(left(before)).toBe(50);
  });

  test("L14 · numbers can change: what was spent stays spent, rounded up by less than one unit", () => {
    fc.assert(
      fc.property(modest, modest, share, (before, after, spentShare) => {
        const [from, to] = [policy(before).limits[0], policy(after).limits[0]];
        const bucket = fullBucket(from);
        const spent = Math.floor(spentShare * from.size);
        changeUnits(bucket, from, 5, spent);
        const converted = spentAt(bucket, to, 5);
        const excess = BigInt(converted) * BigInt(from.unitsPerToken) - BigInt(spent) * BigInt(to.unitsPerToken);
        expect(excess).toBeGreaterThanOrEqual(0n);
        expect(excess).toBeLessThan(BigInt(from.unitsPerToken));
      }),
    );
  });

  test("L14 · numbers can change: two versions alternating lose at most one unit a switch and gain nothing", () => {
    fc.assert(
      fc.property(modest, modest, share, fc.integer({ min: 1, max: 60 }), (one, other, spentShare, switches) => {
        const pair = [policy(one), policy(other)] as const;
        const [a, b] = [pair[0].limits[0], pair[1].limits[0]];
        const bucket: Bucket = { ...fullBucket(a), spent: Math.floor(spentShare * a.size), at: 7 };
        const before = bucket.spent;
        for (let i = 1; i <= switches; i++) consume([bucket], pair[i % 2] as Policy, 0, 7);
        const after = spentAt(bucket, a, 7);
        expect(after).toBeGreaterThanOrEqual(before);
        // A switch rounds up by less than a unit of the version it goes to; counted in units of `a`, b's are q / q' each.
        const most = (switches + 1) * Math.max(1, a.unitsPerToken / b.unitsPerToken);
        expect(after - before).toBeLessThanOrEqual(most);
      }),
    );
  });

  test("L14 · numbers can change: whole tokens come through a hundred switches untouched", () => {
    fc.assert(
      fc.property(modest, modest, share, (one, other, spentShare) => {
        const [a, b] = [policy(one), policy(other)];
        const { as, left } = caller(a);
        as(a, Math.floor(spentShare * one.capacity));
        const before = left(a);
        for (let i = 0; i < 100; i++) as(i % 2 === 0 ? b : a, 0);
        expect(left(a)).toBe(before);
      }),
      { numRuns: 40 },
    );
  });

  test("L14 · numbers can change: raising the capacity raises what is left by just that much", () => {
    fc.assert(
      fc.property(limits, share, fc.integer({ min: 1, max: 50 }), share, (limit, spentShare, more, passed) => {
        fc.pre((limit.capacity + more) * limit.refill.everyMs <= Number.MAX_SAFE_INTEGER);
        const [small, large] = [policy(limit), policy({ ...limit, capacity: limit.capacity + more })];
        const { clock, as, left } = caller(small);
        as(small, Math.floor(spentShare * limit.capacity));
        clock.set(Math.floor(passed * refillMs(limit)));
        expect(left(large)).toBe(left(small) + more);
        expect(as(large, left(large) + 1).allowed).toBe(false);
        expect(as(large, left(large)).allowed).toBe(true);
      }),
    );
  });

  test("L14 · numbers can change: under a smaller capacity calls are refused until the surplus is refilled", () => {
    const [large, small] = [policy({ capacity: 10, refill: perSecond(1) }), policy({ capacity: 3, refill: perSecond(1) })];
    const { clock, as } = caller(large);
    as(large, 8);
    expect(as(small, 1)).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 6_000, nextTokenMs: 6_000, resetMs: 8_000 });
    expect(as(small, 0).allowed).toBe(true);
    clock.set(5_999);
    expect(as(small, 1)).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.set(6_000);
    expect(as(small, 1)).toMatchObject({ allowed: true, remaining: 0, resetMs: 3_000 });
  });

  test("L14 · numbers can change: the time up to the change refills at the old rate, the time after it at the new", () => {
    const [slow, fast] = [policy({ capacity: 10, refill: perSecond(1) }), policy({ capacity: 10, refill: perSecond(4) })];
    const { clock, as, left } = caller(slow);
    as(slow, 10);
    clock.set(2_000);
    expect(left(fast)).toBe(2);
    expect(as(fast, 2).allowed).toBe(true);
    clock.set(3_000);
    expect(left(fast)).toBe(4);
  });

  test("L3 · a refusal under new numbers writes the conversion and nothing else", () => {
    const [slow, fast] = [policy({ capacity: 10, refill: perSecond(1) }), policy({ capacity: 10, refill: perSecond(4) })];
    const { clock, as } = caller(slow);
    as(slow, 10);
    // Settled here at the slow rate; had the refusal not been written, the promise below would be made at a rate that never applied.
    expect(as(fast, 4)).toMatchObject({ allowed: false, retryAfterMs: 1_000 });
    clock.set(999);
    expect(as(fast, 4)).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.set(1_000);
    expect(as(fast, 4)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test("L14 · numbers can change: a refusal that can never succeed converts, too", () => {
    const [slow, fast] = [policy({ capacity: 10, refill: perSecond(1) }), policy({ capacity: 10, refill: perSecond(4) })];
    const { clock, as, left } = caller(slow);
    as(slow, 10);
    expect(as(fast, 11).reason).toBe("cost_above_capacity");
    clock.set(1_000);
    expect(left(fast)).toBe(4);
  });

  test("L2 · promise: kept by a refusal that is the first under new numbers", () => {
    fc.assert(
      fc.property(modest, modest, share, share, (before, after, spentShare, passed) => {
        const [old, now] = [policy(before), policy(after)];
        const { clock, as } = caller(old);
        as(old, Math.ceil(spentShare * before.capacity));
        clock.set(Math.floor(passed * refillMs(before)));
        const refusal = as(now, after.capacity);
        if (refusal.reason !== "limited") return;
        const at = clock.now();
        clock.set(at + refusal.retryAfterMs - 1);
        expect(as(now, after.capacity)).toMatchObject({ allowed: false, retryAfterMs: 1 });
        clock.set(at + refusal.retryAfterMs);
        expect(as(now, after.capacity).allowed).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test("L14 · numbers can change: past 2^53 - 1 units it saturates", () => {
    const coarse = policy({ capacity: Number.MAX_SAFE_INTEGER, refill: { tokens: 1, everyMs: 1 } });
    const fine = policy({ capacity: 1, refill: { tokens: 1, everyMs: 1_000 } });
    const { as } = caller(coarse);
    as(coarse, Number.MAX_SAFE_INTEGER);
    expect(as(fine, 1)).toMatchObject({ allowed: false, remaining: 0, resetMs: Number.MAX_SAFE_INTEGER });
    expect(as(fine, 0)).toMatchObject({ allowed: true, resetMs: Number.MAX_SAFE_INTEGER });
  });
});
