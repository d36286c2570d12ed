import { addressFieldOf, addressTextOf, type AddressFinder } from "./address-field.js";
import { contentsOf, logfmtOf, withoutPrefixes } from "./envelopes.js";
import { callerOfText, costField, entryOf, numberOfText, type LogEntry, type LogFields, type ReadEntry } from "./entry.js";
import { instantOf } from "./instant.js";
import { collectNames, namedField, valueAt, type NamedField } from "./names.js";

/** Reads the members of a line. `outerTime` is that of the envelope around it. */
export type ReadRecord = (given: unknown, outerTime: unknown, depth: number) => LogEntry | string;

/** Other names for the members of JSON lines: for `address` those that a server writes, the first that is there. */
export type MemberNames = Readonly<Record<string, readonly string[]>>;

// Guessed, in this order, when the time of JSON lines is not named.
const TIMES = [
  "time", "timestamp", "ts", "@timestamp", "at", "date", "datetime", "@t", "start_time", "started_at", "requestTime", "timeStamp",
  "time_iso8601", "time_local", "StartUTC", "EdgeStartTimestamp", "receiveTimestamp", "timeUnixNano",
];
/** Envelopes in envelopes, at most. */
const DEEPEST_ENVELOPE = 4;

/** Whether a line may be a JSON object. */
export const isObject = (line: string): boolean => line.charCodeAt(0) === 123 || line.trimStart().charCodeAt(0) === 123;

// All whole numbers that JSON.parse may round have 16 digits or more.
const MANY_DIGITS = /\d{16}/;
// Each letter has one way to match, so the time stays linear. A number is taken whole, with its fraction and exponent.
const TEXTS_AND_NUMBERS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const LONG_WHOLE = /^-?\d{16,}$/;

/** The value of a JSON text, or undefined. A whole number of 16 digits or more is a text, so that no id is rounded. */
export function jsonOf(line: string): unknown {
  try {
    const value = JSON.parse(line) as unknown;
    if (!MANY_DIGITS.test(line)) return value;
    return JSON.parse(line.replace(TEXTS_AND_NUMBERS, (part) => (LONG_WHOLE.test(part) ? `"${part}"` : part))) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * Reads the records of JSON lines and logfmt, and opens envelopes. `names` collects those of lines without a caller.
 */
export function jsonReader(
  { key, time, costs }: LogFields, members: MemberNames, readText: ReadEntry, names: Set<string>, addresses: AddressFinder,
): ReadRecord {
  const named = (name: string): readonly NamedField[] =>
    ((Object.hasOwn(members, name) ? members[name] : undefined) ?? [name]).map(namedField);
  const address = addressFieldOf(key);
  const keyFields = named(address?.field ?? key);
  const textOf = address === null ? keyTextOf : addressTextOf;
  const costFields = costs.map(costField).map((cost) => ({ ...cost, fields: named(cost.field) }));
  const timeFields = time === undefined ? [...(members["time"] ?? []), ...TIMES].map(namedField) : named(time);
  const timePlace = ` at ${time ?? "time, timestamp, ts or another known name (--time names it)"}`;
  const ofRecord: ReadRecord = (given, outerTime, depth) => {
    let at = NaN;
    for (const { path } of timeFields) {
      at = instantOf(valueAt(given, path));
      if (!Number.isNaN(at)) break;
    }
    if (Number.isNaN(at) && time === undefined) at = instantOf(outerTime);
    let caller = callerIn(given, keyFields, textOf);
    if (caller === "" && depth < DEEPEST_ENVELOPE) {
      const inner = ofEnvelope(given, Number.isNaN(at) ? outerTime : at, depth + 1);
      if (inner !== undefined) return inner;
    }
    // After the envelope, because a log shipper may write its own address.
    const isSought = caller === "" && address !== null && address.field === undefined;
    const found = isSought ? addresses.find(given) : undefined;
    caller = found?.text ?? caller;
    if (caller === "") collectNames(given, names);
    const entry = entryOf(at, timePlace, caller, costFields, ({ fields }) => numberOfValue(firstValue(given, fields)));
    if (found !== undefined && typeof entry === "object") addresses.use(found);
    return entry;
  };
  /** The first request with a caller in the members that hold lines. */
  function ofEnvelope(given: unknown, outerTime: unknown, depth: number): LogEntry | undefined {
    if (typeof given !== "object" || given === null) return undefined;
    for (const inner of contentsOf(given)) {
      const entry = typeof inner === "string" ? ofText(inner.trim(), outerTime, depth) : ofRecord(inner, outerTime, depth);
      if (typeof entry === "object" && entry.key !== "") return entry;
    }
    return undefined;
  }
  function ofText(text: string, outerTime: unknown, depth: number): LogEntry | string {
    const plain = isObject(text) ? text : withoutPrefixes(text).text;
    const record = isObject(plain) ? jsonOf(plain) : logfmtOf(plain);
    return record === undefined ? readText(plain) : ofRecord(record, outerTime, depth);
  }
  return ofRecord;
}

/** The first caller that a field has, or an empty text. */
function callerIn(given: unknown, fields: readonly NamedField[], textOf: (value: unknown) => string): string {
  for (const { path } of fields) {
    const caller = callerOfText(textOf(valueAt(given, path)));
    if (caller !== "") return caller;
  }
  return "";
}

// Number() reads more than a log means: it makes 0 of an empty list, and 1 of true.
function numberOfValue(value: unknown): number {
  return typeof value === "number" ? value : typeof value === "string" ? numberOfText(value) : NaN;
}

function firstValue(given: unknown, fields: readonly NamedField[]): unknown {
  for (const { path } of fields) {
    const value = valueAt(given, path);
    if (value !== undefined) return value;
  }
  return undefined;
}

// A key of several parts is a list. As a limiter does, it takes 42 and "42" for one part.
function keyTextOf(value: unknown): string {
  if (typeof value === "string" || typeof value === "number") return String(value);
  return Array.isArray(value) && value.length > 0 ? JSON.stringify(value.map(String)) : "";
}
