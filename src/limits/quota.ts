import { checkOptions, expected, ownMembers } from "../core/check.js";
import { takenAt } from "../core/decide.js";
import type { Policy } from "../core/policy.js";
import type { KindCode, Kind, Renewal } from "../core/model.js";
import { dateRules } from "./date-rules.js";
import { periodsOf, type PeriodStart } from "./periods.js";

/** The options of {@link daily}. */
export interface DailyOptions {
  /** The local time at which the day begins, from `"00:00"` to `"23:59"`. Default `"00:00"`. */
  readonly at?: string | undefined;
  /** An IANA time zone, such as `"Europe/Berlin"`. Default `"UTC"`. */
  readonly timeZone?: string | undefined;
  /** Only in a copy of what `daily` returned. */
  readonly every?: "day" | undefined;
}

/** A day of the week. */
export type Weekday = "sunday" | "monday" | "tuesday" | "wednesday" | "thursday" | "friday" | "saturday";

/** The options of {@link weekly}. */
export interface WeeklyOptions extends Omit<DailyOptions, "every"> {
  /** The day on which the week begins. Default `"monday"`. */
  readonly day?: Weekday | undefined;
  /** Only in a copy of what `weekly` returned. */
  readonly every?: "week" | undefined;
}

/** The options of {@link monthly}. */
export interface MonthlyOptions extends Omit<DailyOptions, "every"> {
  /** The day on which the month begins, 1 to 31. A shorter month begins on its last day. Default 1. */
  readonly day?: number | undefined;
  /** Only in a copy of what `monthly` returned. */
  readonly every?: "month" | undefined;
}

const WEEKDAYS: readonly unknown[] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const DAY_SECONDS = 86_400;

/**
 * Returns the `renews` of a quota that renews every day. All its tokens come back at the time `at`, also when the day
 * has 23 or 25 hours.
 *
 * A time that the clock skips is the end of the skipped hour; of two equal times the first one counts. Throws a
 * TypeError or RangeError that names the wrong option.
 * @example
 * const exports = { name: "day", capacity: 5, renews: daily({ at: "06:00", timeZone: "Europe/Berlin" }) };
 */
export function daily(options: DailyOptions = {}): Renewal {
  return renewal("day", 1, options, undefined);
}

/**
 * Returns the `renews` of a quota that renews every week. See {@link daily} for changes of the clock.
 * @example
 * const reports = { name: "week", capacity: 100, renews: weekly({ day: "monday", timeZone: "America/New_York" }) };
 */
export function weekly(options: WeeklyOptions = {}): Renewal {
  return renewal("week", 7, options, "monday");
}

/**
 * Returns the `renews` of a quota that renews every month. See {@link daily} for changes of the clock.
 * @example
 * const month = { name: "month", capacity: 1_000_000, renews: monthly({ timeZone: "Europe/Berlin" }) };
 */
export function monthly(options: MonthlyOptions = {}): Renewal {
  return renewal("month", 31, options, 1);
}

function renewal(every: PeriodStart["every"], days: number, options: object, firstDay: string | number | undefined): Renewal {
  const names = ["at", "timeZone", "every", ...(firstDay === undefined ? [] : ["day"])];
  const given = checkOptions(options, names) as Record<string, unknown>;
  const { at = "00:00", timeZone = "UTC", day = firstDay } = given;
  if (given["every"] !== undefined && given["every"] !== every) {
    throw new RangeError(expected("every", `"${every}"`, given["every"]));
  }
  const written = Object.freeze({ every, ...(day === undefined ? {} : { day }), at, timeZone }) as Omit<Renewal, "kindCode">;
  const schedule = { every, day: numberOf(every, day), atMs: timeOf(at), zone: checkZone(timeZone) };
  // Three hours more, for the clock of Casey in Antarctica: the largest step back since 1970.
  const fullMs = (days * DAY_SECONDS + 10_800) * 1_000;
  const periodAt = periodsOf(schedule);
  const kindCode = quotaCode(
    { calendar: Object.values(written).join(" "), fullMs, windowSeconds: days * DAY_SECONDS }, (now) => periodAt(now)[1],
  );
  return Object.freeze(Object.defineProperty({ ...written }, "kindCode", { value: kindCode })) as Renewal;
}

function numberOf(every: PeriodStart["every"], day: unknown): number {
  if (every === "day") return 0;
  const isMonth = every === "month";
  const isKnown = isMonth ? Number.isInteger(day) && (day as number) >= 1 && (day as number) <= 31 : WEEKDAYS.includes(day);
  if (!isKnown) throw new RangeError(expected("day", isMonth ? "a whole number from 1 to 31" : 'a day such as "monday"', day));
  return isMonth ? (day as number) : WEEKDAYS.indexOf(day);
}

function timeOf(at: unknown): number {
  const match = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(typeof at === "string" ? at : "");
  if (match === null) throw new RangeError(expected("at", 'a time from "00:00" to "23:59"', at));
  return (Number(match[1]) * 60 + Number(match[2])) * 60_000;
}

function checkZone(timeZone: unknown): string {
  try {
    if (typeof timeZone === "string") return new Intl.DateTimeFormat("en", ownMembers({ timeZone })).resolvedOptions().timeZone;
  } catch {
    // Not a zone that this platform knows.
  }
  throw new RangeError(expected("timeZone", 'a time zone such as "Europe/Berlin"', timeZone));
}

/** Makes the arithmetic of a quota whose period at an instant has the last millisecond `dateOf`. */
export function quotaCode(numbers: KindCode["numbers"], dateOf: (now: number) => number): KindCode {
  const kind: Kind = {
    dateOf,
    backTo(from) {
      const taken = takenAt(from, "at");
      return taken === undefined ? undefined : dateOf(taken);
    },
    retryAfterMs: Infinity,
    isInFlight: false,
    amounts: undefined,
  };
  return { field: "renews", of: "quota", kind, numbers, dateRules };
}

/** Returns a copy of a policy, such as one from JSON, with the calendars that its quotas had. */
export function withCalendars(policy: Policy): Policy {
  const limits = policy.limits.map((limit) => (limit.renews === undefined ? limit : { ...limit, renews: copied(limit.renews) }));
  return { ...policy, limits } as unknown as Policy;
}

function copied(written: Renewal): Renewal {
  const make = { day: daily, week: weekly, month: monthly }[written.every] as (options: object) => Renewal;
  return make(written);
}
