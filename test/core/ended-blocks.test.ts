// What ends a block and leaves the limits alone, and which decisions say that a block refused them.
import fc from "fast-check";
import { definePolicy, MemoryStore, perHour, perSecond } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { BLOCK, type Records } from "../../src/core/records.js";
import { adjustRecords, blockRecords, consumeRecords, peekRecords } from "../helpers/records.js";
import { Model } from "../helpers/model.js";
import { callsOf } from "../../src/testing/store-calls.js";

const HOUR = 3_600_000;
const policy = definePolicy({ name: "api", capacity: 10, refill: perSecond(2) });
const two = definePolicy({ name: "two", limits: [{ name: "a", capacity: 3, refill: perHour(3) }, { name: "b", capacity: 5, refill: perSecond(1) }] });

test("L4 · with 0 the record of a block is gone, and all others stay as they are", () => {
  const records: Records = new Map();
  consumeRecords(records, two, [1, 2], 0);
  const spent = structuredClone(records);
  for (const now of [0, 500, -HOUR]) {
    blockRecords(records, HOUR, 0);
    expect(records.has(BLOCK)).toBe(true);
    blockRecords(records, 0, now);
    expect(records).toEqual(spent);
  }
  const empty: Records = new Map();
  blockRecords(empty, 0, 0);
  expect(empty).toEqual(new Map());
});

test("L8 · a decision says that a block refused it while the block lasts, at any cost", () => {
  for (const each of [policy, two]) {
    const records: Records = new Map();
    blockRecords(records, 1_000, 0);
    for (const cost of [0, 1, 11]) {
      for (const decision of [peekRecords(records, each, cost, 999), consumeRecords(records, each, cost, 999).decision]) {
        expect(decision).toMatchObject({ allowed: false, blocked: true, reason: cost > 10 ? "cost_above_capacity" : "limited" });
        expect(decision.limits?.some((reading) => "blocked" in reading) ?? false).toBe(false);
      }
    }
    expect(consumeRecords(records, each, 11, 1_000).decision).not.toHaveProperty("blocked");
    expect(consumeRecords(records, each, 3, 1_000).decision).not.toHaveProperty("blocked");
    expect(consumeRecords(records, each, 10, 1_000).decision).not.toHaveProperty("blocked");
  }
});

test("L8 · a history of blocks that are ended is the model's, in the core and in memory", () => {
  const steps = fc.array(fc.record({ what: fc.constantFrom("consume" as const, "peek" as const, "adjust" as const, "block" as const, "block" as const), amount: fc.nat(12), ms: fc.integer({ min: -2_000, max: 4_000 }) }), { maxLength: 40 });
  fc.assert(
    fc.property(steps, (history) => {
      const [clock, records, model] = [new ManualClock(1_000_000), new Map() as Records, new Model()];
      const memory = new MemoryStore({ clock: clock.now });
      let isBlocked = false;
      for (const { what, amount, ms } of history) {
        // While a block is kept the clock steps back no more: one that is over may be forgotten.
        clock.advance(isBlocked ? Math.max(0, ms) : ms);
        const now = clock.now();
        if (what === "block") {
          const forMs = amount < 6 ? 0 : amount * 700;
          isBlocked = forMs > 0;
          blockRecords(records, forMs, now);
          callsOf(memory).block(policy, "ann", forMs);
          model.block(forMs, now);
        } else if (what === "adjust") {
          adjustRecords(records, policy, amount - 6, now);
          callsOf(memory).adjust(policy, "ann", amount - 6);
          model.adjust(policy, amount - 6, now);
        } else {
          const wanted = model[what](policy, amount, now);
          expect(what === "peek" ? peekRecords(records, policy, amount, now) : consumeRecords(records, policy, amount, now).decision).toStrictEqual(wanted);
          expect(callsOf(memory)[what](policy, "ann", amount)).toStrictEqual(wanted);
        }
      }
    }),
    { numRuns: 300 },
  );
});
