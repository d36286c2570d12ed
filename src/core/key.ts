import { expected, show } from "./check.js";

/** One part of a key. Numbers are written in decimal, so `42` and `"42"` are the same part. */
export type KeyPart = string | number | bigint;

/**
 * Identifies the caller, such as an authenticated user or a device: a non-empty string, or a tuple of parts.
 *
 * A tuple never equals a string or a different tuple, even when they hold the same characters: `["user", "a:b"]`,
 * `["user:a", "b"]` and `"user:a:b"` are three callers.
 */
export type Key = string | readonly [KeyPart, ...KeyPart[]];

/** The key of all callers that could not be identified. They share one bucket, which no other key can reach. */
export const UNIDENTIFIED: Key = Object.freeze(
  Object.defineProperty([""] as const, Symbol.for("sluice.unidentified"), { value: true }),
);

/**
 * The key as users see it: null for a caller that could not be identified. The keys of a combination by their names.
 */
export function shownKey(key: unknown): unknown {
  if (typeof key !== "object" || key === null) return key;
  if (Symbol.for("sluice.unidentified") in key) return null;
  return Array.isArray(key) ? key : Object.fromEntries(Object.entries(key).map(([name, own]) => [name, shownKey(own)]));
}

/**
 * Encodes a key as a string. Different keys have different strings.
 *
 * Throws a TypeError for an empty key, a missing or empty part, or a part that is not a string, an integer or a bigint.
 */
export function encodeKey(key: Key): string {
  if (typeof key === "string") {
    if (key === "") throw new TypeError("Expected `key` to be a non-empty string, got an empty one");
    // An encoded tuple starts with "(" and a digit. Doubling the bracket keeps strings apart without scanning them.
    return key.charCodeAt(0) === 40 ? `(${key}` : key;
  }
  if (!Array.isArray(key) || key.length === 0) {
    throw new TypeError(expected("key", 'a non-empty string or a tuple such as ["user", 42]', key));
  }
  let encoded = "(";
  for (const part of key as readonly unknown[]) {
    const text = typeof part === "string" ? part : Number.isSafeInteger(part) || typeof part === "bigint" ? String(part) : "";
    if (text === "" && Symbol.for("sluice.unidentified") in key) return "("; // also that of another copy of the package
    if (text === "") {
      throw new TypeError(`Expected every part of \`key\` to be a non-empty string or an integer, got ${show(part)}`);
    }
    encoded += `${text.length}:${text}`;
  }
  return encoded;
}
