import { addressFieldOf } from "../address-field.js";
import { callerOfText, costField, entryOf, numberOfText, type LogFields, type ReadEntry } from "../entry.js";
import { fieldPlace, fieldText } from "./field-names.js";
import type { LineFormat } from "./line-format.js";
import { timeOfField, timeOfFields } from "./time-of-line.js";

/** The reason of a line that is in another format. */
export const OTHER_FORMAT = "not in the format of --format";

/**
 * Reads lines of text in one of these layouts. `names` collects the names of the fields if none is the caller.
 */
export function textReader(layouts: readonly LineFormat[], fields: LogFields, names: Set<string>): ReadEntry {
  const readers = layouts.map((layout) => readerOf(layout, fields, names));
  return (line) => {
    for (const read of readers) {
      const entry = read(line);
      if (entry !== OTHER_FORMAT) return entry;
    }
    return OTHER_FORMAT;
  };
}

function readerOf(layout: LineFormat, { key, time, costs }: LogFields, names: Set<string>): ReadEntry {
  const { fields } = layout;
  const keyText = fieldText(fields, addressFieldOf(key)?.field ?? key);
  const timePlace = time === undefined ? -1 : fieldPlace(fields, time);
  const timeOf = timePlace >= 0 ? timeOfField(timePlace) : timeOfFields(fields);
  const without = timeOf === undefined ? ", because the format has none" : "";
  const costFields = costs.map(costField).map((cost) => ({ ...cost, textOf: fieldText(fields, cost.field) }));
  return (line) => {
    const texts = layout.match(line);
    if (texts === undefined) return OTHER_FORMAT;
    if (keyText === undefined) for (const field of fields) names.add(field.names[0] as string);
    const caller = callerOfText(keyText?.(texts) ?? "");
    const at = timeOf?.(texts) ?? NaN;
    return entryOf(at, without, caller, costFields, ({ textOf }) => numberOfText(textOf?.(texts) ?? ""));
  };
}
