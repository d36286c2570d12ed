import fc from "fast-check";
import { definePolicy, type Limit } from "sluice";
import { describe, expect, test } from "vitest";
import type { Bucket } from "../../../src/core/bucket.js";
import { makeFingerprinter, type Fingerprint } from "../../../src/stores/memory/fingerprint.js";
import { MemoryTable } from "../../../src/stores/memory/table.js";

// The table against a plain Map, with fingerprints chosen to collide: few home slots, both ends of the number range.

const [limit] = definePolicy({ capacity: 50, refill: { tokens: 2, everyMs: 3 } }).limits;
const [other] = definePolicy({ capacity: 50, refill: { tokens: 5, everyMs: 7 } }).limits;

const fingerprints: fc.Arbitrary<Fingerprint> = fc
  .record({
    high: fc.constantFrom(0, 1, -1, 2 ** 31 - 1, -(2 ** 31)),
    low: fc.constantFrom(0, 1, 2, 3, 7, 8, 9, 15, 16, 31, 32, 64, -1, -8, -(2 ** 31)),
  })
  .filter(({ high, low }) => high !== 0 || low !== 0);

const commands = fc.array(
  fc.record({
    act: fc.oneof({ weight: 5, arbitrary: fc.constant("put" as const) }, { weight: 1, arbitrary: fc.constant("delete" as const) }),
    key: fingerprints,
    spent: fc.integer({ min: 1, max: 150 }),
    lead: fc.constantFrom(0, 0, 0, 4, -3),
    foreign: fc.boolean(),
    advance: fc.constantFrom(0, 0, 0, 1, 10, 100),
  }),
  { maxLength: 120, size: "max" },
);

const blank = (): Bucket => ({ spent: 0, at: 0, unitsPerMs: 0, unitsPerToken: 0 });
const fullAt = ({ at, spent, unitsPerMs }: Bucket): number => at + Math.ceil(spent / unitsPerMs);
const isSame = (a: Bucket, b: Bucket): boolean =>
  a.spent === b.spent && a.at === b.at && a.unitsPerMs === b.unitsPerMs && a.unitsPerToken === b.unitsPerToken;
const nameOf = ({ high, low }: Fingerprint): string => `${high} ${low}`;

function get(table: MemoryTable, key: Fingerprint): Bucket {
  const out = blank();
  table.get(key, out);
  return out;
}

/** Takes from `model` what the table let go, and checks that it was free to. Returns how many were busy. */
function settle(table: MemoryTable, model: Map<string, { key: Fingerprint; bucket: Bucket }>, now: number, kept?: string): number {
  let lost = 0;
  for (const [name, { key, bucket }] of model) {
    const found = get(table, key);
    if (found.spent !== 0) {
      if (!isSame(found, bucket)) expect(found).toStrictEqual(bucket);
      continue;
    }
    model.delete(name);
    if (fullAt(bucket) <= now) continue;
    lost += 1;
    // Nothing idle was there, and no busy one was nearer to being full.
    for (const [survivor, { bucket: left }] of model) {
      if (survivor !== kept && fullAt(left) < Math.max(now + 1, fullAt(bucket))) expect.unreachable(`${name} went before ${survivor}`);
    }
  }
  return lost;
}

describe("MemoryTable", () => {
  test("keeps what a Map keeps, but for idle buckets and, when it is full, the one soonest full", () => {
    fc.assert(
      fc.property(commands, fc.constantFrom(1, 2, 7, 30, 1_000), (list, maxKeys) => {
        const table = new MemoryTable(limit, maxKeys);
        const model = new Map<string, { key: Fingerprint; bucket: Bucket }>();
        let now = 1_000;
        for (const { act, key, spent, lead, foreign, advance } of list) {
          now += advance;
          const { unitsPerMs, unitsPerToken } = foreign ? other : limit;
          const evictedBefore = table.evictedBusy;
          const wasFull = table.size === maxKeys;
          if (act === "put") {
            const bucket = { spent, at: now + lead, unitsPerMs, unitsPerToken };
            model.set(nameOf(key), { key, bucket });
            table.put(key, { ...bucket }, now);
          } else {
            model.delete(nameOf(key));
            table.delete(key);
            expect(get(table, key).spent).toBe(0);
          }
          const lost = settle(table, model, now, nameOf(key));
          const { size, evictedBusy } = table;
          expect(size).toBe(model.size);
          expect(evictedBusy).toBe(evictedBefore + lost);
          expect(lost).toBeLessThanOrEqual(wasFull ? 1 : 0);
          expect(size).toBeLessThanOrEqual(maxKeys);
          if (act === "put") expect(model.has(nameOf(key))).toBe(true);
        }
      }),
      { numRuns: 120 },
    );
  });

  test("grows through many sizes without losing or mixing up a bucket", () => {
    const table = new MemoryTable(limit, 20_000);
    const fingerprint = makeFingerprinter(new Uint32Array([1, 2]));
    const key = { high: 0, low: 0 };
    const numbersOf = (i: number): Limit => (i % 3 === 0 ? other : limit);
    for (let i = 0; i < 20_000; i++) {
      fingerprint(`user-${i}`, key);
      table.put(key, { spent: i + 1, at: i % 60, unitsPerMs: numbersOf(i).unitsPerMs, unitsPerToken: numbersOf(i).unitsPerToken }, 0);
    }
    let wrong = 0;
    for (let i = 0; i < 20_000; i++) {
      fingerprint(`user-${i}`, key);
      const { spent, at, unitsPerMs } = get(table, key);
      if (spent !== i + 1 || at !== i % 60 || unitsPerMs !== numbersOf(i).unitsPerMs) wrong += 1;
    }
    expect({ wrong, size: table.size, evictedBusy: table.evictedBusy }).toEqual({ wrong: 0, size: 20_000, evictedBusy: 0 });
  });

  test("drops idle buckets instead of growing, and counts none of them as busy", () => {
    const table = new MemoryTable(limit, 1_000);
    for (let i = 1; i <= 100_000; i++) {
      // Each is full again after 30 ms, so 30 are busy at a time.
      table.put({ high: Math.imul(i, 0x9e3779b1), low: i }, { spent: 60, at: i, unitsPerMs: 2, unitsPerToken: 3 }, i);
    }
    expect(table.evictedBusy).toBe(0);
    expect(table.size).toBeLessThan(100);
  });

  test("finds room in another shard when a full table's own one is empty", () => {
    const table = new MemoryTable(limit, 5_001);
    const bucket = { spent: 1_000, at: 0, unitsPerMs: 2, unitsPerToken: 3 };
    for (let low = 1; low <= 5_001; low++) table.put({ high: 1, low }, bucket, 0);
    table.put({ high: -1, low: 1 }, bucket, 0);
    let kept = get(table, { high: -1, low: 1 }).spent === 1_000 ? 1 : 0;
    for (let low = 1; low <= 5_001; low++) if (get(table, { high: 1, low }).spent > 0) kept += 1;
    expect({ kept, size: table.size, evictedBusy: table.evictedBusy }).toEqual({ kept: 5_001, size: 5_001, evictedBusy: 1 });
  });
});
