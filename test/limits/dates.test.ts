// The arithmetic of dates by itself: which amounts belong to which date, and what a clock that steps back finds.
import { definePolicy, monthly, perSecond, whenDone } from "sluice";
import { describe, expect, test } from "vitest";
import { ALL_UNITS, fullBucket } from "../../src/core/bucket.js";
import { consumeRecords } from "../helpers/records.js";
import { dateRules, datesNear } from "../../src/limits/date-rules.js";
import { datedAmounts, withUnits } from "../../src/limits/dates.js";
import { heldCosts } from "../../src/limits/held-work.js";

/** Dates are 100 ms apart: tokens of 0 have the date 1,599, and no date is more than 1,699 ms ahead. */
const [limit] = definePolicy({ capacity: 9_999, returns: whenDone({ staleAfterMs: 1_600 }) }).limits;

describe("L21 · the record of a limit in flight", () => {
  const rows: [what: string, dates: readonly number[], now: number, from: number, to: number, moved: readonly number[]][] = [
    ["renews no more than is there, beside an amount that equals the date", [1_500, 1_599, 1_599, 2], 0, 0, 100, [1_500, 1_599, 1_699, 2]],
    ["takes no tokens to a date that is over", [2_599, 2], 2_000, 1_000, 0, [2_599, 2]],
    ["takes tokens to the date of this millisecond", [2_599, 2], 1_599, 1_000, 0, [1_599, 2]],
  ];
  test.each(rows)("L21 · %s", (_, dates, now, from, to, moved) => {
    const bucket = { ...fullBucket(limit), dates: [...dates] };
    datedAmounts.move?.(bucket, limit, now, 3, { from, to });
    expect(bucket.dates).toEqual(moved);
  });

  test.each([
    ["an amount is no date", [5, 100, 20, 1], 10, [20, 1]],
    ["only what is too far ahead gets the date of now", [1_699, 1, 3_000, 1], 0, [1_599, 1, 1_699, 1]],
    ["one millisecond is too far", [1_699, 1, 1_700, 1], 0, [1_599, 1, 1_699, 1]],
    ["too far for a clock below 0, too", [1_599, 1], -1_000, [599, 1]],
    ["nothing is left when all dates are over", [5, 100, 20, 1], 21, []],
  ])("L6, L21 · %s", (_, dates, now, kept) => {
    const bucket = { ...fullBucket(limit), dates: [...dates] };
    datedAmounts.changeUnits(bucket, limit, now, 0, undefined);
    expect(bucket.dates).toEqual(kept);
  });

  test.each([null, undefined])("L21 · a debit or a credit without an instant (%s) leaves it alone", (date) => {
    const bucket = { ...fullBucket(limit), dates: [1_599, 2] };
    for (const units of [3, -1]) datedAmounts.changeUnits(bucket, limit, 0, units, date);
    expect(bucket.dates).toEqual([1_599, 2]);
  });

  test.each([
    ["nothing is there at once", [1_599, 2], 0, 0],
    ["the first date brings enough", [1_599, 2, 1_699, 3], 2, 1_600],
    ["the next date brings the rest", [1_599, 2, 1_699, 3], 3, 1_700],
    ["more than there is comes with the last date", [1_599, 2], 3, 1_600],
    ["of a record without dates nothing comes", [], 3, 0],
  ])("L21 · waits until its tokens are back: %s", (_, dates, units, ms) => {
    expect(datedAmounts.msUntil({ ...fullBucket(limit), dates: [...dates] }, limit, 0, units)).toBe(ms);
  });

  test("L21 · without dates is not kept", () => {
    const records = new Map([[`~${limit.name}.0`, { ...fullBucket(limit), spent: 1, at: 1_599 }]]);
    datedAmounts.write(records, limit, fullBucket(limit));
    expect(records.size).toBe(0);
  });

  test("L21 · is read from its records, whatever their order, and from no others", () => {
    const of = (at: number, spent: number) => ({ ...fullBucket(limit), at, spent });
    const start = `~${limit.name}`;
    const records = new Map([[`${start}.1`, of(1_599, 2)], [`${start}.0`, of(1_499, 1)], [`${start}.0.0`, of(1, 5)], [`${start}s.0`, of(2, 5)], [limit.name, of(3, 5)], ["!", of(4, 5)]]);
    const bucket = fullBucket(limit);
    datedAmounts.read(records, limit, bucket);
    expect(bucket.dates).toEqual([1_499, 1, 1_599, 2]);
    datedAmounts.write(records, limit, { ...bucket, dates: [1_699, 3] });
    expect(Object.fromEntries(records)).toEqual({
      [`${start}.0`]: { at: 1_699, spent: 3, unitsPerMs: ALL_UNITS, unitsPerToken: limit.unitsPerToken },
      [`${start}.0.0`]: of(1, 5), [`${start}s.0`]: of(2, 5), [limit.name]: of(3, 5), "!": of(4, 5),
    });
    datedAmounts.write(records, limit, { ...bucket, dates: [1_599, 1, 1_699, 3] });
    expect([...records.keys()].filter((place) => place.startsWith(`${start}.`)).sort()).toEqual([`${start}.0`, `${start}.0.0`, `${start}.1`]);
  });

  test("L21 · adds and removes units in a copy", () => {
    const dates = Object.freeze([1_599, 2]);
    expect([withUnits(dates, 1_599, 1), withUnits(dates, 1_599, -2), withUnits(dates, 1_699, 1)]).toEqual([[1_599, 3], [], [1_599, 2, 1_699, 1]]);
  });

  test("L21 · tokens of an unknown instant have no date", () => {
    expect([undefined, { at: 5 }, 0, { heldAt: 0 }].map((from) => limit.kind.backTo(from))).toEqual([null, null, 1_599, 1_599]);
  });
});

test("L21 · work holds the tokens in flight that a decision took, and none of a rate", () => {
  const policy = definePolicy({ limits: [{ capacity: 9, refill: perSecond(1) }, { capacity: 9, returns: whenDone() }] });
  expect(heldCosts(consumeRecords(new Map(), policy, [3, 2], 0).decision, policy)).toEqual([0, 2]);
});

describe("L20 · the dates of a quota", () => {
  const end = (text: string): number => Date.parse(text) - 1;

  test("L20 · are those of January at its last millisecond, also after a look at February", () => {
    const [month] = definePolicy({ capacity: 1, renews: monthly() }).limits;
    datesNear(month, Date.parse("2026-02-15"));
    expect(Object.values(datesNear(month, end("2026-02-01")))).toEqual([Date.parse("2025-12-01"), end("2026-01-01"), end("2026-02-01"), end("2026-03-01")]);
  });

  test("L20 · need a clock with dates: a copy's monotonicClock has none, and a server's clock is not named", () => {
    const policy = definePolicy({ name: "api", capacity: 1, renews: monthly() });
    const { monotonicClock } = { monotonicClock: () => 0 };
    const check = (clock: object): void => dateRules.checkStore({ kinds: ["quota"], ...clock }, policy, policy);
    expect(() => check({ clock: monotonicClock })).toThrow('Expected a clock of dates for the quota of policy "api", got monotonicClock. Pass `store: new MemoryStore({ clock: Date.now })`');
    for (const clock of [{}, { clock: Date.now }]) check(clock);
  });
});
