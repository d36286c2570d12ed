import { instantOf, instantOfCommon } from "./instant.js";
import { Misuse } from "../misuse.js";
import { addressFieldOf, AddressFinder, addressTextOf } from "./address-field.js";
import { contentsOf, logfmtOf, withoutPrefixes } from "./envelopes.js";
import { collectNames, namedField, valueAt, type NamedField } from "./names.js";

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
/** Reads the members of a line. `outerTime` is that of the envelope around it. */
type ReadRecord = (given: unknown, outerTime: unknown, depth: number) => LogEntry | string;

/** The fields of the common and the combined log format (nginx, Apache). */
const COMMON_FIELDS = ["address", "user", "time", "method", "path", "status", "bytes", "referer", "agent"] as const;
/** A field that is a group of the expression, by its number. The others are parts of the request. */
const GROUPS = { address: 1, user: 2, time: 3, status: 5, bytes: 6, referer: 7, agent: 8 };
const REQUEST = 4;
// A caller writes the texts in quotes, so each letter must have only one way to match: the time stays linear.
const QUOTED = String.raw`"([^"\\]*(?:\\[^][^"\\]*)*)"`;
// The first name is that of a virtual host. A request without an answer has a minus sign for its status.
const LINE = new RegExp(
  String.raw`^(?:[^\s:]+:\d+ (?=\S+ \S+ \S+ \[))?(\S+) \S+ (\S+) \[([^\]]+)\]` +
    String.raw` ${QUOTED} (\d{3}|-) (\d+|-)(?: ${QUOTED} ${QUOTED})?`,
);
// Guessed, in this order, when the time of JSON lines is not named.
const TIMES = ["time", "timestamp", "ts", "@timestamp", "at", "date"];
const NO_COSTS: readonly number[] = Object.freeze([]);
/** The readers of lines get no longer ones. */
export const LONGEST_LINE = 1_000_000;

/** Reads the lines of a log. Each line may have another format, because a log in JSON often begins with plain text. */
export class LineReader {
  readonly #readJson: ReadRecord;
  readonly #readCommon: ReadEntry;
  /** Why the fields do not suit the common format. */
  #misuse: Misuse | null = null;
  #hasJson = false;
  #hasCommon = false;
  /** The names in lines without a caller. */
  readonly names = new Set<string>();
  /** Where the addresses are in lines with named members. */
  readonly addresses = new AddressFinder();

  constructor(fields: LogFields) {
    this.#readJson = jsonReader(fields, (text) => this.#readCommon(text), this.names, this.addresses);
    this.#readCommon = this.#commonReader(fields);
  }

  /** A request, or in words why the line is none. */
  read(line: string): LogEntry | string {
    if (line.length > LONGEST_LINE) return "longer than a million letters";
    if (line.startsWith("[{") || line === "[" || line === "]") return 'a JSON list: write one object a line, as jq -c ".[]" does';
    if (isObject(line)) return this.#readJsonIn(line);
    const common = this.#readCommon(line);
    if (typeof common !== "string") return common;
    const { text, time } = withoutPrefixes(line);
    if (isObject(text)) return this.#readJsonIn(text, time);
    if (text !== line) {
      const inner = this.#readCommon(text);
      if (typeof inner !== "string") return inner;
    }
    const pairs = logfmtOf(text);
    if (pairs !== undefined) return this.#readRecord(pairs, time);
    // Text of a logger, and a JSON object up to the end of the line.
    const begin = text.indexOf("{");
    if (begin > 0 && text.trimEnd().endsWith("}")) {
      const given = jsonOf(text.slice(begin));
      if (given !== undefined) return this.#readRecord(given, time);
    }
    return common;
  }

  /** Throws a {@link Misuse} when the fields are for JSON, and all lines are in the common format. */
  end(): void {
    if (this.#misuse !== null && this.#hasCommon && !this.#hasJson) throw this.#misuse;
  }

  #readJsonIn(text: string, time?: string): LogEntry | string {
    const given = jsonOf(text) ?? (text.trimEnd().endsWith(",") ? jsonOf(text.trimEnd().slice(0, -1)) : undefined);
    return given === undefined ? "not JSON" : this.#readRecord(given, time);
  }

  #readRecord(record: unknown, time: unknown): LogEntry | string {
    this.#hasJson = true;
    return this.#readJson(record, time, 0);
  }

  #commonReader(fields: LogFields): ReadEntry {
    try {
      return commonReader(fields);
    } catch (error) {
      this.#misuse = error as Misuse;
      return (line) => {
        if (LINE.test(line)) this.#hasCommon = true;
        return "not JSON, logfmt, or in the common or combined format";
      };
    }
  }
}

function commonReader({ key, costs }: LogFields): ReadEntry {
  const keyOf = commonField(addressFieldOf(key)?.field ?? key, "--key");
  const costFields = costs.map(costField).map((cost) => ({ ...cost, valueOf: commonField(cost.field, "--cost") }));
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

/** Envelopes in envelopes, at most. */
const DEEPEST_ENVELOPE = 4;

function jsonReader(
  { key, time, costs }: LogFields, readCommon: ReadEntry, names: Set<string>, addresses: AddressFinder,
): ReadRecord {
  const address = addressFieldOf(key);
  const keyField = namedField(address?.field ?? key);
  const textOf = address === null ? keyTextOf : addressTextOf;
  const costFields = costs.map(costField);
  const timeFields = (time === undefined ? TIMES : [time]).map(namedField);
  const timePlace = ` at ${time ?? `any of ${TIMES.join(", ")}`}`;
  const ofRecord: ReadRecord = (given, outerTime, depth) => {
    let at = NaN;
    for (const { path } of timeFields) {
      at = instantOf(valueAt(given, path));
      if (!Number.isNaN(at)) break;
    }
    if (Number.isNaN(at) && time === undefined) at = instantOf(outerTime);
    let caller = textOf(valueAt(given, keyField.path));
    if (caller === "" && depth < DEEPEST_ENVELOPE) {
      const inner = ofEnvelope(given, Number.isNaN(at) ? outerTime : at, depth + 1);
      if (inner !== undefined) return inner;
    }
    // After the envelope, because a log shipper may write its own address.
    if (caller === "" && address !== null && address.field === undefined) caller = addresses.find(given);
    if (caller === "") collectNames(given, names);
    return entryOf(at, timePlace, caller, costFields, ({ path }) => Number(valueAt(given, path) ?? NaN));
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
    return record === undefined ? readCommon(plain) : ofRecord(record, outerTime, depth);
  }
  return ofRecord;
}

const isObject = (line: string): boolean => line.charCodeAt(0) === 123 || line.trimStart().charCodeAt(0) === 123;

// A key of several parts is a list. As a limiter does, it takes 42 and "42" for one part.
function keyTextOf(value: unknown): string {
  if (typeof value === "string" || typeof value === "number") return String(value);
  return Array.isArray(value) && value.length > 0 ? JSON.stringify(value.map(String)) : "";
}

// Five arguments and no object: this runs for each line of a log.
function entryOf<F extends CostField>(
  at: number, timePlace: string, key: string, costFields: readonly F[], valueOf: (field: F) => number,
): LogEntry | string {
  if (!Number.isSafeInteger(at) || at < 0) return `without a time${timePlace}`;
  if (costFields.length === 0) return { at, key, costs: NO_COSTS };
  const costs: number[] = [];
  for (const field of costFields) {
    const read = valueOf(field);
    // Rounded up, after the error of the multiplication is gone: 0.29 * 100 is 29.
    const cost = field.factor === 1 ? read : Math.ceil(Number((read * field.factor).toPrecision(15)));
    if (!Number.isSafeInteger(cost) || cost < 0) {
      const cure = read > 0 && !Number.isInteger(read) ? `, for fractions write ${field.field}*100` : "";
      return `without a whole number at ${field.field}${cure}`;
    }
    costs.push(cost);
  }
  return { at, key, costs };
}

interface CostField extends NamedField {
  /** Fractions are multiplied by it. */
  readonly factor: number;
}

/** Reads `spend*100`: the field, and by what its number is multiplied. */
function costField(text: string): CostField {
  const [, field = text, factor = "1"] = /^(.+)\*(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  return { ...namedField(field), factor: Number(factor) };
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}
