import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { daily, definePolicy, monthly, weekly, type Renewal } from "sluice";
import { samePolicy } from "../../src/core/policy.js";
import { datesNear } from "../../src/limits/date-rules.js";
import type { QuotaDates } from "../../src/port/kind-rules.js";
import { beginningsOf, renewalOf, type Written } from "./local-clock.js";
import vectors from "./zones.json" with { type: "json" };

const HOUR = 3_600_000;
const iso = (ms: number): string => new Date(ms).toISOString();
/** The first and last millisecond of the period of an instant, as dates. */
const periodAt = (renews: Renewal, at: number): string[] => [iso(datesOf(renews, at).dueBefore + 1), iso(renews.kindCode.kind.dateOf(at))];
const datesOf = (renews: Renewal, at: number): QuotaDates => datesNear(definePolicy({ capacity: 1, renews }).limits[0], at);

describe("L20 · the periods of a quota", () => {
  test("L20 · begin in 17 zones at the frozen instants: daylight saving, skipped and doubled hours, short months, a skipped day", () => {
    expect(new Set(vectors.map(({ timeZone }) => timeZone)).size).toBe(17);
    for (const { begins, ...written } of vectors) {
      const renews = renewalOf(written as Written);
      const instants = begins.map((begin) => Date.parse(begin));
      for (let i = 0; i + 1 < instants.length; i++) {
        const [begin, next] = [instants[i] as number, instants[i + 1] as number];
        // A record of the first instant is possible: its refunds act.
        expect([written, next - 1 - begin <= renews.kindCode.numbers.fullMs]).toEqual([written, true]);
        for (const at of [begin, begin + 1, Math.floor((begin + next) / 2), next - 1]) {
          expect([written, iso(at), ...periodAt(renews, at)]).toEqual([written, iso(at), iso(begin), iso(next - 1)]);
        }
      }
    }
  });

  const zones = [...new Set(vectors.map(({ timeZone }) => timeZone))];
  const times = fc.record({ hours: fc.nat(23), minutes: fc.constantFrom(0, 1, 15, 30, 59) }).map(({ hours, minutes }) => `${String(hours).padStart(2, "0")}:${String(minutes).padStart(2, "0")}`);
  const rules = fc.oneof(
    fc.record({ every: fc.constant("day"), at: times, timeZone: fc.constantFrom(...zones) }),
    fc.record({ every: fc.constant("week"), day: fc.constantFrom("monday", "thursday", "sunday"), at: times, timeZone: fc.constantFrom(...zones) }),
    fc.record({ every: fc.constant("month"), day: fc.integer({ min: 1, max: 31 }), at: times, timeZone: fc.constantFrom(...zones) }),
  ) as fc.Arbitrary<Written>;
  // Near a change of a clock, where all mistakes are.
  const near = fc.tuple(fc.constantFrom(...vectors.flatMap(({ begins }) => begins.map((begin) => Date.parse(begin)))), fc.integer({ min: -30 * HOUR, max: 30 * HOUR })).map(([a, b]) => a + b);

  test("L20 · equal those of a second implementation, which reads another formatter minute by minute", () => {
    fc.assert(
      fc.property(rules, near, (written, at) => {
        const begins = beginningsOf(written, at, at);
        const first = begins.filter((begin) => begin <= at).at(-1) as number;
        const next = begins.find((begin) => begin > at) as number;
        expect(periodAt(renewalOf(written), at)).toEqual([iso(first), iso(next - 1)]);
      }),
      { numRuns: 60 },
    );
  });

  test("L20 · follow one another without a gap, and the periods around now are the right four instants", () => {
    fc.assert(
      fc.property(rules, near, (written, at) => {
        const renews = renewalOf(written);
        const { kind, numbers } = renews.kindCode;
        const { dueFrom: first, dueBefore: last, due: own, dueAfter: next } = datesOf(renews, at);
        expect([kind.dateOf(first), kind.dateOf(last + 1), kind.dateOf(own + 1)]).toEqual([last, own, next]);
        expect(first).toBeLessThan(last);
        expect(own - last).toBeLessThanOrEqual(numbers.fullMs);
        // It keeps two periods. An older one, and then the newer one again, are the same as before.
        expect([kind.dateOf(first - 1) < first, kind.dateOf(at), kind.dateOf(last), ...Object.values(datesOf(renews, at))]).toEqual([true, own, last, first, last, own, next]);
      }),
      { numRuns: 200 },
    );
  });

  test("L20 · a day begins at midnight in Berlin on both days of the clock change, and a month on the 1st", () => {
    const day = daily({ timeZone: "Europe/Berlin" });
    const month = monthly({ timeZone: "Europe/Berlin" });
    expect(periodAt(day, Date.parse("2024-03-31T12:00+02:00"))).toEqual(["2024-03-30T23:00:00.000Z", "2024-03-31T21:59:59.999Z"]); // 23 hours
    expect(periodAt(day, Date.parse("2024-10-27T12:00+01:00"))).toEqual(["2024-10-26T22:00:00.000Z", "2024-10-27T22:59:59.999Z"]); // 25 hours
    expect(periodAt(month, Date.parse("2024-03-31T12:00+02:00"))).toEqual(["2024-02-29T23:00:00.000Z", "2024-03-31T21:59:59.999Z"]);
    expect(periodAt(month, Date.parse("2024-10-31T12:00+01:00"))).toEqual(["2024-09-30T22:00:00.000Z", "2024-10-31T22:59:59.999Z"]);
  });

  test("L20 · go on while a clock shows the evening before their beginning again", () => {
    // One minute after midnight this clock was set back to 23:01.
    const timeZone = "America/St_Johns";
    const again = Date.parse("2006-10-29T03:00Z");
    expect(periodAt(daily({ timeZone }), again)).toEqual(["2006-10-29T02:30:00.000Z", "2006-10-30T03:29:59.999Z"]);
    expect(periodAt(weekly({ day: "sunday", timeZone }), again)).toEqual(["2006-10-29T02:30:00.000Z", "2006-11-05T03:29:59.999Z"]);
  });

  test.each([
    ["1970-01-01T00:00:00.000Z", "1970-01-01T23:59:59.999Z"],
    ["1970-01-01T00:00:00.001Z", "1970-01-01T23:59:59.999Z"],
    ["1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"],
    ["1969-12-31T00:00:00.000Z", "1969-12-31T23:59:59.999Z"],
    ["+275760-08-03T23:59:59.999Z", "+275760-08-03T23:59:59.999Z"],
  ])("L20 · the day of %s ends with its last millisecond", (now, last) => {
    expect(iso(daily().kindCode.kind.dateOf(Date.parse(now)))).toBe(last);
  });

  test("L13 · are looked up once, while now is in one of two periods", () => {
    const asked = vi.spyOn(Intl.DateTimeFormat.prototype, "formatToParts");
    onTestFinished(() => asked.mockRestore());
    const { dateOf } = daily({ timeZone: "Europe/Berlin" }).kindCode.kind;
    const [first, next, end] = ["2026-03-09T23:00Z", "2026-03-10T23:00Z", "2026-03-11T23:00Z"].map(Date.parse) as [number, number, number];
    expect([dateOf(first + 5), dateOf(next + 5)]).toEqual([next - 1, end - 1]);
    const count = asked.mock.calls.length;
    for (const now of [next, end - 1, next + 7, first, next - 1, first + 7, next - 1, next, first, end - 1]) dateOf(now);
    expect([count > 0, asked.mock.calls.length - count]).toEqual([true, 0]);
  });
});

describe("daily, weekly and monthly", () => {
  const limitOf = (renews: Renewal) => ({ capacity: 5, renews });

  test("return plain, frozen data. A copy of it makes the same quota again", () => {
    for (const [renews, written] of [
      [daily(), { every: "day", at: "00:00", timeZone: "UTC" }],
      [daily({ at: "06:00", timeZone: "Europe/Berlin" }), { every: "day", at: "06:00", timeZone: "Europe/Berlin" }],
      [weekly(), { every: "week", day: "monday", at: "00:00", timeZone: "UTC" }],
      [monthly({ day: 17 }), { every: "month", day: 17, at: "00:00", timeZone: "UTC" }],
    ] as const) {
      expect(structuredClone(renews)).toEqual(written);
      expect(Object.isFrozen(renews)).toBe(true);
      expect(samePolicy(definePolicy(limitOf(renews)), definePolicy(limitOf(renewalOf(structuredClone(renews)))))).toBe(true);
    }
    expect(samePolicy(definePolicy(limitOf(daily())), definePolicy(limitOf(daily({ timeZone: "Asia/Tokyo" }))))).toBe(false);
  });

  test.each<[() => unknown, string]>([
    [() => daily({ at: "6:00" }), 'RangeError: Expected `at` to be a time from "00:00" to "23:59", got "6:00"'],
    [() => daily({ at: "24:00" }), 'RangeError: Expected `at` to be a time from "00:00" to "23:59", got "24:00"'],
    [() => daily({ at: "at 06:00" }), 'RangeError: Expected `at` to be a time from "00:00" to "23:59", got "at 06:00"'],
    [() => daily({ at: "06:00:30" }), 'RangeError: Expected `at` to be a time from "00:00" to "23:59", got "06:00:30"'],
    [() => daily({ at: ["06:00"] as never }), 'RangeError: Expected `at` to be a time from "00:00" to "23:59", got an array of 1'],
    [() => daily({ timeZone: ["UTC"] as never }), 'RangeError: Expected `timeZone` to be a time zone such as "Europe/Berlin", got an array of 1'],
    [() => daily({ timeZone: "Berlin" }), 'RangeError: Expected `timeZone` to be a time zone such as "Europe/Berlin", got "Berlin"'],
    [() => daily({ timeZone: 5 as never }), 'RangeError: Expected `timeZone` to be a time zone such as "Europe/Berlin", got 5'],
    [() => daily({ day: 1 } as never), "TypeError: Unknown option `day`. Known options: `at`, `timeZone`, `every`"],
    [() => weekly({ day: "montag" as never }), 'RangeError: Expected `day` to be a day such as "monday", got "montag"'],
    [() => weekly({ day: 1 as never }), 'RangeError: Expected `day` to be a day such as "monday", got 1'],
    [() => monthly({ day: 32 }), "RangeError: Expected `day` to be a whole number from 1 to 31, got 32"],
    [() => monthly({ day: 0 }), "RangeError: Expected `day` to be a whole number from 1 to 31, got 0"],
    [() => monthly({ day: 1.5 }), "RangeError: Expected `day` to be a whole number from 1 to 31, got 1.5"],
    [() => monthly({ day: "5" as never }), 'RangeError: Expected `day` to be a whole number from 1 to 31, got "5"'],
    [() => monthly(5 as never), "TypeError: Expected `options` to be an object, got 5"],
    [() => monthly({ ...daily() } as never), 'RangeError: Expected `every` to be "month", got "day"'],
    [() => daily().kindCode.kind.dateOf(Date.parse("+275760-08-04T00:00Z")), "RangeError: Expected `clock()` to be a date before the year 275760, got 8639996544000000"],
    [() => daily().kindCode.kind.dateOf(9e15), "RangeError: Expected `clock()` to be a date before the year 275760, got 9000000000000000"],
  ])("L9 · bad input is refused: %#", (make, message) => {
    let error: unknown;
    try {
      make();
    } catch (thrown) {
      error = thrown;
    }
    expect(String(error)).toBe(message);
  });
});
