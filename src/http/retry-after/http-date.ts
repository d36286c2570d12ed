const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";
// Sun Nov 6 08:49:37 1994
const ASCTIME = /^(\w{3}) (\w{3}) +(\d\d?) ([\d:]{8}) (\d{4})$/;
// Sun, 06 Nov 1994 08:49:37 GMT, and Sunday, 06-Nov-94 08:49:37 GMT
const DATE =
  /^[A-Z][a-z]+, (\d\d?)[ -]([A-Z][a-z]{2})[ -]([1-9]\d{3}|\d\d) ([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60) (?:GMT|UTC|[+-]0{4})$/;
const ISO = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)$/;

/**
 * Returns the instant of ISO 8601 with a time zone, or of an HTTP-date, in milliseconds since 1970. Null for other
 * text. `now` is as in {@link parseHttpDate}.
 */
export function parseInstant(text: string, now: number): number | null {
  // `Date.parse` cuts off digits beyond milliseconds, so the wait is rounded up by 1 ms.
  const at = ISO.test(text) ? Date.parse(text) + Number(/\.\d{4}/.test(text)) : parseHttpDate(text, now);
  return Number.isNaN(at) ? null : at;
}

/**
 * Returns the instant of an HTTP-date in milliseconds since 1970, or null when `text` is not an HTTP-date.
 *
 * Reads the forms IMF-fixdate, rfc850 and asctime, always as UTC. `UTC`, `+0000` or `-0000` may stand in place of
 * `GMT`. A leap second (`:60`) is the first second of the next minute. A two-digit year of rfc850 is the latest year
 * that is at most 50 years after `now` (milliseconds since 1970). The weekday is not checked. `Date.parse` would read
 * asctime in the local time zone and guess the century.
 *
 * Source: RFC 9110, section 5.6.7.
 * @example
 * parseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT", Date.now()); // 784_111_777_000
 */
export function parseHttpDate(text: string, now: number): number | null {
  const parts = DATE.exec(text.replace(ASCTIME, "$1, $3 $2 $5 $4 GMT"));
  if (!parts) return null;
  const month = MONTHS.indexOf(parts[2] as string) / 3;
  const [, day, , written, ...time] = parts.map(Number) as [number, number, number, number, number, number, number];
  let year = written;
  if (year < 100) {
    const latest = new Date(now);
    latest.setUTCFullYear(latest.getUTCFullYear() + 50);
    year += Math.floor((latest.getUTCFullYear() - year) / 100) * 100;
    if (Date.UTC(year, month, day, ...time) > +latest) year -= 100;
  }
  // Date.UTC turns 31 April into 1 May.
  const exists = month >= 0 && new Date(Date.UTC(year, month, day)).getUTCDate() === day;
  return exists ? Date.UTC(year, month, day, ...time) : null;
}
