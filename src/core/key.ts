import { expected, show } from "./check.js";

/** One part of a key. Numbers are written in decimal, so `42` and `"42"` are the same part. */
export type KeyPart = string | number | bigint;

/**
 * Who is calling: an authenticated user or a device, as a string or as a tuple of parts.
 *
 * A tuple never equals a string nor another tuple, whatever characters its parts hold: `["user", "a:b"]`,
 * `["user:a", "b"]` and `"user:a:b"` are three callers.
 */
export type Key = string | readonly [KeyPart, ...KeyPart[]];

/** Stands for all callers that could not be identified: one bucket that no key made elsewhere encodes to. */
export const UNIDENTIFIED: Key = Object.freeze([""]) as unknown as Key;

/**
 * The string under which a caller is kept: injective over keys.
 *
 * Throws a TypeError for an empty key, a missing or empty part, or a part that is not a string, an integer or a bigint:
 * none of them identifies anybody.
 */
export function encodeKey(key: Key): string {
  if (typeof key === "string") {
    if (key === "") throw new TypeError("Expected `key` to be a non-empty string, got an empty one");
    // A tuple starts with "(" and a digit. Doubling the bracket keeps strings out of its way without reading them through.
    return key.charCodeAt(0) === 40 ? `(${key}` : key;
  }
  if (key === UNIDENTIFIED) return "(";
  if (!Array.isArray(key) || key.length === 0) {
    throw new TypeError(expected("key", "a non-empty string or a tuple of parts", key));
  }
  let encoded = "(";
  for (const part of key as readonly unknown[]) {
    const text = typeof part === "string" ? part : Number.isSafeInteger(part) || typeof part === "bigint" ? String(part) : "";
    if (text === "") throw new TypeError(`Expected every part of \`key\` to be a non-empty string or an integer, got ${show(part)}`);
    encoded += `${text.length}:${text}`;
  }
  return encoded;
}
