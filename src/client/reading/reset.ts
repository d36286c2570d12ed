import { parseHttpDate } from "../../http/retry-after/http-date.js";
import { decimal } from "../../http/retry-after/retry-after.js";

// The longest form that vendors send, a date with a name of its time zone, has fewer characters.
const MAX_CHARACTERS = 64;
const ISO = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * Parses a vendor's reset field into milliseconds from `sent`, at least 0. Null when it is malformed, or longer than 64
 * characters.
 *
 * Vendors do not name the unit, so the value decides. A number below 1e9 is seconds. From 1e9 it is seconds since 1970,
 * and from 1e12 milliseconds since 1970. ISO 8601 with a time zone, HTTP-dates and durations such as `6m0s` are read,
 * too.
 */
export function parseReset(text: string, sent: number): number | null {
  if (text.length > MAX_CHARACTERS) return null;
  let at = decimal(text, 3);
  if (at !== null && at < 1e12) return at;
  let ms = 0;
  const rest = text.replace(/(\d+(?:\.\d+)?)(ms|[smh])/gy, (_, count: string, unit: string) => ((ms += +count * (UNIT_MS[unit] as number)), ""));
  if (text !== rest) return rest === "" ? Math.ceil(ms) : null;
  if (at !== null) at /= at < 1e15 ? 1 : 1_000;
  // `Date.parse` cuts off digits beyond milliseconds, so the wait is rounded up by 1 ms.
  else at = ISO.test(text) ? Date.parse(text) + Number(/\.\d{4}/.test(text)) : parseHttpDate(text, sent);
  return at === null || Number.isNaN(at) ? null : Math.max(0, Math.ceil(at - sent));
}
