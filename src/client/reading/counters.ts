import { headerOf, type HeaderSource } from "../../http/retry-after/retry-after.js";
import { parseReset } from "./reset.js";

/** A limit as three fields state it. */
type Counter = readonly [remaining: number, resetMs: number | null, limit: number];

/**
 * Parses the fields `remaining`, `reset` and `limit`, whose values `field` returns. `sent` is when the response was
 * sent, in milliseconds since 1970.
 *
 * Several servers in a row send lists (`0, 50`). Parameters (`76;w=21600`) are dropped. A negative `remaining` is 0. A
 * negative `limit` means that there is none.
 */
export function countersIn(field: (name: string) => string, sent: number, readReset = parseReset): Counter[] {
  const numbers = (name: string): number[] => field(name).split(",").map(parseFloat);
  const lefts = numbers("remaining");
  const limits = numbers("limit");
  // The comma in an HTTP-date separates nothing. A list of dates is malformed.
  const resets = field("reset").split(/,(?![^,]*[A-Z])/).map((item) => readReset(item.replace(/;.*/, "").trim(), sent));
  return lefts.flatMap((left, index) => {
    const isAligned = ({ length }: unknown[]): boolean => length === lefts.length;
    // Of one server, further limits name its policies.
    const limit = lefts.length === 1 || isAligned(limits) ? (limits[index] as number) : NaN;
    const resetMs = isAligned(resets) ? (resets[index] as number | null) : longest(resets);
    return limit < 0 || !(Math.abs(left) < 1e15) ? [] : [[left, resetMs, limit]];
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
