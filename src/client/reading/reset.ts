import { parseHttpDate } from "../../http/retry-after/http-date.js";
import { decimal } from "../../http/retry-after/retry-after.js";

const ISO = /^\d{4}-.+T.+(Z|[+-]\d\d:\d\d)$/;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * Milliseconds from `sent` until what a vendor's reset field tells, at least 0; null when it is unreadable.
 *
 * No vendor says its unit, so the value must: a number is seconds, from 1e9 on seconds since 1970, from 1e12 on milliseconds since 1970;
 * the rest are ISO 8601 with a time zone, HTTP-dates, and durations such as `6m0s`.
 */
export function parseReset(text: string, sent: number): number | null {
  let at = decimal(text, 3);
  if (at !== null && at < 1e12) return at;
  let ms = 0;
  const rest = text.replace(/(\d+(?:\.\d+)?)(ms|[smh])/g, (_, count: string, unit: string) => ((ms += +count * (UNIT_MS[unit] as number)), ""));
  if (text !== rest) return rest === "" ? Math.ceil(ms) : null;
  if (at !== null) at /= at < 1e15 ? 1 : 1_000;
  // Platforms cut off what is beyond milliseconds.
  else at = ISO.test(text) ? Date.parse(text) + Number(/\.\d{4}/.test(text)) : parseHttpDate(text, sent);
  return at === null || Number.isNaN(at) ? null : Math.max(0, Math.ceil(at - sent));
}
