import type { Bucket } from "../../core/bucket.js";
import { StoreError } from "./store-error.js";

const FORMAT = "sluice1";
const RECORDS = /^sluice1(?: (?:!|[~^]?[A-Za-z0-9][\w.-]*)(?: -?\d+){4})*$/;

/**
 * Writes the records of one key as text: the owner and version of the format, then " name spent at p q" for each limit
 * that is not full, and for a block, whose name is "!". A limit in flight has one for each date, such as "~parallel.0",
 * and a window one for each amount, such as "^minute.0". Returns the milliseconds until all limits are full, 0 when
 * they are.
 */
export function encodeRecords(records: ReadonlyMap<string, Bucket>, now: number): { value: string; ttlMs: number } {
  let value = FORMAT;
  let ttlMs = 0;
  for (const [name, { spent, at, unitsPerMs, unitsPerToken }] of records) {
    const left = at + Math.ceil(spent / unitsPerMs) - now;
    if (spent === 0 || left <= 0) continue;
    value += ` ${name} ${spent} ${at} ${unitsPerMs} ${unitsPerToken}`;
    ttlMs = Math.max(ttlMs, left);
  }
  return { value, ttlMs };
}

/** Reads what {@link encodeRecords} wrote under `name`. Throws a StoreError for a value that it did not write. */
export function decodeRecords(value: string, name: string): Map<string, Bucket> {
  const [, ...fields] = value.split(" ");
  const records = new Map<string, Bucket>();
  let foreign = !RECORDS.test(value);
  for (let i = 0; i < fields.length && !foreign; i += 5) {
    const [spent, at, unitsPerMs, unitsPerToken] = fields.slice(i + 1, i + 5).map(Number) as [number, number, number, number];
    const whole = [spent, at, unitsPerMs, unitsPerToken].every(Number.isSafeInteger);
    foreign = !(whole && spent >= 0 && unitsPerMs >= 1 && unitsPerToken >= 1);
    records.set(fields[i] as string, { spent, at, unitsPerMs, unitsPerToken });
  }
  if (foreign) {
    throw new StoreError(
      "ERR_STORE_FOREIGN_VALUE",
      `Expected ${JSON.stringify(name)} to hold a bucket, got another program's value. Give the buckets their own namespace.`,
    );
  }
  return records;
}
