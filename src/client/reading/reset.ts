import { parseHttpDate } from "../../http/retry-after/http-date.js";
import { decimal, untilInstant } from "../../http/retry-after/retry-after.js";

// All forms are shorter.
const MAX_RESET_CHARACTERS = 64;
const ISO = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/;

/**
 * Parses a vendor's reset field into milliseconds from `sent`, at least 0. Null when it is malformed, or longer than 64
 * characters.
 *
 * Vendors do not name the unit, so the value decides. A number below 1e9 is seconds. From 1e9 it is seconds since 1970,
 * and from 1e12 milliseconds since 1970. ISO 8601 with a time zone and HTTP-dates are read, too.
 */
export function parseReset(text: string, sent: number): number | null {
  if (text.length > MAX_RESET_CHARACTERS) return null;
  let at = decimal(text, 3);
  if (at !== null && at < 1e12) return at;
  // `Date.parse` cuts off digits beyond milliseconds, so the wait is rounded up by 1 ms.
  at ??= ISO.test(text) ? Date.parse(text) + Number(/\.\d{4}/.test(text)) : parseHttpDate(text, sent);
  return at === null || Number.isNaN(at) ? null : untilInstant(at, sent);
}
