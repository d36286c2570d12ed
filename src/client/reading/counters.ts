import { headerOf, type HeaderSource } from "../../http/retry-after/retry-after.js";
import { parseReset } from "./reset.js";

/** A limit as three fields state it. A number that they do not state is NaN, or undefined at the end of a list. */
type Counter = readonly [remaining: number, resetMs: number | null, limit: number];

/**
 * Parses the fields `remaining`, `reset` and `limit`, whose values `field` returns. `sent` is when the response was
 * sent, in milliseconds since 1970.
 *
 * Several servers in a row send lists (`0, 50`). A parameter behind a count (`76;w=21600`) is dropped. A negative
 * `limit` means that there is none. A counter without a reset at its place in the list has the longest.
 */
export function countersIn(field: (name: string) => string, sent: number, readReset = parseReset): Counter[] {
  const numbers = (name: string): number[] => field(name).split(",").map(parseFloat);
  const limits = numbers("limit");
  // The comma in an HTTP-date separates nothing. A list of dates is malformed.
  const resets = field("reset").split(/,\s*(?![^,]*[A-Z])/).map((item) => readReset(item, sent));
  return numbers("remaining").flatMap((left, index) => {
    const limit = limits[index] as number;
    return limit < 0 ? [] : [[left, resets[index] ?? longest(resets), limit]];
  });
}

/** Whether the response comes from a cache, so its limits are out of date. */
export function isCached(headers: HeaderSource): boolean {
  return Number(headerOf(headers, "age")) > 0;
}

/** The longest of some waits. Null when none of them is told. */
export function longest(waits: readonly (number | null)[]): number | null {
  return waits.reduce((most, each) => (each === null || (most !== null && each < most) ? most : each), null);
}
