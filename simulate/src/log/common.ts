import { Misuse } from "../io.js";
import { addressFieldOf } from "./address-field.js";
import { callerOfText, costField, entryOf, numberOfText, type LogFields, type ReadEntry } from "./entry.js";
import { instantOf } from "./instant.js";

/** The fields of the common and the combined log format (nginx, Apache). */
const COMMON_FIELDS = ["address", "user", "time", "method", "path", "status", "bytes", "referer", "agent"] as const;
/** A field that is a group of the expression, by its number. The others are parts of the request. */
const GROUPS = { address: 1, user: 2, time: 3, status: 5, bytes: 6, referer: 7, agent: 8 };
const REQUEST = 4;
const CALLERS = ["address", "user"] as const;
// A caller writes the texts in quotes, so each letter must have only one way to match: the time stays linear.
const QUOTED = String.raw`"([^"\\]*(?:\\[^][^"\\]*)*)"`;
const ADDRESSES = String.raw`[^\s,]+(?:, ?[^\s,]+)*`;
// Some formats begin with the name of a virtual host, which is no address. The line may have a list of addresses. The
// name of a user may have blanks after a minus sign for the ident. A request without an answer has one for its status.
const LINE = new RegExp(
  String.raw`^(?:(?![\d.]+ )(?:[^\s:]+:\d+|[^\s:,]+) (?!- )(?=${ADDRESSES} (?:- [^[]+|\S+ [^\s[]+) \[))?` +
    String.raw`(${ADDRESSES}) (?:- |(?=\S+ \S+ \[)\S+ )([^[]+) \[([^\]]+)\]` +
    String.raw` ${QUOTED} (\d{3}|-) (\d+|-)(?: ${QUOTED} ${QUOTED})?`,
);

/** Whether a line is in the common or the combined format. */
export const isCommon = (line: string): boolean => LINE.test(line);

/**
 * Reads the common and the combined log format. Throws a {@link Misuse} for a field that they do not have. `names`
 * collects the fields that name a caller in lines where `key` does not.
 */
export function commonReader({ key, costs }: LogFields, names: Set<string>): ReadEntry {
  const address = addressFieldOf(key);
  const keyOf = commonField(address?.field ?? key, "--key");
  const costFields = costs.map(costField).map((cost) => ({ ...cost, valueOf: commonField(cost.field, "--cost") }));
  let [lastTime, lastAt] = ["", NaN];
  return (line) => {
    const found = LINE.exec(line);
    if (found === null) return "not in the common or combined format";
    // Many lines have the time of the one before.
    const time = found[3] as string;
    if (time !== lastTime) [lastTime, lastAt] = [time, instantOf(time)];
    const caller = callerOfText(keyOf(found));
    if (caller === "" && address === null) {
      names.add(key);
      for (const name of CALLERS) if (found[GROUPS[name]] !== "-") names.add(name);
    }
    return entryOf(lastAt, "", caller, costFields, ({ valueOf }) => numberOfText(valueOf(found)));
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
      `Expected ${option} to be one of ${COMMON_FIELDS.join(", ")} for a log in the common or combined format, got ${field}. ` +
        "--format reads others",
    );
  return (found) => found[group] ?? "-";
}
