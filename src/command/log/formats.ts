import { instantOf, instantOfCommon } from "./instant.js";
import { Misuse } from "../misuse.js";

/** One request of a log. */
export interface LogEntry {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The caller. Empty for a request without one. Not readonly: one text for all requests of a caller replaces it. */
  key: string;
  /** A number for each field of {@link LogFields.costs}, in their order. */
  readonly costs: readonly number[];
}

/** Where a line has the caller, the time and the costs: names of fields, or paths such as `user.id` in JSON. */
export interface LogFields {
  readonly key: string;
  readonly time: string | undefined;
  readonly costs: readonly string[];
}

/** Reads a line: a request, or in words why it is none. */
type ReadEntry = (line: string) => LogEntry | string;

/** The fields of the common and the combined log format (nginx, Apache). */
const COMMON_FIELDS = ["address", "user", "time", "method", "path", "status", "bytes", "referer", "agent"] as const;
/** A field that is a group of the expression, by its number. The others are parts of the request. */
const GROUPS = { address: 1, user: 2, time: 3, status: 5, bytes: 6, referer: 7, agent: 8 };
const REQUEST = 4;
// A caller writes the texts in quotes, so each letter must have only one way to match: the time stays linear.
const QUOTED = String.raw`"([^"\\]*(?:\\[^][^"\\]*)*)"`;
const LINE = new RegExp(String.raw`^(\S+) \S+ (\S+) \[([^\]]+)\] ${QUOTED} (\d{3}) (\d+|-)(?: ${QUOTED} ${QUOTED})?`);
// Guessed, in this order, when the time of JSON lines is not named.
const TIMES = ["time", "timestamp", "ts", "@timestamp", "at", "date"];
const NO_COSTS: readonly number[] = Object.freeze([]);
/** The readers of lines get no longer ones. */
export const LONGEST_LINE = 1_000_000;

/** Reads the lines of a log. Each line may have another format, because a log in JSON often begins with plain text. */
export class LineReader {
  readonly #readJson: ReadEntry;
  readonly #readCommon: ReadEntry;
  /** Why the fields do not suit the common format. */
  #misuse: Misuse | null = null;
  #hasJson = false;
  #hasOther = false;

  constructor(fields: LogFields) {
    this.#readJson = jsonReader(fields);
    this.#readCommon = this.#commonReader(fields);
  }

  /** A request, or in words why the line is none. */
  read(line: string): LogEntry | string {
    if (line.length > LONGEST_LINE) return "longer than a million letters";
    if (line.charCodeAt(0) === 123 || line.trimStart().charCodeAt(0) === 123) {
      this.#hasJson = true;
      return this.#readJson(line);
    }
    this.#hasOther = true;
    return this.#readCommon(line);
  }

  /** Throws a {@link Misuse} when the fields are for JSON, and the log had none. */
  end(): void {
    if (this.#misuse !== null && this.#hasOther && !this.#hasJson) throw this.#misuse;
  }

  #commonReader(fields: LogFields): ReadEntry {
    try {
      return commonReader(fields);
    } catch (error) {
      this.#misuse = error as Misuse;
      return () => "not JSON";
    }
  }
}

function commonReader({ key, costs }: LogFields): ReadEntry {
  const keyOf = commonField(key, "--key");
  const costFields = costs.map((field) => ({ field, valueOf: commonField(field, "--cost") }));
  let [lastTime, lastAt] = ["", NaN];
  return (line) => {
    const found = LINE.exec(line);
    if (found === null) return "not in the common or combined format";
    // Many lines have the time of the one before.
    const time = found[3] as string;
    if (time !== lastTime) [lastTime, lastAt] = [time, instantOfCommon(time)];
    const caller = keyOf(found);
    // A minus sign stands for no user, and for no bytes.
    return entryOf(lastAt, "", caller === "-" ? "" : caller, costFields, ({ valueOf }) => {
      const text = valueOf(found);
      return text === "-" ? 0 : Number(text || NaN);
    });
  };
}

function commonField(field: string, option: string): (found: RegExpExecArray) => string {
  if (field === "method" || field === "path") {
    const at = field === "method" ? 0 : 1;
    return (found) => (found[REQUEST] as string).split(" ", 2)[at] ?? "-";
  }
  const group = Object.hasOwn(GROUPS, field) ? GROUPS[field as keyof typeof GROUPS] : undefined;
  if (group === undefined)
    throw new Misuse(
      `Expected ${option} to be one of ${COMMON_FIELDS.join(", ")} for a log in the common or combined format, got ${field}`,
    );
  return (found) => found[group] ?? "-";
}

function jsonReader({ key, time, costs }: LogFields): ReadEntry {
  const keyField = jsonField(key);
  const costFields = costs.map(jsonField);
  const timeFields = (time === undefined ? TIMES : [time]).map(jsonField);
  const timePlace = ` at ${time ?? `any of ${TIMES.join(", ")}`}`;
  return (line) => {
    const given = jsonOf(line);
    if (given === undefined) return "not JSON";
    let at = NaN;
    for (const field of timeFields) {
      at = instantOf(valueAt(given, field));
      if (!Number.isNaN(at)) break;
    }
    const caller = keyTextOf(valueAt(given, keyField));
    return entryOf(at, timePlace, caller, costFields, (field) => Number(valueAt(given, field) ?? NaN));
  };
}

// A key of several parts is a list. As a limiter does, it takes 42 and "42" for one part.
function keyTextOf(value: unknown): string {
  if (typeof value === "string" || typeof value === "number") return String(value);
  return Array.isArray(value) && value.length > 0 ? JSON.stringify(value.map(String)) : "";
}

// Five arguments and no object: this runs for each line of a log.
function entryOf<F extends { readonly field: string }>(
  at: number, timePlace: string, key: string, costFields: readonly F[], valueOf: (field: F) => number,
): LogEntry | string {
  if (at === Infinity) return `with a time in microseconds or nanoseconds${timePlace}`;
  if (!Number.isSafeInteger(at) || at < 0) return `without a time${timePlace}`;
  if (costFields.length === 0) return { at, key, costs: NO_COSTS };
  const costs: number[] = [];
  for (const field of costFields) {
    const cost = valueOf(field);
    if (!Number.isSafeInteger(cost) || cost < 0) return `without a whole number at ${field.field}`;
    costs.push(cost);
  }
  return { at, key, costs };
}

interface JsonField {
  readonly field: string;
  readonly path: readonly string[];
}

const jsonField = (field: string): JsonField => ({ field, path: field.split(".") });

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

/** Some loggers write a flat `{"user.id": 42}`, so the whole name comes first. */
function valueAt(value: unknown, { field, path }: JsonField): unknown {
  if (path.length > 1 && Object.hasOwn(Object(value) as object, field)) return (value as Record<string, unknown>)[field];
  return path.reduce<unknown>(
    (inner, name) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, name)
        ? (inner as Record<string, unknown>)[name]
        : undefined,
    value,
  );
}
