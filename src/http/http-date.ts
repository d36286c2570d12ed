const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";
// Sun Nov  6 08:49:37 1994
const ASCTIME = /^(\w{3}) (\w{3}) +(\d\d?) ([\d:]{8}) (\d{4})$/;
// Sun, 06 Nov 1994 08:49:37 GMT, and Sunday, 06-Nov-94 08:49:37 GMT
const DATE = /^[A-Z][a-z]+, (\d\d?)[ -]([A-Z][a-z]{2})[ -](\d{4}|\d\d) ([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60) GMT$/;

/**
 * The instant that an HTTP-date names, in milliseconds since 1970; null when `text` is none.
 *
 * All three forms are read, always as UTC: IMF-fixdate, rfc850 and asctime. A leap second (`:60`) is the next minute's first.
 * The two-digit year of rfc850 is the latest that lies at most 50 years after `now` (milliseconds since 1970).
 * Whether the weekday fits is not checked. `Date.parse` would read asctime in the local time zone and guess the century.
 *
 * Source: RFC 9110, section 5.6.7.
 * @example
 * parseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT", Date.now()); // 784_111_777_000
 */
export function parseHttpDate(text: string, now: number): number | null {
  const parts = DATE.exec(text.replace(ASCTIME, "$1, $3 $2 $5 $4 GMT"));
  if (parts === null) return null;
  const [day, month, year, hour, minute, second] = parts.slice(1) as [string, string, string, string, string, string];
  const monthIndex = MONTHS.indexOf(month) / 3;
  const midnightIn = (fullYear: number): Date => new Date(new Date(0).setUTCFullYear(fullYear, monthIndex, Number(day)));
  const sinceMidnight = ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1_000;

  let fullYear = Number(year);
  if (year.length === 2) {
    const latest = new Date(now);
    const thisYear = latest.getUTCFullYear();
    latest.setUTCFullYear(thisYear + 50);
    fullYear += thisYear - (thisYear % 100) + 100;
    while (midnightIn(fullYear).getTime() + sinceMidnight > latest.getTime()) fullYear -= 100;
  }
  const midnight = midnightIn(fullYear);
  // The 31st of a shorter month would roll over into the next.
  return monthIndex < 0 || midnight.getUTCDate() !== Number(day) ? null : midnight.getTime() + sinceMidnight;
}
