// What quotas and limits in flight tell a store with a clock of its own: numbers with names, and the dates around now.
import { daily, definePolicy, monotonicClock, monthly, perSecond, weekly, whenDone, type Renewal } from "sluice";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { samePolicy } from "../../src/core/policy.js";
import { dateRules, datesNear } from "../../src/limits/date-rules.js";
import { withReturns } from "../../src/limits/in-flight.js";
import { quotaCode, withCalendars } from "../../src/limits/quota.js";
import { writeRequests, type StoreRequest } from "../../src/stores/redis/protocol.js";
import { limitDatesOf, type StorePart } from "../../src/stores/shared/snapshot.js";

const at = (text: string): number => Date.parse(`2026-${text}Z`);
const NOW = at("03-10T12:00");
beforeEach(() => void vi.useFakeTimers({ now: NOW, toFake: ["performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

// A calendar remembers periods, so each test has its own.
const rateOf = () => definePolicy({ name: "rate", capacity: 9, refill: perSecond(1) });
const monthOf = () => definePolicy({ name: "month", capacity: 9, renews: monthly() });
/** A rate, a quota, and tokens in flight whose dates are 100 ms apart: those of 0 have the date 1,599. */
const allOf = () => definePolicy({
  name: "all",
  limits: [
    { name: "burst", capacity: 9, refill: perSecond(1) },
    { name: "month", capacity: 9, renews: monthly() },
    { name: "held", capacity: 9, returns: whenDone({ staleAfterMs: 1_600 }) },
  ],
});
/** 31 days and the largest step of a clock, three hours. */
const MONTH_MS = 31 * 86_400_000 + 3 * 3_600_000;
const march = { kind: "quota", fullMs: MONTH_MS, dueFrom: at("02-01T00:00"), dueBefore: at("03-01T00:00") - 1, due: at("04-01T00:00") - 1, dueAfter: at("05-01T00:00") - 1 };
const june = { kind: "quota", fullMs: MONTH_MS, dueFrom: at("05-01T00:00"), dueBefore: at("06-01T00:00") - 1, due: at("07-01T00:00") - 1, dueAfter: at("08-01T00:00") - 1 };
const [noRate, noMove] = [{ kind: "rate" }, { kind: "in-flight", fullMs: 1_699, step: 100 }];
const partOf = (policy = allOf(), more: Partial<StorePart> = {}): StorePart => ({ policy, name: "key", tokens: 1, ...more });

describe("L20, L21 · the numbers of a part", () => {
  test("say nothing of a give-back where nothing is given back", () => {
    expect(limitDatesOf([partOf()], NOW)).toEqual([noRate, march, noMove]);
    expect(limitDatesOf([partOf(rateOf())], NOW)).toBeUndefined();
  });

  test("name the dates of the tokens that are given back, and those to which tokens in flight move", () => {
    const from = { at: at("02-10T00:00"), heldAt: 1_000, since: 500 };
    const part = partOf(allOf(), { tokens: [0, 0, 1], from, moved: [0, 0, 2], to: 1_500 });
    expect(limitDatesOf([part], NOW)).toEqual([
      { kind: "rate", since: 500 }, { ...march, backTo: at("03-01T00:00") - 1 }, { ...noMove, backTo: 2_599, moved: 2, movedTo: 3_099 },
    ]);
  });

  test("follow one another, part by part", () => {
    expect(limitDatesOf([partOf(rateOf()), partOf(monthOf())], at("06-15T00:00"))).toEqual([noRate, june]);
  });
});

describe("L20 · the tokens of a part and its numbers, as Redis gets them", () => {
  const sent = (what: StoreRequest["what"], now: string) => writeRequests([{ what, parts: [partOf(allOf(), { tokens: [1, 2, 3] })] }], now).args.at(-1);
  const text = (month: typeof march) => `1,2,3[{"kind":"rate"},${JSON.stringify(month)},{"kind":"in-flight","fullMs":1699,"step":100}]`;
  test.each(["c", "p", "a"] as const)("for a request of the kind %s: by this clock, or by the instant that the caller states", (what) => {
    expect(sent(what, "")).toBe(text(march));
    expect(sent(what, String(at("06-15T00:00")))).toBe(text(june));
  });

  test.each(["x", "d"] as const)("for a request of the kind %s: a block and a reset have no dates", (what) => {
    expect(sent(what, "")).toBe("1,2,3");
  });
});

describe("L20 · a server's clock", () => {
  const fault = (there: string): string =>
    `Expected the clocks of this process and the store to be within a period, got 2026-03-10T12:00:00.000Z here and ${there} there. Set them; no tokens were taken`;
  test.each([
    ["before the last period", at("02-01T00:00") - 1, fault("2026-01-31T23:59:59.999Z")],
    ["at the beginning of the last period", at("02-01T00:00"), undefined],
    ["at the same instant", NOW, undefined],
    ["at the end of the next period", at("05-01T00:00") - 1, undefined],
    ["after the next period", at("05-01T00:00"), fault("2026-05-01T00:00:00.000Z")],
    ["at an instant that no date has", 8.64e15, fault("8640000000000000")],
    ["long before all dates", -9e15, fault("-9000000000000000")],
  ])("%s", (_, there, expected) => {
    const parts = [monthOf(), rateOf(), allOf()].map((policy) => ({ policy, tokens: 1 }));
    for (const list of [parts, parts.toReversed(), parts.slice(2)]) expect(dateRules.clockFault(list, there)).toBe(expected);
    expect(dateRules.clockFault([{ policy: rateOf(), tokens: 1 }], there)).toBeUndefined();
  });
});

describe("L20 · the date after so many renewals", () => {
  const first = at("03-11T00:00") - 1;
  test.each([[0, 0], [3, 3], [1, 1], [100, 100], [101, 100], [5_000, 100]])("%d: %d days later", (renewals, days) => {
    const [day] = definePolicy({ capacity: 1, renews: daily() }).limits;
    expect(dateRules.dateAfter(day, first, renewals)).toBe(first + days * 86_400_000);
    expect(dateRules.dateAfter(day, first + 86_400_000, renewals)).toBe(first + (days + 1) * 86_400_000);
  });
});

/** A quota with periods of 10 ms, and how often its calendar was asked since the last time. */
function tens() {
  const dateOf = vi.fn((now: number) => Math.floor(now / 10) * 10 + 9);
  const kindCode = quotaCode({ calendar: "tens", fullMs: 10, windowSeconds: 1 }, dateOf);
  const renews = Object.defineProperty({ every: "day", at: "", timeZone: "" }, "kindCode", { value: kindCode }) as Renewal;
  const asked = (): number => dateOf.mock.calls.splice(0).length;
  return { limit: definePolicy({ capacity: 1, renews }).limits[0], asked };
}

describe("L13 · a calendar is asked for each date once", () => {
  test("by a line that grows and shrinks", () => {
    const { limit, asked } = tens();
    const after = (date: number, renewals: number): number[] => [dateRules.dateAfter(limit, date, renewals), asked()];
    expect([after(9, 3), after(9, 3), after(9, 1), after(9, 5)]).toEqual([[39, 3], [39, 0], [19, 0], [59, 2]]);
    expect([after(19, 1), after(19, 1)]).toEqual([[29, 1], [29, 0]]);
  });

  test("by requests in one period, from its first millisecond to its last", () => {
    const { limit, asked } = tens();
    const near = (now: number) => Object.values(datesNear(limit, now));
    expect([near(25), asked() > 0]).toEqual([[10, 19, 29, 39], true]);
    expect([near(20), near(29), asked()]).toEqual([[10, 19, 29, 39], [10, 19, 29, 39], 0]);
    expect([near(30), asked() > 0]).toEqual([[20, 29, 39, 49], true]);
  });
});

test("L20 · monotonicClock has no dates, also where a bundler gave it another name", () => {
  Object.defineProperty(monotonicClock, "name", { value: "a" });
  try {
    expect(() => dateRules.checkStore({ kinds: ["quota"], clock: monotonicClock }, monthOf(), monthOf())).toThrow("Expected a clock of dates");
  } finally {
    Object.defineProperty(monotonicClock, "name", { value: "monotonicClock" });
  }
});

test("L20, L21 · a policy from JSON gets its calendars and dates again", () => {
  for (const limit of [{ renews: daily() }, { renews: weekly() }, { renews: monthly() }, { returns: whenDone() }, { refill: perSecond(1) }]) {
    const policy = definePolicy({ name: "p", limits: [{ name: "one", capacity: 9, ...limit }] });
    const copy = withReturns(withCalendars(JSON.parse(JSON.stringify(policy)) as typeof policy));
    expect(samePolicy(definePolicy(copy), policy)).toBe(true);
  }
});
