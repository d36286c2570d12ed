import { instantOf, instantOfParts } from "../instant.js";
import type { FormatField } from "./line-format.js";

/** Reads the time from the texts of the fields, in milliseconds since 1970. NaN for a time that no calendar has. */
export type TimeOfLine = (texts: readonly string[]) => number;

/** The fields that are a whole time, in the order in which they are asked. */
const WHOLE_TIMES = ["time_local", "time_iso8601", "msec", "time", "start_time", "timestamp"];

/** Returns the reader of the time, or undefined if the fields have none. */
export function timeOfFields(fields: readonly FormatField[]): TimeOfLine | undefined {
  const place = (name: string): number => fields.findIndex(({ names }) => names[0]?.toLowerCase() === name);
  const first = (...names: readonly string[]): number => names.map(place).find((at) => at >= 0) ?? -1;
  const [date, time] = [first("date", "date-local"), first("time", "time-local")];
  if (date >= 0 && time >= 0) return withLast([date, time], ([day = "", clock = ""]) => instantOf(`${day}T${clock}`));
  const whole = first(...WHOLE_TIMES);
  if (whole >= 0) return timeOfField(whole);
  const parts = fields.flatMap((field, at) => (field.time === undefined ? [] : [{ at, part: field.time }]));
  const has = (part: string): boolean => parts.some((each) => each.part === part);
  const hasDate = (has("year") || has("shortYear")) && has("month") && has("day");
  if (!has("epoch") && !hasDate) return undefined;
  return withLast(parts.map(({ at }) => at), (texts) =>
    instantOfNamed(Object.fromEntries(parts.map(({ part }, i) => [part, (texts[i] as string).trim()]))),
  );
}

/** Returns the reader of a time that is the field at this position. */
export function timeOfField(position: number): TimeOfLine {
  return withLast([position], ([text]) => instantOf(text));
}

/** Many lines have the time of the one before. */
function withLast(positions: readonly number[], read: TimeOfLine): TimeOfLine {
  let [lastText, lastAt] = ["", NaN];
  return (texts) => {
    const own = positions.map((at) => texts[at] as string);
    const text = own.join(" ");
    if (text !== lastText) [lastText, lastAt] = [text, read(own)];
    return lastAt;
  };
}

function instantOfNamed(named: Readonly<Record<string, string | undefined>>): number {
  const { epoch, year, shortYear = "", month, day, minute, second, fraction = "", zone, half } = named;
  if (epoch !== undefined) return instantOf(epoch) + Number(fraction.slice(0, 3));
  const hour = half === undefined ? named["hour"] : String((Number(named["hour"]) % 12) + (/p/i.test(half) ? 12 : 0));
  return instantOfParts({ year: year ?? `20${shortYear}`, month, day, hour, minute, second, fraction, zone });
}
