import { instantOf, instantOfCommon } from "./instant.js";
import { Misuse } from "../misuse.js";

/** One request of a log. */
export interface LogEntry {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The caller. Empty for a request without one. Not readonly: one text for all requests of a caller replaces it. */
  key: string;
  readonly cost: number;
}

/** Where a line has the caller, the time and the cost: names of fields, or paths such as `user.id` in JSON. */
export interface LogFields {
  readonly key: string;
  readonly time: string | undefined;
  readonly cost: string | undefined;
}

/** Reads a line. Null for one that is not a request of the log. */
export type ReadEntry = (line: string) => LogEntry | null;

/** The fields of the common and the combined log format (nginx, Apache), by their position in the expression. */
const COMMON_FIELDS = ["address", "user", "time", "method", "path", "status", "bytes", "referer", "agent"];
const LINE = /^(\S+) \S+ (\S+) \[([^\]]+)\] "(\S*) ?(\S*)[^"]*" (\d{3}) (\d+|-)(?: "([^"]*)" "([^"]*)")?/;
// Guessed, in this order, when the time of JSON lines is not named.
const TIMES = ["time", "timestamp", "ts", "@timestamp", "at", "date"];

/** Returns the reader for logs whose first line is this one. */
export function readerFor(firstLine: string, fields: LogFields): ReadEntry {
  return /^\s*\{/.test(firstLine) ? jsonReader(fields) : commonReader(fields);
}

function commonReader({ key, cost }: LogFields): ReadEntry {
  const keyAt = positionOf(key, "--key");
  const costAt = cost === undefined ? 0 : positionOf(cost, "--cost");
  let [lastTime, lastAt] = ["", NaN];
  return (line) => {
    const found = LINE.exec(line);
    if (found === null) return null;
    // Many lines have the time of the one before.
    const time = found[3] as string;
    if (time !== lastTime) [lastTime, lastAt] = [time, instantOfCommon(time)];
    const caller = found[keyAt] ?? "-";
    return entryOf(lastAt, caller === "-" ? "" : caller, costAt === 0 ? 1 : Number(found[costAt]));
  };
}

function positionOf(field: string, option: string): number {
  const at = COMMON_FIELDS.indexOf(field);
  if (at < 0)
    throw new Misuse(
      `Expected ${option} to be one of ${COMMON_FIELDS.join(", ")} for a log in the common or combined format, got ${field}`,
    );
  return at + 1;
}

function jsonReader({ key, time, cost }: LogFields): ReadEntry {
  const [keyPath, costPath] = [pathOf(key), cost === undefined ? null : pathOf(cost)];
  const timePaths = time === undefined ? TIMES.map((name) => [name]) : [pathOf(time)];
  return (line) => {
    const given = jsonOf(line);
    if (given === undefined) return null;
    const at = timePaths.map((path) => instantOf(valueAt(given, path))).find((each) => !Number.isNaN(each)) ?? NaN;
    const caller = valueAt(given, keyPath);
    const isCaller = typeof caller === "string" || typeof caller === "number";
    return entryOf(at, isCaller ? String(caller) : "", costPath === null ? 1 : Number(valueAt(given, costPath) ?? NaN));
  };
}

function entryOf(at: number, key: string, cost: number): LogEntry | null {
  return Number.isSafeInteger(at) && at >= 0 && Number.isSafeInteger(cost) && cost >= 0 ? { at, key, cost } : null;
}

const pathOf = (text: string): readonly string[] => text.split(".");

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, name) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, name)
        ? (inner as Record<string, unknown>)[name]
        : undefined,
    value,
  );
}
