/** Formats a value for a one-line message without running its code. Strings are quoted and cut at 40 characters. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value === "function") return "a function";
  return String(value);
}

/** The message for a wrong value: what was expected, then what came. */
export function expected(name: string, what: string, got: unknown): string {
  return `Expected \`${name}\` to be ${what}, got ${show(got)}`;
}

/** Returns the text after an unknown option, such as what to write instead. Undefined for a name it does not know. */
export type Explain = (name: string) => string | undefined;

/**
 * Throws a TypeError when `options` is not an object, or has a member whose name is not in `names`: a misspelled option
 * would have no effect. `what` describes the object in the message.
 */
export function checkOptions(options: unknown, names: readonly string[], what = "an object", explain?: Explain): void {
  if (typeof options !== "object" || options === null) throw new TypeError(expected("options", what, options));
  checkNames(options, names, explain);
}

/** Throws a TypeError for the first member of `options` whose name is not in `names`. */
export function checkNames(options: object, names: readonly string[], explain?: Explain): void {
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) throw new TypeError(`Unknown option \`${name}\`${explain?.(name) ?? suggestion(name, names)}`);
  }
}

/** Throws a TypeError unless `clock` is a function. */
export function checkClock(clock: unknown): void {
  if (typeof clock !== "function") throw new TypeError(expected("clock", "a function that returns milliseconds", clock));
}

/** Returns `value`, a whole number of at least 1. Throws a TypeError, or a RangeError for a wrong number. */
export function positiveInteger(name: string, value: unknown, cure = ""): number {
  return integerFrom(1, "a positive integer", name, value, cure);
}

/** Returns `value`, a whole number of at least 0. Throws like {@link positiveInteger}. */
export function wholeNumber(name: string, value: unknown): number {
  return integerFrom(0, "a whole number of at least 0", name, value);
}

function integerFrom(least: number, what: string, name: string, value: unknown, cure = ""): number {
  if (typeof value !== "number") throw new TypeError(expected(name, what, value) + cure);
  if (!Number.isSafeInteger(value) || value < least) throw new RangeError(expected(name, what, value) + cure);
  return value;
}

// The nearest known name when it is close enough to be a typo; otherwise all known names.
function suggestion(name: string, names: readonly string[]): string {
  const distances = names.map((known) => distance(name.toLowerCase(), known.toLowerCase()));
  const least = Math.min(...distances);
  if (least <= Math.max(2, name.length / 3)) return `. Did you mean \`${names[distances.indexOf(least)]}\`?`;
  return `. Known options: ${names.map((known) => `\`${known}\``).join(", ")}`;
}

// The Levenshtein distance: letters to change, add or remove. Cuts `a` at 40, because it may come from a request.
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 0; i < Math.min(a.length, 40); i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const swap = (row[j] as number) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(swap, (row[j + 1] as number) + 1, (next[j] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
