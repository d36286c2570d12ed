import { expected, ownMembers } from "../core/check.js";

/** When the periods of a quota begin. */
export interface PeriodStart {
  readonly every: "day" | "week" | "month";
  /** The day of the week (0 is Sunday), or of the month. The last day of a month that is shorter. */
  readonly day: number;
  /** The local time, in milliseconds after midnight. */
  readonly atMs: number;
  readonly zone: string;
}

/** The first and the last millisecond of a period. */
export type Period = readonly [first: number, last: number];

const HOUR_MS = 3_600_000;
// The last instant of a `Date`, and a period less on both sides.
const LAST_DATE = 8.64e15 - 40 * 24 * HOUR_MS;

/**
 * Returns a function that finds the period of an instant, in milliseconds since 1970. It keeps the last two periods.
 *
 * A period begins at the first instant at which the zone's clock shows the written time or a later one. So it begins at
 * the end of an hour that daylight saving skips, and at the first of two equal times. A day that a zone skipped has no
 * period. Exact since 1970, and while a zone changes its clock at most once in 28 hours.
 */
export function periodsOf({ every, day, atMs, zone }: PeriodStart): (now: number) => Period {
  const showLocal = clockOf(zone);
  let known: Period = [0, -1];
  let older = known;
  return (now) => {
    if (now >= known[0] && now <= known[1]) return known;
    [known, older] = [older, known];
    if (now < known[0] || now > known[1]) known = find(now);
    return known;
  };

  function find(now: number): Period {
    if (!(Math.abs(now) < LAST_DATE)) throw new RangeError(expected("clock()", "a date before the year 275760", now));
    // One period more on each side, because the local time may be before the beginning of its own period.
    const begins = [-1, 0, 1, 2].map((n) => firstInstant(beginning(new Date(showLocal(now)), n), showLocal));
    return [Math.max(...begins.filter((begin) => begin <= now)), Math.min(...begins.filter((begin) => begin > now)) - 1];
  }

  // The local time at which a period begins: that of the date if `n` is 0.
  function beginning(date: Date, n: number): number {
    const [year, month, today] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
    if (every === "day") return atMs + Date.UTC(year, month, today + n);
    if (every === "week") return atMs + Date.UTC(year, month, today + 7 * n - ((date.getUTCDay() - day + 7) % 7));
    const last = new Date(Date.UTC(year, month + n + 1, 0)).getUTCDate();
    return atMs + Date.UTC(year, month + n, Math.min(day, last));
  }
}

/** The first instant at which the zone's clock shows `local` or a later time. */
function firstInstant(local: number, showLocal: (instant: number) => number): number {
  // Clocks are at most 12 hours behind UTC and 14 ahead of it.
  const [before, after] = [local - 15 * HOUR_MS, local + 13 * HOUR_MS].map((t) => showLocal(t) - t) as [number, number];
  for (const offset of [before, after]) if (showLocal(local - offset) === local) return local - offset;
  // The clock skips the time, so the period begins when it is set.
  let [low, high] = [local - after, local - before];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (showLocal(middle) < local) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns a function that tells what the clock of a zone shows, as the instant at which a clock in UTC shows it. */
function clockOf(zone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat("en-US", ownMembers<Intl.DateTimeFormatOptions>({
    timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric",
    minute: "numeric", second: "numeric",
  }));
  return (instant) => {
    const shown = format.formatToParts(instant).flatMap(({ type, value }) => (type === "literal" ? [] : Number(value)));
    const [month, day, year, ...time] = shown as [number, number, number, number, number, number];
    return Date.UTC(year, month - 1, day, ...time) + (((instant % 1_000) + 1_000) % 1_000);
  };
}
