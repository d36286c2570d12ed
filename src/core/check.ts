/** Formats a value for a one-line message without running its code. Strings are quoted and cut at 40 characters. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "function") return "a function";
  return Object(value) === value ? "an object" : String(value);
}

/** The message for a wrong value: the expected value, then the value that came. */
export function expected(name: string, what: string, got: unknown): string {
  return `Expected \`${name}\` to be ${what}, got ${show(got)}`;
}

/** The name of a limit as a member of an object in code: `tokens`, `"per-day"`. */
export const nameInCode = (name: string): string => (/^[A-Za-z][A-Za-z\d_]*$/.test(name) ? name : JSON.stringify(name));

/** The error for a policy that definePolicy did not make, such as a copy, which lacks the computed numbers. */
export function notDefined(policy: unknown, name = "policy", what = "made by definePolicy"): TypeError {
  return new TypeError(`${expected(name, what, policy)}. Pass a copy to definePolicy first.`);
}

/** Returns the text after an unknown option, such as what to write instead. Undefined for a name it does not know. */
export type Explain = (name: string, known: readonly string[]) => string | undefined;

/**
 * Returns the own members of `options`, without a prototype. A member that `options` inherits is no option, such as one
 * that an attacker adds to `Object.prototype` (CWE-1321).
 *
 * Throws a TypeError when `options` is not an object, or has a member whose name is not in `names`: a misspelled option
 * would have no effect. `what` describes the object in the message.
 */
export function checkOptions<T>(
  options: T, names: readonly string[], what = "an object", explain?: Explain, name = "options",
): T {
  if (typeof options !== "object" || options === null) throw new TypeError(expected(name, what, options));
  checkNames(options, names, explain);
  return ownMembers(options);
}

/** Returns a copy of the own members of `value`, without a prototype. */
export function ownMembers<T>(value: T): T {
  return { __proto__: null, ...value } as T;
}

/** Whether an object has an own member. It narrows a type as `in` does, which finds those of `Object.prototype` too. */
export function hasOwn<T extends object, Name extends string>(value: T, name: Name): value is Extract<T, Record<Name, unknown>> {
  return Object.hasOwn(value, name);
}

/** A member that an object has or inherits. Undefined if it has the one of `Object.prototype`, or none. */
export function memberOf<T, Name extends keyof T>(value: T, name: Name): T[Name] | undefined {
  const member = value[name];
  return member === (Object.prototype as T)[name] ? undefined : member;
}

/** Whether `value` is an object literal of any realm, or has no prototype. */
export function isPlain(value: object): boolean {
  return Object.hasOwn((Object.getPrototypeOf(value) ?? Object.prototype) as object, "isPrototypeOf");
}

/** Throws a TypeError for the first member of `options` whose name is not in `names`. */
export function checkNames(options: object, names: readonly string[], explain?: Explain): void {
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) {
      throw new TypeError(`Unknown option \`${name}\`${explain?.(name, names) ?? suggestion(name, names)}`);
    }
  }
}

/** Throws a TypeError unless `clock` is a function, or has the functions `now` and `wallNow`. */
export function checkClock(clock: unknown, name = "clock"): void {
  const { now, wallNow } = Object(clock) as { now?: unknown; wallNow?: unknown };
  if (typeof clock === "function" || (typeof now === "function" && typeof wallNow === "function")) return;
  throw new TypeError(expected(name, "a function that returns milliseconds, or { now, wallNow }", clock));
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
  if (typeof value !== "number") throw new TypeError(expected(name, what, value));
  if (!Number.isSafeInteger(value) || value < least) throw new RangeError(expected(name, what, value) + cure);
  return value;
}

/** Returns `name`, which needs no quotes in a structured field (RFC 9651, section 3.3) or in a store's key. */
export function checkName(what: string, name: unknown): string {
  if (typeof name !== "string") throw new TypeError(expected(what, "a string", name));
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(name)) {
    throw new RangeError(expected(what, "1 to 64 letters, digits, `_`, `-` or `.`, starting with a letter or digit", name));
  }
  return name;
}

// The known name with the longest common beginning, of at least three letters; otherwise all names.
function suggestion(name: string, names: readonly string[]): string {
  for (let beginning = name.toLowerCase(); beginning.length > 2; beginning = beginning.slice(0, -1)) {
    const nearest = names.find((known) => known.toLowerCase().startsWith(beginning));
    if (nearest !== undefined) return `. Did you mean \`${nearest}\`?`;
  }
  return `. Known options: ${names.map((known) => `\`${known}\``).join(", ")}`;
}
