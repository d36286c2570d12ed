/** The names of the months, three letters each. */
const MONTH_NAMES = "janfebmaraprmayjunjulaugsepoctnovdec";
// Each is a date, a time of day, a fraction of the second, and a zone. Without a zone it is UTC.
const CLOCK = String.raw`(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?`;
const ZONE = String.raw`(?: ?(Z|GMT|UTC|[+-]\d{2}(?::?\d{2})?))?`;
const WEEKDAY = String.raw`(?:[a-z]{3},? )?`;
// The common log format, and HAProxy: 10/Oct/2026:13:55:36 -0700, 06/Feb/2026:12:14:14.655
const COMMON_TIME = new RegExp(`^(\\d{2})/([a-z]{3})/(\\d{4}):${CLOCK}${ZONE}$`, "i");
// ISO 8601: a space instead of the T, a comma as the decimal sign, and zones as +02, +0200 and +02:00. Go and gin write
// slashes, and gin a minus sign between date and time.
const ISO_TIME = new RegExp(`^(\\d{4})([-/])(\\d{2})\\2(\\d{2})(?:[T ]| - )${CLOCK}${ZONE}$`, "i");
// HTTP dates: Fri, 05 Mar 2027 20:33:53 GMT
const HTTP_TIME = new RegExp(`^${WEEKDAY}(\\d{1,2})[ -]([a-z]{3})[ -](\\d{4}) ${CLOCK}${ZONE}$`, "i");
// The ctime of C: Fri Mar 5 20:33:53 2027
const C_TIME = new RegExp(`^${WEEKDAY}([a-z]{3}) +(\\d{1,2}) ${CLOCK} (\\d{4})$`, "i");

// Seconds have at most 11 digits until the year 5138; milliseconds have had 12 since 1973.
const SECONDS_BELOW = 100_000_000_000;
// The year 5138 in each unit. Before 1973 a number of one unit looks like a later one of the larger unit.
const MILLISECONDS_BELOW = 100_000_000_000_000;
const MICROSECONDS_BELOW = 100_000_000_000_000_000;
const NANOSECONDS_BELOW = 100_000_000_000_000_000_000;

/**
 * Reads a time in milliseconds since 1970: s, ms, µs or ns as a number or as digits, ISO 8601, the time of the common
 * log format, of HTTP, or of C. NaN for anything else, and for a time that no calendar has.
 */
export function instantOf(value: unknown): number {
  const number =
    typeof value === "number" ? value : typeof value === "string" && /^\d{1,20}(?:\.\d{1,9})?$/.test(value) ? Number(value) : NaN;
  if (number >= 0) return Math.floor(millisecondsOf(number));
  return typeof value === "string" ? instantOfText(value) : NaN;
}

// Only these: Date.parse would read almost any text, in the zone of this machine.
function instantOfText(text: string): number {
  if (text.length > 60) return NaN;
  let found = COMMON_TIME.exec(text) ?? HTTP_TIME.exec(text);
  if (found !== null) {
    const [, day, month, year, hour, minute, second, fraction, zone] = found;
    return instantOfParts({ year, month, day, hour, minute, second, fraction, zone });
  }
  found = ISO_TIME.exec(text);
  if (found !== null) {
    const [, year, , month, day, hour, minute, second, fraction, zone] = found;
    return instantOfParts({ year, month, day, hour, minute, second, fraction, zone });
  }
  const [, month, day, hour, minute, second, fraction, year] = C_TIME.exec(text) ?? [];
  return instantOfParts({ year, month, day, hour, minute, second, fraction, zone: undefined });
}

/** The parts of a time as a log writes them. A month is a number or a name. */
export type TimeParts = Readonly<
  Record<"year" | "month" | "day" | "hour" | "minute" | "second" | "fraction" | "zone", string | undefined>
>;

/** Reads the parts of a time in milliseconds since 1970. NaN for a time that no calendar has. */
export function instantOfParts(parts: TimeParts): number {
  const { year, month = "", day, hour = "0", minute = "0", second = "0", fraction = "", zone } = parts;
  const at = monthOf(month);
  const [years, days, hours, minutes, seconds] = [year, day, hour, minute, second].map(Number) as Five;
  const daysOfMonth = new Date(Date.UTC(years, at + 1, 0)).getUTCDate();
  // Date would read 31 February as 3 March. A minute may have 61 seconds.
  const isPossible = at >= 0 && at < 12 && days >= 1 && days <= daysOfMonth && hours < 24 && minutes < 60 && seconds < 61;
  if (!isPossible) return NaN;
  const ms = Number(fraction.slice(0, 3).padEnd(3, "0"));
  return Date.UTC(years, at, days, hours, minutes, seconds, ms) - zoneMs(zone);
}

type Five = [number, number, number, number, number];

function monthOf(text: string): number {
  if (/^\d+$/.test(text)) return Number(text) - 1;
  const at = MONTH_NAMES.indexOf(text.slice(0, 3).toLowerCase());
  return text.length >= 3 && at % 3 === 0 ? at / 3 : NaN;
}

function zoneMs(zone = ""): number {
  const [, sign, hours, minutes = "0"] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone) ?? [];
  if (hours === undefined) return 0;
  if (Number(hours) > 23 || Number(minutes) > 59) return NaN; // as RFC 3339 says
  const ms = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return sign === "-" ? -ms : ms;
}

function millisecondsOf(number: number): number {
  if (number < SECONDS_BELOW) return number * 1_000;
  if (number < MILLISECONDS_BELOW) return number;
  if (number < MICROSECONDS_BELOW) return number / 1_000;
  return number < NANOSECONDS_BELOW ? number / 1_000_000 : NaN;
}
