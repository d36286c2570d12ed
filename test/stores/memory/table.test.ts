import fc from "fast-check";
import { definePolicy } from "sluice";
import { describe, expect, test } from "vitest";
import type { Bucket } from "../../../src/core/bucket.js";
import type { Fingerprint, StoredLimit } from "../../../src/port/tables.js";
import { makeFingerprinter } from "../../../src/stores/memory/fingerprint.js";
import { MemoryTable } from "../../../src/stores/memory/table.js";

// The table against a plain Map, with fingerprints chosen to collide: few home slots, both ends of the number range.

/** A limit of this name, without buckets. */
function storedLimit(name: string, tokens: number, everyMs: number): StoredLimit {
  return { limit: definePolicy({ name, capacity: 50, refill: { tokens, everyMs } }).limits[0], id: -1, buckets: 0, slot: 0 };
}

/** Three limits: two of one name in different numbers, and one of another name. */
const limitsOf = (): StoredLimit[] => [storedLimit("a", 2, 3), storedLimit("a", 5, 7), storedLimit("b", 2, 3)];

const fingerprints: fc.Arbitrary<Fingerprint> = fc
  .record({
    high: fc.constantFrom(0, 1, -1, 2 ** 31 - 1, -(2 ** 31)),
    low: fc.constantFrom(0, 1, 2, 3, 7, 8, 9, 15, 16, 31, 32, 64, -1, -8, -(2 ** 31)),
  })
  .filter(({ high, low }) => high !== 0 || low !== 0);

const commands = fc.array(
  fc.record({
    act: fc.oneof({ weight: 5, arbitrary: fc.constant("put" as const) }, { weight: 1, arbitrary: fc.constantFrom("delete" as const, "deleteAll" as const) }),
    key: fingerprints,
    spent: fc.integer({ min: 1, max: 150 }),
    lead: fc.constantFrom(0, 0, 0, 4, -3),
    which: fc.constantFrom(0, 0, 1, 2),
    advance: fc.constantFrom(0, 0, 0, 1, 10, 100),
  }),
  { maxLength: 120, size: "max" },
);

const blank = (): Bucket => ({ spent: 0, at: 0, unitsPerMs: 0, unitsPerToken: 0 });
const fullAt = ({ at, spent, unitsPerMs }: Bucket): number => at + Math.ceil(spent / unitsPerMs);
const isSame = (a: Bucket, b: Bucket): boolean =>
  a.spent === b.spent && a.at === b.at && a.unitsPerMs === b.unitsPerMs && a.unitsPerToken === b.unitsPerToken;
const nameOf = ({ high, low }: Fingerprint, { limit }: StoredLimit): string => `${high} ${low} ${limit.name}`;

function get(table: MemoryTable, key: Fingerprint, stored: StoredLimit): Bucket {
  const out = blank();
  table.get(key, stored, out);
  return out;
}

/** A bucket that was put into a table. */
interface Kept {
  readonly key: Fingerprint;
  readonly stored: StoredLimit;
  readonly bucket: Bucket;
}

/** Takes from `model` what the table let go, and checks that it was free to. Returns how many were busy. */
function settle(table: MemoryTable, model: Map<string, Kept>, now: number, kept?: string): number {
  let lost = 0;
  for (const [name, { key, stored, bucket }] of model) {
    const found = get(table, key, stored);
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
        const table = new MemoryTable(maxKeys);
        const limits = limitsOf();
        const model = new Map<string, Kept>();
        let now = 1_000;
        for (const { act, key, spent, lead, which, advance } of list) {
          now += advance;
          const stored = limits[which] as StoredLimit;
          const { unitsPerMs, unitsPerToken } = stored.limit;
          const evictedBefore = table.evictedBusy;
          const wasFull = table.size === maxKeys;
          if (act === "put") {
            const bucket = { spent, at: now + lead, unitsPerMs, unitsPerToken };
            model.set(nameOf(key, stored), { key, stored, bucket });
            table.put(key, stored, { ...bucket }, now);
          } else if (act === "delete") {
            model.delete(nameOf(key, stored));
            table.delete(key, stored);
            expect(get(table, key, stored).spent).toBe(0);
          } else {
            for (const each of limits) model.delete(nameOf(key, each));
            table.delete(key, null);
            for (const each of limits) expect(get(table, key, each).spent).toBe(0);
          }
          const lost = settle(table, model, now, nameOf(key, stored));
          const { size, evictedBusy } = table;
          expect(size).toBe(model.size);
          expect(evictedBusy).toBe(evictedBefore + lost);
          expect(lost).toBeLessThanOrEqual(wasFull ? 1 : 0);
          expect(size).toBeLessThanOrEqual(maxKeys);
          expect(limits.reduce((sum, { buckets }) => sum + buckets, 0)).toBe(size);
          if (act === "put") expect(model.has(nameOf(key, stored))).toBe(true);
        }
      }),
      { numRuns: 120 },
    );
  });

  test("grows through many sizes without losing or mixing up a bucket", () => {
    const table = new MemoryTable(20_000);
    const fingerprint = makeFingerprinter(new Uint32Array([1, 2]));
    const key = { high: 0, low: 0 };
    const limits = limitsOf();
    const storedOf = (i: number): StoredLimit => limits[i % 3] as StoredLimit;
    for (let i = 0; i < 20_000; i++) {
      fingerprint(`user-${i}`, key);
      table.put(key, storedOf(i), { spent: i + 1, at: i % 60, ...storedOf(i).limit }, 0);
    }
    let wrong = 0;
    for (let i = 0; i < 20_000; i++) {
      fingerprint(`user-${i}`, key);
      const { spent, at, unitsPerMs } = get(table, key, storedOf(i));
      if (spent !== i + 1 || at !== i % 60 || unitsPerMs !== storedOf(i).limit.unitsPerMs) wrong += 1;
    }
    expect({ wrong, size: table.size, evictedBusy: table.evictedBusy }).toEqual({ wrong: 0, size: 20_000, evictedBusy: 0 });
  });

  test("drops idle buckets instead of growing, and counts none of them as busy", () => {
    const table = new MemoryTable(1_000);
    const stored = storedLimit("a", 2, 3);
    for (let i = 1; i <= 100_000; i++) {
      // Each is full again after 30 ms, so 30 are busy at a time.
      table.put({ high: Math.imul(i, 0x9e3779b1), low: i }, stored, { spent: 60, at: i, unitsPerMs: 2, unitsPerToken: 3 }, i);
    }
    expect(table.evictedBusy).toBe(0);
    expect(table.size).toBeLessThan(100);
  });

  test("forgets idle buckets and their limits, whichever bucket is written, and keeps the busy ones", () => {
    const table = new MemoryTable(100_000);
    const fingerprint = makeFingerprinter(new Uint32Array([1, 2]));
    const key = { high: 0, low: 0 };
    const limits = Array.from({ length: 20_000 }, (_, i) => storedLimit(`limit-${i}`, 2, 3));
    limits.forEach((stored, i) => {
      fingerprint(`user-${i}`, key);
      table.put(key, stored, { spent: i % 10 === 0 ? 20_000 : 100, at: 0, unitsPerMs: 2, unitsPerToken: 3 }, 0);
    });
    expect(table.size).toBe(20_000);
    // All but a tenth are full. One bucket is written again and again.
    for (let i = 0; i < 400_000; i++) table.put(key, limits[19_999] as StoredLimit, { spent: 100, at: 60, unitsPerMs: 2, unitsPerToken: 3 }, 60);
    const busy = limits.filter((stored, i) => i % 10 === 0 && stored.buckets === 1);
    const idle = limits.filter((stored, i) => i % 10 !== 0 && stored.buckets > 0);
    expect(busy.length).toBe(2_000);
    expect(idle.length).toBeLessThan(1_000);
    expect(table.size).toBe(busy.length + idle.length);
  });

  test("finds room in another shard when a full table's own one is empty", () => {
    const table = new MemoryTable(5_851);
    const stored = storedLimit("a", 2, 3);
    const bucket = { spent: 1_000, at: 0, unitsPerMs: 2, unitsPerToken: 3 };
    for (let low = 1; low <= 5_851; low++) table.put({ high: 1, low }, stored, bucket, 0);
    table.put({ high: -1, low: 1 }, stored, bucket, 0);
    let kept = get(table, { high: -1, low: 1 }, stored).spent === 1_000 ? 1 : 0;
    for (let low = 1; low <= 5_851; low++) if (get(table, { high: 1, low }, stored).spent > 0) kept += 1;
    expect({ kept, size: table.size, evictedBusy: table.evictedBusy }).toEqual({ kept: 5_851, size: 5_851, evictedBusy: 1 });
  });
});
