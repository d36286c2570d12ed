/** Shows a value in a one-line message without running its code: strings quoted and shortened, objects by kind. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value === "function") return "a function";
  return String(value);
}

/** The one shape of every complaint about input: what was expected, what came. */
export function expected(name: string, what: string, got: unknown): string {
  return `Expected \`${name}\` to be ${what}, got ${show(got)}`;
}

/** Throws a TypeError for the first option that is not among `names`: one misspelt would be no option at all. */
export function checkNames(options: object, names: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) throw new TypeError(`Expected only known options, got \`${name}\``);
  }
}

/** Returns `value` when it is a whole number of at least 1; otherwise throws (TypeError for another type, RangeError for a wrong number). */
export function positiveInteger(name: string, value: unknown): number {
  return integerFrom(1, "a positive integer", name, value);
}

/** Returns `value` when it is a whole number of at least 0; otherwise throws as {@link positiveInteger} does. */
export function wholeNumber(name: string, value: unknown): number {
  return integerFrom(0, "a whole number of at least 0", name, value);
}

function integerFrom(least: number, what: string, name: string, value: unknown): number {
  if (typeof value !== "number") throw new TypeError(expected(name, what, value));
  if (!Number.isSafeInteger(value) || value < least) throw new RangeError(expected(name, what, value));
  return value;
}
