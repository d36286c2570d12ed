// The table of limits in flight in memory: a hard cap on records, idle ones first, and a bound for made-up keys (law L13).
import fc from "fast-check";
import { createLimiter, definePolicy, MemoryStore, whenDone, type Policy } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { HeldRecords } from "../../../src/limits/tables/held-records.js";
import { expectWarnings } from "../../setup/warnings.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const limitOf = (name: string) => ({ limit: { name, size: 4 } });
const LIMIT = limitOf("parallel");
const keyOf = (id: number) => ({ high: id, low: -id });
const recordOf = (at: number) => ({ spent: 1, at, unitsPerMs: 1, unitsPerToken: 1, dates: [at, 1] });

function open(maxKeys: number) {
  const table = new HeldRecords(maxKeys);
  const put = (id: number, at: number, now: number, limit = LIMIT): void => table.put(keyOf(id), limit, recordOf(at), now);
  const has = (id: number, limit = LIMIT): boolean => {
    const out = recordOf(0);
    table.get(keyOf(id), limit, out);
    return out.spent > 0;
  };
  return { table, put, has };
}

describe("the table of limits in flight", () => {
  test("finds a record by every bit of its fingerprint", () => {
    const { table } = open(1_000);
    const bits = Array.from({ length: 32 }, (_, i) => 1 << i);
    const keys = [{ high: 5, low: -7 }, ...bits.map((bit) => ({ high: 5 ^ bit, low: -7 })), ...bits.map((bit) => ({ high: 5, low: -7 ^ bit }))];
    for (const [i, key] of keys.entries()) table.put(key, LIMIT, recordOf(1_000 + i), 0);
    const found = keys.map((key) => {
      const out = recordOf(0);
      table.get(key, LIMIT, out);
      return out.at;
    });
    expect(found).toEqual(keys.map((_, i) => 1_000 + i));
  });

  test("L13 · a full table removes an idle record before a busy one, and counts busy ones alone", () => {
    const { table, put, has } = open(100);
    for (let id = 0; id < 100; id++) put(id, id === 40 ? 5 : 1_000, 0);
    put(100, 1_000, 10);
    expect([has(40), has(0), has(100), table.size, table.evictedBusy]).toEqual([false, true, true, 100, 0]);
    put(101, 1_000, 10);
    expect([has(0), table.size, table.evictedBusy]).toEqual([false, 100, 1]);
  });

  test("L13 · of busy records it removes the one whose tokens come back first", () => {
    const { table, put, has } = open(100);
    for (let id = 0; id < 100; id++) put(id, 1_000 - id, 0);
    put(100, 2_000, 0);
    expect([has(99), has(0), table.evictedBusy]).toEqual([false, true, 1]);
  });

  test("L13 · a write counts as new: a caller that is busy again stays", () => {
    const { put, has } = open(1_000);
    put(-1, 1_000, 0);
    for (let id = 0; id < 900; id++) put(id, 1_000, 0);
    put(-1, 1_000, 0);
    for (let id = 900; id < 1_700; id++) put(id, 1_000, 0);
    expect([has(-1), has(0)]).toEqual([true, false]);
  });

  test("L13 · only the 256 that were written longest ago are examined", () => {
    const { put, has } = open(1_000);
    for (let id = 0; id < 1_000; id++) put(id, id === 256 ? 100 : 1_000, 0);
    put(1_000, 1_000, 0);
    expect([has(256), has(0)]).toEqual([true, false]);
    put(1_001, 1_000, 0);
    expect(has(256)).toBe(false);
  });

  test("L13 · idle records go without a timer, also behind one that is busy for long", () => {
    const { table, put } = open(1_000_000);
    put(-1, 1e12, 0);
    for (let id = 0; id < 1_000; id++) put(id, 100, 0);
    for (let id = 1_000; id < 1_600; id++) put(id, 1_000, 500);
    expect(table.size).toBe(601);
  });

  test("L13 · every record counts, also several of one key, and a reset removes all of a key", () => {
    const { table, put, has } = open(10);
    const limits = ["a", "b", "c"].map(limitOf);
    for (let id = 0; id < 5; id++) for (const limit of limits) put(id, 1_000, 0, limit);
    expect([table.size, table.evictedBusy]).toEqual([10, 5]);
    table.delete(keyOf(4), limits[1] as typeof LIMIT);
    expect(limits.map((limit) => has(4, limit))).toEqual([true, false, true]);
    table.delete(keyOf(4), null);
    expect([limits.map((limit) => has(4, limit)), table.size]).toEqual([[false, false, false], 7]);
  });

  test("L13 · against a plain model, it holds what was written last, and never more than its cap", () => {
    const commands = fc.array(fc.record({ id: fc.nat(12), act: fc.constantFrom("put", "put", "put", "delete"), forMs: fc.nat(50), advance: fc.constantFrom(0, 0, 1, 20) }), { maxLength: 200, size: "max" });
    fc.assert(fc.property(commands, fc.integer({ min: 1, max: 8 }), (list, maxKeys) => {
      const { table, put, has } = open(maxKeys);
      const model = new Map<number, number>();
      let [now, busyLost] = [0, 0];
      for (const { id, act, forMs, advance } of list) {
        now += advance;
        if (act === "put") put(id, now + forMs, now);
        else table.delete(keyOf(id), null);
        model.delete(id);
        if (act === "put") model.set(id, now + forMs);
        for (const [known, at] of model) {
          if (has(known)) continue;
          expect(known).not.toBe(act === "put" ? id : -1);
          // A busy one is lost only for another in a full table, and none that stayed would have come back earlier.
          if (at >= now) {
            busyLost += 1;
            for (const [other, otherAt] of model) if (other !== id && has(other)) expect(otherAt).toBeGreaterThanOrEqual(at);
          }
          model.delete(known);
        }
        expect([table.size, table.size <= maxKeys]).toEqual([model.size, true]);
      }
      expect(table.evictedBusy).toBe(busyLost);
    }));
  });
});

describe("a store under a spray of made-up keys", () => {
  const policy: Policy = definePolicy({ name: "work", limits: [{ name: "parallel", capacity: 2, returns: whenDone() }] });

  test("L13 · frees no busy caller that calls or is renewed while fewer than `maxKeys` others come", () => {
    expectWarnings("SLUICE_NOT_SETTLED");
    const clock = new ManualClock(1_700_000_000_000);
    const store = new MemoryStore({ clock: clock.now, maxKeys: 1_000 });
    const limiter = createLimiter({ policy, store });
    const taken = [limiter.consume("busy"), limiter.consume("busy")];
    for (let i = 0; i < 20_000; i++) {
      // Every 5 s, as `run` and a gate renew.
      if (i % 700 === 699) {
        clock.advance(5_000);
        for (const { at } of taken) callsOf(store).renew(policy, "busy", 1, { from: Math.max(at, clock.now() - 5_000), to: clock.now() });
      }
      limiter.consume(`made-up-${i}`);
    }
    expect(limiter.consume("busy")).toMatchObject({ allowed: false, remaining: 0 });
    expect(store.stats().buckets).toBe(1_000);
    expect(store.stats().evictedBusy).toBeGreaterThan(0);
  });

  test("L13 · locks nobody out: a new caller always gets its place", () => {
    const clock = new ManualClock(1_700_000_000_000);
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now, maxKeys: 300 }) });
    for (let i = 0; i < 1_000; i++) expect(limiter.consume(`key-${i}`).allowed).toBe(true);
  });
});
