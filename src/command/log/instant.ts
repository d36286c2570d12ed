const MONTH_NAMES = "JanFebMarAprMayJunJulAugSepOctNovDec";
const COMMON_TIME = /^(\d{2})\/(\w{3})\/(\d{4}):(\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2})$/;
// ISO 8601: a space instead of the T, a comma as the decimal sign, and zones as +02, +0200 and +02:00.
const ISO_TIME = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?) ?(?:(Z)|([+-]\d{2})(?::?(\d{2}))?)?$/i;
// Seconds have at most 11 digits until the year 5138; milliseconds have had 12 since 1973.
const SECONDS_BELOW = 100_000_000_000;
// The year 5138 in each unit. Before 1973 a number of one unit looks like a later one of the larger unit.
const MILLISECONDS_BELOW = 100_000_000_000_000;
const MICROSECONDS_BELOW = 100_000_000_000_000_000;
const NANOSECONDS_BELOW = 100_000_000_000_000_000_000;

/**
 * Reads the time of the common log format, `10/Oct/2026:13:55:36 -0700`, in milliseconds since 1970. NaN for any other.
 */
export function instantOfCommon(text: string): number {
  const found = COMMON_TIME.exec(text);
  if (found === null) return NaN;
  const [, day, month, year, hour, minute, second, sign, zoneHours, zoneMinutes] = found;
  const at = MONTH_NAMES.indexOf(month as string);
  if (at % 3 !== 0) return NaN;
  if (!isPossible([Number(year), at / 3, Number(day)], [Number(hour), Number(minute), Number(second)])) return NaN;
  const utc = Date.UTC(Number(year), at / 3, Number(day), Number(hour), Number(minute), Number(second));
  const aheadMs = (Number(zoneHours) * 60 + Number(zoneMinutes)) * 60_000;
  return sign === "+" ? utc - aheadMs : utc + aheadMs;
}

/**
 * Reads a time in milliseconds since 1970: s, ms, µs or ns as a number or as digits, ISO 8601, or the time of the
 * common log format. NaN for anything else.
 */
export function instantOf(value: unknown): number {
  const number =
    typeof value === "number" ? value : typeof value === "string" && /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : NaN;
  if (number >= 0) return Math.floor(millisecondsOf(number));
  if (typeof value !== "string") return NaN;
  const common = instantOfCommon(value);
  return Number.isNaN(common) ? instantOfIso(value) : common;
}

// Only ISO 8601: Date.parse would read almost any text, in the zone of this machine.
function instantOfIso(text: string): number {
  const found = ISO_TIME.exec(text);
  if (found === null) return NaN;
  const [, day = "", time = "", , hours, minutes = "00"] = found;
  const [year, month, date] = day.split("-").map(Number) as [number, number, number];
  const [hour, minute, second = 0] = time.replace(",", ".").split(":").map(Number) as [number, number, number?];
  if (!isPossible([year, month - 1, date], [hour, minute, second])) return NaN;
  return Date.parse(`${day}T${time.replace(",", ".")}${hours === undefined ? "Z" : `${hours}:${minutes}`}`);
}

function millisecondsOf(number: number): number {
  if (number < SECONDS_BELOW) return number * 1_000;
  if (number < MILLISECONDS_BELOW) return number;
  if (number < MICROSECONDS_BELOW) return number / 1_000;
  return number < NANOSECONDS_BELOW ? number / 1_000_000 : NaN;
}

type Three = readonly [number, number, number];

// Date would read 31 February as 3 March.
function isPossible([year, month, day]: Three, [hour, minute, second]: Three): boolean {
  const daysOfMonth = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return month < 12 && day >= 1 && day <= daysOfMonth && hour < 24 && minute < 60 && second < 61;
}
