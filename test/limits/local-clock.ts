// A second implementation of periods, which shares no code with the first: it reads another formatter minute by minute.
import { daily, monthly, weekly, type Renewal } from "sluice";

const MINUTE = 60_000;
const DAY = 86_400_000;
const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const formats = new Map<string, Intl.DateTimeFormat>();

/** A `Renewal` without its code: what a table of vectors holds. */
export type Written = Omit<Renewal, "rule">;

/** Makes the quota's calendar of plain data. */
export function renewalOf(written: Written): Renewal {
  const { every } = written;
  if (every === "day") return daily(written as Parameters<typeof daily>[0]);
  return every === "week" ? weekly(written as Parameters<typeof weekly>[0]) : monthly(written as Parameters<typeof monthly>[0]);
}

/** What the clock of a zone shows, as `2024-03-31 03:00:00`. */
function shown(instant: number, zone: string): string {
  let format = formats.get(zone);
  if (format === undefined) formats.set(zone, (format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" })));
  return format.format(instant).replace(",", "");
}

const two = (n: number): string => String(n).padStart(2, "0");

/** The local times at which periods begin on the days around `from` and `to`. */
function localBeginnings({ every, day, at }: Written, from: number, to: number): string[] {
  const list: string[] = [];
  for (let t = from - 35 * DAY; t < to + 35 * DAY; t += DAY) {
    const date = new Date(t);
    const [year, month, today] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
    const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
    const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] as number;
    const near = t > from - 4 * DAY && t < to + 4 * DAY;
    const begins = every === "day" ? near : every === "week" ? WEEKDAYS[date.getUTCDay()] === day : today === Math.min(day as number, days);
    if (begins) list.push(`${year}-${two(month)}-${two(today)} ${at}:00`);
  }
  return list;
}

/** The first instants of the periods from before `from` until after `to`. */
export function beginningsOf(written: Written, from: number, to: number): number[] {
  const begins = localBeginnings(written, from, to).map((local) => {
    let t = Date.parse(`${local.replace(" ", "T")}Z`) - 27 * 3_600_000; // before every zone
    // Hours first, where the clock is far behind.
    while (shown(t + 4 * 3_600_000, written.timeZone) < local && shown(t + 2 * 3_600_000, written.timeZone) < local && shown(t + 3_600_000, written.timeZone) < local) t += 3_600_000;
    while (shown(t, written.timeZone) < local) t += MINUTE;
    return t;
  });
  return [...new Set(begins)].sort((a, b) => a - b);
}
