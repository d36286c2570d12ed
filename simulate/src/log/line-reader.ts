import type { Misuse } from "../io.js";
import { addressFieldOf, AddressFinder } from "./address-field.js";
import { commonReader, isCommon } from "./common.js";
import { leadingTime, logfmtOf, withoutPrefixes } from "./envelopes.js";
import type { LogEntry, LogFields, ReadEntry } from "./entry.js";
import { isAddressField } from "./format/field-names.js";
import type { LineFormat } from "./format/line-format.js";
import type { LogFormat } from "./format/read-format.js";
import { OTHER_FORMAT, textReader } from "./format/text-lines.js";
import { isDirective, layoutsOfW3c, namesOfW3c } from "./format/w3c.js";
import { isObject, jsonOf, jsonReader, type ReadRecord } from "./json-lines.js";

/** The readers of lines get no longer ones. */
export const LONGEST_LINE = 1_000_000;

/** What the lines of all files of a log have in common. */
export class SeenLines {
  /** The names in lines without a caller. */
  readonly names = new Set<string>();
  /** Where the addresses are in lines with named members. */
  readonly addresses = new AddressFinder();
  hasRecords = false;
  hasCommon = false;
  /** Why the fields do not suit the common format. */
  misuse: Misuse | null = null;

  /** Throws a {@link Misuse} when the fields are for JSON, and all lines are in the common format. */
  check(): void {
    if (this.misuse !== null && this.hasCommon && !this.hasRecords) throw this.misuse;
  }
}

/**
 * Reads the lines of one file. Without a format each line may have another, because a log in JSON often begins with
 * plain text.
 */
export class LineReader {
  readonly #fields: LogFields;
  readonly #seen: SeenLines;
  readonly #readJson: ReadRecord;
  #readText: ReadEntry;
  /** Whether the callers are addresses, so that all notations of one are the same caller. */
  isAddress: boolean;
  /** Whether the format is known: by `--format`, or by a line `#Fields`. */
  #hasFormat: boolean;
  /** Whether a line `#Fields` names the fields. */
  readonly #isW3c: boolean;

  constructor(fields: LogFields, { layouts, members, w3c }: LogFormat, seen: SeenLines) {
    this.#fields = fields;
    this.#seen = seen;
    this.isAddress = addressFieldOf(fields.key) !== null;
    this.#hasFormat = layouts.length > 0 || w3c !== undefined;
    this.#isW3c = layouts.length === 0;
    this.#readText = this.#hasFormat
      ? this.#textReader(w3c === undefined ? layouts : layoutsOfW3c(w3c))
      : this.#commonReader();
    this.#readJson = jsonReader(fields, members, (text) => this.#readText(text), seen.names, seen.addresses);
  }

  /** A request, in words why the line is none, or undefined for a line that tells about the log. */
  read(line: string): LogEntry | string | undefined {
    if (line.length > LONGEST_LINE) return "longer than a million letters";
    if (isDirective(line)) return this.#readDirective(line);
    if (line.startsWith("[{") || line === "[" || line === "]") return 'a JSON list: write one object a line, as jq -c ".[]" does';
    if (!this.#hasFormat && isObject(line)) return this.#readJsonIn(line);
    const read = this.#readText(line);
    if (this.#isRead(read)) return read;
    const { text, time } = withoutPrefixes(line);
    if (isObject(text)) return this.#readJsonIn(text, time);
    if (text !== line) {
      const inner = this.#readText(text);
      if (this.#isRead(inner)) return inner;
    }
    const pairs = logfmtOf(text);
    if (pairs !== undefined) return this.#readRecord(pairs, time);
    // Text of a logger, and a JSON object up to the end of the line.
    const begin = text.indexOf("{");
    if (begin > 0 && text.trimEnd().endsWith("}")) {
      const given = jsonOf(text.slice(begin));
      if (given !== undefined) return this.#readRecord(given, time ?? leadingTime(text));
    }
    return read;
  }

  /** Whether a line is in the format of text, and need not be read as another. */
  #isRead(read: LogEntry | string): boolean {
    return typeof read !== "string" || (this.#hasFormat && read !== OTHER_FORMAT);
  }

  #readDirective(line: string): undefined {
    const names = this.#isW3c ? namesOfW3c(line) : undefined;
    if (names === undefined) return;
    this.#hasFormat = true;
    this.#readText = this.#textReader(layoutsOfW3c(names));
  }

  #readJsonIn(text: string, time?: string): LogEntry | string {
    const given = jsonOf(text) ?? (text.trimEnd().endsWith(",") ? jsonOf(text.trimEnd().slice(0, -1)) : undefined);
    return given === undefined ? "not JSON" : this.#readRecord(given, time);
  }

  #readRecord(record: unknown, time: unknown): LogEntry | string {
    this.#seen.hasRecords = true;
    return this.#readJson(record, time, 0);
  }

  #textReader(layouts: readonly LineFormat[]): ReadEntry {
    this.#seen.hasRecords = true;
    this.isAddress ||= layouts.some(({ fields }) => isAddressField(fields, this.#fields.key));
    if (layouts.length === 0) return () => "before a line #Fields, which names the fields";
    return textReader(layouts, this.#fields, this.#seen.names);
  }

  #commonReader(): ReadEntry {
    try {
      return commonReader(this.#fields, this.#seen.names);
    } catch (error) {
      this.#seen.misuse = error as Misuse;
      return (line) => {
        if (isCommon(line)) this.#seen.hasCommon = true;
        return "not JSON, logfmt, or in the common or combined format";
      };
    }
  }
}
