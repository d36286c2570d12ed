import { ALL_UNITS, setBucket } from "../core/bucket.js";
import type { SeparateAmounts, Bucket, Limit } from "../core/model.js";
import { placesOf } from "./dates.js";

// More would cost a store more. With 18, an amount that joined others keeps no token longer than an eighth of the
// window.
export const MOST_AMOUNTS = 18;

/**
 * The arithmetic of windows. A record is a list of amounts, earliest first: the date of its last tokens, how many there
 * are, and the date of its first tokens. It is changed in place. A record without a list is one amount.
 *
 * All tokens of an amount come back after its last date. No two amounts have one last date, and none begins before the
 * one in front of it ends.
 */
export const windowAmounts: SeparateAmounts = {
  spentAt(bucket, now) {
    const list = amountsOf(bucket);
    let { spent } = bucket;
    for (let i = 0; i < list.length && (list[i] as number) < now; i += 3) spent -= list[i + 1] as number;
    return spent;
  },

  changeUnits(bucket, limit, now, units, date) {
    const list = amountsOf(bucket);
    const latest = limit.kind.dateOf(now);
    const spent = bucket.spent - dropOver(list, latest, now);
    if (units > 0) take(list, latest, units);
    const taken = units > 0 ? units : date === undefined ? giveBackNewest(list, units) : giveBackAt(list, date, units, now);
    setBucket(bucket, limit, spent + taken, list.length > 0 ? (list[list.length - 3] as number) : 0);
  },

  msUntil(bucket, limit, now, units) {
    const list = amountsOf(bucket);
    // All of them come back at the last date.
    let i = units < bucket.spent ? 0 : Math.max(0, list.length - 3);
    let date = now - 1;
    for (let left = units; left > 0 && i < list.length; i += 3) {
      if ((list[i] as number) < now) continue;
      date = list[i] as number;
      left -= list[i + 1] as number;
    }
    return Math.min(date, limit.kind.dateOf(now)) + 1 - now;
  },

  read(records, limit, bucket) {
    const found = placesOf(records, `^${limit.name}.`).map((place) => records.get(place) as Bucket);
    found.sort((a, b) => a.at - b.at);
    setAmounts(bucket, limit, found.flatMap(({ spent, at, unitsPerToken }) => [at, spent, at - unitsPerToken + 1]));
  },

  write(records, limit, { dates = [] }) {
    for (const place of placesOf(records, `^${limit.name}.`)) records.delete(place);
    for (let i = 0; i < dates.length; i += 3) {
      const [at, spent, first] = dates.slice(i) as [number, number, number];
      // The place of `q`, which would always be 1, has how long the amount is. So each record stays a record.
      records.set(`^${limit.name}.${i / 3}`, { spent, at, unitsPerMs: ALL_UNITS, unitsPerToken: at - first + 1 });
    }
  },
};

function amountsOf(bucket: Bucket): number[] {
  return (bucket.dates ??= bucket.spent > 0 ? [bucket.at, bucket.spent, bucket.at] : []);
}

/** Writes the record of a window. */
export function setAmounts(bucket: Bucket, limit: Pick<Limit, "unitsPerMs" | "unitsPerToken">, list: number[]): void {
  let spent = 0;
  for (let i = 0; i < list.length; i += 3) spent += list[i + 1] as number;
  setBucket(bucket, limit, spent, list.at(-3) ?? 0);
  bucket.dates = list;
}

// Drops amounts that are over, and returns their units. Dates after `latest` are impossible: they become that date,
// because waiting for them would take too long (law L6).
function dropOver(list: number[], latest: number, now: number): number {
  let over = 0;
  let units = 0;
  for (; over < list.length && (list[over] as number) < now; over += 3) units += list[over + 1] as number;
  if (over > 0) remove(list, 0, over);
  for (let i = list.length - 3; i >= 0 && (list[i] as number) > latest; i -= 3) {
    list[i] = latest;
    list[i + 2] = Math.min(list[i + 2] as number, latest);
    if (i + 3 < list.length) join(list, i);
  }
  return units;
}

function take(list: number[], date: number, units: number): void {
  const end = list.length;
  if (end > 0 && list[end - 3] === date) {
    list[end - 2] = (list[end - 2] as number) + units;
    return;
  }
  list.push(date, units, date);
  if (end < 3 * MOST_AMOUNTS) return;
  // The two neighbors become one that are shortest together, and of equals the earliest.
  let least = Infinity;
  let shortest = 0;
  for (let i = 0; i < end; i += 3) {
    const span = (list[i + 3] as number) - (list[i + 2] as number);
    if (span >= least) continue;
    least = span;
    shortest = i;
  }
  join(list, shortest);
}

/** Makes one amount of the one at `i` and the next. It comes back when the later one does. */
function join(list: number[], i: number): void {
  list[i] = list[i + 3] as number;
  list[i + 1] = (list[i + 1] as number) + (list[i + 4] as number);
  remove(list, i + 3, 3);
}

// To the amount whose dates enclose the given one, at most what it holds. No other amount has these tokens. `units` and
// the result are below 0.
function giveBackAt(list: number[], date: number | null, units: number, now: number): number {
  if (date === null || date < now) return 0;
  let i = 0;
  while (i < list.length && (list[i] as number) < date) i += 3;
  return i < list.length && (list[i + 2] as number) <= date ? lessen(list, i, units) : 0;
}

// What was taken last would stay longest, so it is worth most to the caller.
function giveBackNewest(list: number[], units: number): number {
  let given = 0;
  while (given > units && list.length > 0) given += lessen(list, list.length - 3, units - given);
  return given;
}

/** Changes the amount at `i` by `units` below 0, at most by what it has. Returns by how much. */
function lessen(list: number[], i: number, units: number): number {
  const there = list[i + 1] as number;
  if (there + units > 0) {
    list[i + 1] = there + units;
    return units;
  }
  remove(list, i, 3);
  return 0 - there;
}

// Loops, because `splice` makes a list of what it removes, and setting a length takes ten times as long as `pop`.
function remove(list: number[], from: number, count: number): void {
  for (let i = from; i + count < list.length; i++) list[i] = list[i + count] as number;
  for (let i = 0; i < count; i++) list.pop();
}
