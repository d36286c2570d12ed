import { ALL_UNITS, setBucket } from "../core/bucket.js";
import type { SeparateAmounts, Bucket, Limit } from "../core/model.js";

/** The arithmetic of limits in flight. */
export const datedAmounts: SeparateAmounts = {
  spentAt: ({ dates = [] }, now) => unitsAfter(dates, now),

  changeUnits(bucket, limit, now, units, date) {
    const dates = datesAt(bucket, limit, now);
    setDates(bucket, limit, typeof date === "number" ? withUnits(dates, date, units) : dates);
  },

  msUntil(bucket, limit, now, units) {
    const dates = datesAt(bucket, limit, now);
    let date = now - 1;
    for (let i = 0, left = units; left > 0 && i < dates.length; i += 2) {
      date = dates[i] as number;
      left -= dates[i + 1] as number;
    }
    return date + 1 - now;
  },

  move(bucket, limit, now, tokens, { from, to }) {
    const dates = datesAt(bucket, limit, now);
    const [old, later] = [limit.kind.dateOf(from), limit.kind.dateOf(to)];
    const there = dates.findIndex((date, i) => i % 2 === 0 && date === old);
    const moved = later < now || there < 0 ? 0 : Math.min(tokens, dates[there + 1] as number);
    setDates(bucket, limit, withUnits(withUnits(dates, old, -moved), later, moved));
  },

  read(records, limit, bucket) {
    const dated = placesOf(records, `~${limit.name}.`).map((place) => records.get(place) as Bucket);
    setDates(bucket, limit, dated.sort((a, b) => a.at - b.at).flatMap(({ at, spent }) => [at, spent]));
  },

  write(records, limit, { dates = [] }) {
    for (const place of placesOf(records, `~${limit.name}.`)) records.delete(place);
    for (let i = 0; i < dates.length; i += 2) {
      const [at, spent] = [dates[i] as number, dates[i + 1] as number];
      records.set(`~${limit.name}.${i / 2}`, { spent, at, unitsPerMs: ALL_UNITS, unitsPerToken: limit.unitsPerToken });
    }
  },
};

/** Writes the record of a limit in flight. */
export function setDates(
  bucket: Bucket, limit: Pick<Limit, "unitsPerMs" | "unitsPerToken">, dates: number[],
): void {
  setBucket(bucket, limit, unitsAfter(dates, -Infinity), dates.at(-2) ?? 0);
  bucket.dates = dates;
}

/**
 * The dates of a record in flight that are not over at `now`. Those that are too far ahead become the date of tokens
 * that are taken now: waiting for them would take too long (law L6).
 */
function datesAt({ dates = [] }: Bucket, { kind, fullMs }: Limit, now: number): number[] {
  const first = dates.findIndex((date, i) => i % 2 === 0 && date >= now);
  if (first < 0) return [];
  const current = dates.slice(first);
  if ((current.at(-2) as number) - now <= fullMs) return current;
  let possible: number[] = [];
  for (let i = 0; i < current.length; i += 2) {
    const date = current[i] as number;
    possible = withUnits(possible, date - now > fullMs ? kind.dateOf(now) : date, current[i + 1] as number);
  }
  return possible;
}

/** Returns the dates with `units` added at `date`. A number below 0 removes units, at most those that are there. */
export function withUnits(dates: readonly number[], date: number, units: number): number[] {
  const list = dates.slice();
  let place = 0;
  while (place < list.length && (list[place] as number) < date) place += 2;
  if (list[place] !== date) {
    if (units > 0) list.splice(place, 0, date, units);
    return list;
  }
  const sum = (list[place + 1] as number) + units;
  if (sum > 0) list[place + 1] = sum;
  else list.splice(place, 2);
  return list;
}

function unitsAfter(dates: readonly number[], now: number): number {
  let sum = 0;
  for (let i = 0; i < dates.length; i += 2) if ((dates[i] as number) >= now) sum += dates[i + 1] as number;
  return sum;
}

/**
 * The names under which a limit keeps its amounts: a mark, so that no other kind takes them over, the limit's name, a
 * dot, the place. `start` is all but the place.
 */
export function placesOf(records: ReadonlyMap<string, Bucket>, start: string): readonly string[] {
  return [...records.keys()].filter((place) => place.startsWith(start) && !place.includes(".", start.length));
}
