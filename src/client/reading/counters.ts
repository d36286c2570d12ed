import { parseInstant } from "../../http/retry-after/http-date.js";
import { decimal, headerOf, listItems, untilInstant, type HeaderSource } from "../../http/retry-after/retry-after.js";

/** A guess that is longer is more likely a wrong one than a wait. */
export const MAX_GUESS_MS = 3_600_000;

// All forms are shorter.
const MAX_RESET_CHARACTERS = 64;

/**
 * Parses a vendor's reset field into milliseconds from `sent`, at least 0. Null when it is malformed, or longer than 64
 * characters.
 *
 * Vendors do not name the unit, so the value decides. A number below 1e9 is seconds. From 1e9 it is seconds since 1970,
 * and from 1e12 milliseconds since 1970. ISO 8601 with a time zone and HTTP-dates are read, too.
 */
export function parseReset(text: string, sent: number): number | null {
  if (text.length > MAX_RESET_CHARACTERS) return null;
  const ms = decimal(text, 3);
  if (ms !== null && ms < 1e12) return ms;
  const at = ms ?? parseInstant(text, sent);
  return at === null ? null : untilInstant(at, sent);
}

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
  const resets = listItems(field("reset")).map((item) => readReset(item, sent));
  return numbers("remaining").flatMap((left, index) => {
    const limit = limits[index] as number;
    return limit < 0 ? [] : [[left, (left === left ? resets[index] : null) ?? longest(resets), limit]];
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
