import { expected, ownMembers } from "../../../core/check.js";

/**
 * Returns the value of an option, or its default for undefined. Fills in the members that an object lacks. Throws a
 * TypeError or RangeError for a wrong value.
 */
export type Check = (name: string, value?: unknown) => unknown;

/** A check for each option of `T`. */
export type Checks<T> = { readonly [Name in keyof T]-?: Check };

/** Accepts what passes `isRight`. The error for a wrong number is a RangeError, and for any other value a TypeError. */
export function accept(what: string, isRight: (value: unknown) => unknown, byDefault?: unknown): Check {
  return (name, value = byDefault) => {
    if (value === undefined || isRight(value)) return value;
    throw new (typeof value === "number" ? RangeError : TypeError)(expected(name, what, value));
  };
}

/** Accepts values of one type. */
export function isA(type: "function" | "boolean" | "string", byDefault?: unknown): Check {
  return accept(`a ${type}`, (value) => typeof value === type, byDefault);
}

/** Accepts whole numbers of at least `least`. */
export function wholeFrom(least: number, byDefault?: number): Check {
  return accept(
    `a whole number of at least ${least}`, (value) => Number.isInteger(value) && (value as number) >= least, byDefault,
  );
}

/** Accepts numbers of at least `least`, and Infinity. */
export function numberFrom(least: number, byDefault: number): Check {
  return accept(`at least ${least}`, (value) => typeof value === "number" && value >= least, byDefault);
}

/** Accepts arrays whose elements are all of one type. */
export function arrayOf(type: "string" | "number", byDefault: readonly unknown[]): Check {
  return accept(
    `an array of ${type}s`, (value) => Array.isArray(value) && value.every((each) => typeof each === type), byDefault,
  );
}

/**
 * Accepts objects, of which only own members count. A member that `checks` lacks is moved to `others`; without that it
 * throws.
 */
export function objectOf<T>(checks: Checks<T>, others?: Record<string, unknown>): Check {
  const anObject = accept("an object", (value) => typeof value === "object" && value, {});
  return (name, value) => {
    const own = ownMembers(anObject(name, value)) as Record<string, unknown>;
    for (const key in own) {
      if (Object.hasOwn(checks, key)) continue;
      if (!others) throw new TypeError(expected("option", `one of ${Object.keys(checks).join(", ")}`, key));
      if (own[key] !== undefined) others[key] = own[key];
    }
    return Object.fromEntries(Object.entries<Check>(checks).map(([key, check]) => [key, check(key, own[key])]));
  };
}
