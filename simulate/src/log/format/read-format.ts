import { Misuse } from "../../io.js";
import { addressFieldOf } from "../address-field.js";
import { costField, type LogFields } from "../entry.js";
import type { MemberNames } from "../json-lines.js";
import { partsOfDirectives } from "./apache.js";
import { fieldPlace, fieldText } from "./field-names.js";
import { LineFormat } from "./line-format.js";
import { FORMAT_NAMES, NAMED_FORMATS } from "./named-formats.js";
import { partsOfVariables } from "./nginx.js";
import { timeOfFields } from "./time-of-line.js";

/** The format of a log, as `--format` states it. */
export interface LogFormat {
  /** The layouts of its lines of text. The first that fits a line is taken. */
  readonly layouts: readonly LineFormat[];
  /** Its names for the members of JSON lines. */
  readonly members: MemberNames;
  /** For a W3C log: the names of the fields until a line `#Fields` says others. */
  readonly w3c: string | undefined;
}

/** A log without `--format`. */
export const ANY_FORMAT: LogFormat = { layouts: [], members: {}, w3c: undefined };

/**
 * Reads `--format`: a name, or the format as nginx's `log_format` or Apache's `LogFormat` writes it. Throws a
 * {@link Misuse} for an unknown name, for a format without a time, and for a field that it does not have.
 */
export function readFormat(text: string, fields: LogFields): LogFormat {
  const name = text.trim().toLowerCase();
  const named = Object.hasOwn(NAMED_FORMATS, name) ? NAMED_FORMATS[name] : undefined;
  if (named !== undefined) {
    const { texts = [], members = {}, w3c } = named;
    return { layouts: texts.map((each) => new LineFormat(partsOfVariables(each))), members, w3c };
  }
  const [use] = USE_OF_FORMAT.exec(text.trim()) ?? [];
  if (use !== undefined) return readFormat(formatIn(text.trim().slice(use.length)), fields);
  const written = configured(text.trim());
  const isNginx = /\$\{?\w/.test(written);
  if (!isNginx && !/%\S/.test(written)) throw unknownFormat(text);
  const layout = new LineFormat(isNginx ? partsOfVariables(written) : partsOfDirectives(written));
  checkFormatFields(layout, fields, isNginx);
  return { ...ANY_FORMAT, layouts: [layout] };
}

/** A directive that says where a log is, and in which format: a name, or for Apache also the text of it. */
const USE_OF_FORMAT = /^(?:CustomLog|GlobalLog|access_log)\s+(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"';]+)\s*/i;

/** The format after the place of a log. Conditions and other parameters follow it. */
function formatIn(rest: string): string {
  const [quoted] = /^"(?:[^"\\]|\\.)*"|^'(?:[^'\\]|\\.)*'/s.exec(rest) ?? [];
  return quoted === undefined ? (/^[^\s;]*/.exec(rest)?.[0] ?? "") : `LogFormat ${quoted}`;
}

function unknownFormat(text: string): Misuse {
  return new Misuse(
    `Expected --format to be one of ${FORMAT_NAMES}, or the text of nginx's log_format ('$remote_addr ...') ` +
      `or Apache's LogFormat ('%h ...'), got ${text === "" ? "an empty text" : text}`,
  );
}

function checkFormatFields({ fields }: LineFormat, { key, time, costs }: LogFields, isNginx: boolean): void {
  const times = isNginx ? "$time_local, $time_iso8601, $msec or $time" : "%t or %{...}t";
  if (time === undefined && timeOfFields(fields) === undefined)
    throw new Misuse(`Expected --format to have a time (${times}), got a format without one. Or name a field with --time`);
  const names = fields.map((field) => field.names[0]).join(", ");
  const check = (option: string, name: string, isThere: boolean): void => {
    if (!isThere) throw new Misuse(`Expected ${option} to be a field of --format, got ${name}. The format has: ${names}`);
  };
  const caller = addressFieldOf(key)?.field ?? key;
  check("--key", caller, fieldText(fields, caller) !== undefined);
  if (time !== undefined) check("--time", time, fieldPlace(fields, time) >= 0);
  for (const cost of costs.map(costField)) check("--cost", cost.field, fieldText(fields, cost.field) !== undefined);
}

/** The format in a line of a configuration: without the directive, the name and the quotes around it. */
function configured(text: string): string {
  const directive = /^\s*(?:log_format\s+\S+|LogFormat|ErrorLogFormat)\s+(?:escape=\w+\s+)?/i.exec(text)?.[0] ?? "";
  const rest = text.slice(directive.length);
  const isQuoted = rest.startsWith("'") || (directive !== "" && rest.startsWith('"'));
  if (!isQuoted) return unescaped(directive === "" ? rest : rest.replace(/\s*;\s*$/, ""));
  const texts = [...rest.matchAll(/'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"/gs)];
  return unescaped(texts.map(([, single, double]) => single ?? double).join(""));
}

const unescaped = (text: string): string =>
  text.replace(/\\([\\'"tn])/g, (_, letter: string) => (letter === "t" ? "\t" : letter === "n" ? "\n" : letter));
