// The packed rows of windows beside a Map of lists: what is written is read, whatever comes, goes and is removed between.
import { describe, expect, test } from "vitest";
import { afterMs, createLimiter, definePolicy, MemoryStore, whenDone, type Limit } from "../../../src/index.js";
import type { Bucket } from "../../../src/core/model.js";
import { setAmounts } from "../../../src/limits/window-amounts.js";
import { WindowTable } from "../../../src/limits/tables/window-table.js";
import { MemoryTable } from "../../../src/stores/memory/table.js";
import { ManualClock } from "../../../src/testing/index.js";
import { Random } from "../../../src/testing/store-suite/random.js";

const [limit] = definePolicy({ capacity: 1_000, returns: afterMs(60_000) }).limits;
const storedOf = (of: Limit) => ({ limit: of, id: -1, buckets: 0, slot: 0 });
const bucketOf = (list: number[]): Bucket => {
  const bucket: Bucket = { spent: 0, at: 0, unitsPerMs: limit.unitsPerMs, unitsPerToken: 1 };
  setAmounts(bucket, limit, list);
  return bucket;
};
const keyOf = (number: number) => ({ high: Math.imul(number + 1, 0x9e3779b1) | 0, low: Math.imul(number + 1, 0x85ebca6b) | 0 });

/** 1 to 18 amounts, the last of which ends at most a window after `now`. */
function amountsAt(random: Random, now: number): number[] {
  const list: number[] = [];
  let date = now;
  for (let left = random.between(1, 18); left > 0 && date < now + 59_999; left--) {
    const first = random.between(date, Math.min(date + 3_000, now + 59_998));
    date = random.between(first, Math.min(first + 3_000, now + 59_999));
    if (list.at(-3) !== date) list.push(date, random.pick([1, 7, Number.MAX_SAFE_INTEGER]), first);
    date += 1;
  }
  return list;
}

describe("the table of windows", () => {
  test.each([1, 2, 3])("L4, L13 · reads what was written, and forgets nothing before its last date (seed %i)", (seed) => {
    const random = new Random(seed);
    const table = new WindowTable(100_000, { lostMs: 0 }, MemoryTable);
    const stored = [storedOf(limit), storedOf(limit)] as const;
    const kept = new Map<number, number[]>();
    const out = bucketOf([]);
    let now = 1_790_000_000_000;
    for (let step = 0; step < 40_000; step++) {
      if (step % 50 === 0) now += random.pick([0, 1, 500, 30_000, 70_000]);
      const number = random.between(0, random.pick([20, 3_000]));
      const expected = (kept.get(number)?.at(-3) ?? 0) >= now ? kept.get(number) : undefined;
      table.get(keyOf(number), random.pick(stored), out);
      // What is over may be gone, or not yet.
      if (expected !== undefined || out.spent === 0) expect(out.dates).toEqual(expected ?? []);
      const what = random.next();
      if (what < 0.1) {
        table.delete(keyOf(number), random.pick([stored[0], null]));
        kept.delete(number);
      } else {
        const list = amountsAt(random, now);
        table.put(keyOf(number), random.pick(stored), bucketOf(list), now);
        kept.set(number, list.slice());
      }
    }
    expect(table.evictedBusy).toBe(0);
    for (const [number, list] of kept) {
      if ((list.at(-3) as number) < now) continue;
      table.get(keyOf(number), stored[0], out);
      expect(out.dates).toEqual(list);
    }
  });

  test("L13 · keeps at most `maxKeys` records, and removes the one that is over soonest", () => {
    const table = new WindowTable(100, { lostMs: 0 }, MemoryTable);
    const stored = storedOf(limit);
    for (let i = 0; i < 5_000; i++) table.put(keyOf(i), stored, bucketOf([50_000 - i, 1, 50_000 - i]), 0);
    expect([table.size, table.evictedBusy]).toEqual([100, 4_900]);
    const out = bucketOf([]);
    table.get(keyOf(0), stored, out);
    expect(out.dates).toEqual([50_000, 1, 50_000]);
  });

  test("L13 · a spray of keys under a window leaves the records of work in flight, and those of rates", () => {
    const clock = new ManualClock(0);
    const store = new MemoryStore({ clock: clock.now, maxKeys: 1_000 });
    const jobs = createLimiter({ policy: { name: "jobs", capacity: 2, returns: whenDone() }, store });
    const rate = createLimiter({ policy: { name: "rate", capacity: 2, refill: { tokens: 1, everyMs: 60_000 } }, store });
    const api = createLimiter({ policy: { name: "api", capacity: 100, returns: afterMs(60_000) }, store });
    jobs.consume("ann", 2);
    rate.consume("ann", 2);
    for (let i = 0; i < 5_000; i++) api.consume(`spray:${i}`);
    expect([jobs.peek("ann").remaining, rate.peek("ann").remaining]).toEqual([0, 0]);
    expect(store.stats()).toEqual({ buckets: 1_002, evictedBusy: 4_000 });
    api.reset("spray:4999");
    expect(api.peek("spray:4999").remaining).toBe(100);
    expect(store.stats().buckets).toBe(1_001);
  });
});
