import { namedField, type NamedField } from "./names.js";

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
export type ReadEntry = (line: string) => LogEntry | string;

/** A field with a number. */
export interface CostField extends NamedField {
  /** Fractions are multiplied by it. */
  readonly factor: number;
}

/** Reads `spend*100`: the field, and by what its number is multiplied. */
export function costField(text: string): CostField {
  const [, field = text, factor = "1"] = /^(.+)\*(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  return { ...namedField(field), factor: Number(factor) };
}

const NO_COSTS: readonly number[] = Object.freeze([]);

/**
 * A request from what was read of its line, or in words what it lacks. `timePlace` says where its time should be.
 *
 * Five arguments and no object: this runs for each line of a log.
 */
export function entryOf<F extends CostField>(
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

/** The caller that a text names. A minus sign stands for none in each format. */
export const callerOfText = (text: string): string => (text === "-" ? "" : text);

/** The number that a text states in decimal digits, or NaN. A minus sign stands for no bytes. */
export const numberOfText = (text: string): number => (text === "-" ? 0 : /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : NaN);
