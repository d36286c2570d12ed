// What a give-back to a rate returns that is late: less what has refilled since its instant, in units.
import fc from "fast-check";
import { createLimiter, definePolicy, MemoryStore, type Policy } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { adjust, consume } from "../../src/core/decide.js";
import { fullBucket, spentAt } from "../../src/core/bucket.js";
import { callsOf, type StoreCalls } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";

const rate = (tokens: number, everyMs: number): Policy => definePolicy({ capacity: 1_000, refill: { tokens, everyMs } });
const AT = 1_800_000_000_000;

/** Units spent after all of `taken` at once, `debt` more, and `given` back after `waitMs` with an instant `lateMs` before. */
function spentAfter(policy: Policy, taken: number, debt: number, waitMs: number, given: number, lateMs: number): number {
  const buckets = policy.limits.map(fullBucket);
  consume(buckets, policy, taken, AT);
  adjust(buckets, policy, debt, AT);
  const now = AT + waitMs;
  adjust(buckets, policy, -given, now, { at: AT, heldAt: AT, since: now - lateMs });
  return spentAt(buckets[0] as (typeof buckets)[number], policy.limits[0], now);
}

describe("L1 · a late give-back", () => {
  // One token each ms: a unit is a token. One each 7 ms: a token is 7 units. 3 in 2 ms: a token is 2 units, a ms gives 3.
  test.each([
    ["at once", rate(1, 1), 400, 0, 0, 400, 0, 0],
    ["in time, of a bucket that others spend from", rate(1, 1), 400, 500, 100, 400, 0, 400],
    ["100 ms late", rate(1, 1), 400, 500, 100, 400, 100, 500],
    ["later than its tokens need to refill", rate(1, 1), 400, 500, 500, 400, 450, 400],
    ["exactly as late as that", rate(1, 1), 400, 500, 500, 400, 400, 400],
    ["a millisecond less late", rate(1, 1), 400, 500, 500, 400, 399, 399],
    ["before its instant, by a clock that stepped back", rate(1, 1), 400, 500, 100, 400, -50, 400],
    ["a part of a token", rate(1, 7), 10, 90, 3, 10, 3, 700 - 3 - 67],
    ["several tokens for each ms", rate(3, 2), 100, 500, 20, 100, 10, 1_200 - 60 - 170],
    ["never below full", rate(1, 1), 10, 0, 5, 400, 3, 0],
  ] as const)("%s", (_, policy, taken, debt, waitMs, given, lateMs, expected) => {
    expect(spentAfter(policy, taken, debt, waitMs, given, lateMs)).toBe(expected);
  });

  test("is the arithmetic of whole numbers without a bound", () => {
    const amount = fc.integer({ min: 1, max: 1_000 });
    fc.assert(fc.property(amount, fc.integer({ min: 1, max: 1e12 }), amount, amount, fc.integer({ min: 0, max: 2 ** 45 }), amount, fc.integer({ min: -(2 ** 44), max: 2 ** 45 }), (tokens, everyMs, taken, debt, waitMs, given, lateMs) => {
      const policy = rate(tokens, everyMs);
      const [p, q] = [BigInt(policy.limits[0].unitsPerMs), BigInt(policy.limits[0].unitsPerToken)];
      const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
      const before = max(0n, BigInt(taken + debt) * q - p * BigInt(waitMs));
      const back = max(0n, BigInt(given) * q - p * max(0n, BigInt(lateMs)));
      expect(BigInt(spentAfter(policy, taken, debt, waitMs, given, lateMs))).toBe(max(0n, before - back));
    }));
  });

  test("a settlement names the last instant at which all of it can be given back", () => {
    const clock = new ManualClock(AT);
    const store = new MemoryStore({ clock: clock.now });
    const seen: unknown[] = [];
    const watched = storeOf({ sync: true, clock: store.clock, consume: callsOf(store).consume, adjust: (...change: Parameters<StoreCalls<true>["adjust"]>) => (seen.push(change[3]), callsOf(store).adjust(...change)) } as const);
    const limiter = createLimiter({ policy: { capacity: 1_000, refill: { tokens: 1, everyMs: 1 } }, store: watched });
    const [first, second] = [limiter.consume("ann", 300), limiter.consume("ann", 200)];
    clock.advance(100);
    limiter.settle("ann", second, 0);
    limiter.settle("ann", first, 0);
    // 500 are spent after the second, and 200 of them are there for 300 ms. Of the first 300, 200 are there after 100 ms.
    expect(seen).toEqual([{ at: AT, heldAt: AT, since: AT + 300 }, { at: AT, heldAt: AT, since: AT + 100 }]);
  });
});
