import { notDefined } from "../../core/check.js";
import type { Policy } from "../../core/policy.js";
import { sha256 } from "./sha256.js";

// In UTF-16 code units. This number and the digest are frozen: with others, long keys would have other names, and so
// full buckets.
const LONGEST_NAME = 128;
// Begins a digest in place of a key.
const DIGEST = "\0";
// Keys that need no conversion, as most keys: printable ASCII without braces.
const PLAIN = /^[ -z|~]*$/;

/**
 * Returns the name under which a store keeps the bucket of `policy` and `key`: at most 128 characters for a key of any
 * length (law L16). Different buckets have different names. Every process and version of this package computes the same
 * names.
 *
 * The name is the policy's name, a space and the `portableKey`. If that is longer than 128 UTF-16 code units, or the
 * key contains a brace or NUL, the name is `#` and the SHA-256 of that, in hexadecimal. No policy's name begins with
 * `#`. Braces are not kept because Redis Cluster takes them for a hash tag: a caller could choose the slot that it
 * loads.
 * @example
 * bucketName(policy, "user:42"); // "interactive user:42"
 */
export function bucketName(policy: Policy, key: string): string {
  return nameOfShort(policy, shortKey(policy, key));
}

/**
 * Returns `key`, or a digest in place of a long key: a text that a store can hold for each call and each remembered
 * denial. Two keys of one policy stay different. Cheap for short keys, because each call about a key needs it.
 *
 * Throws a TypeError for a copy of a policy, since each call of a store passes here.
 */
export function shortKey(policy: Policy, key: string): string {
  if (policy.maxCost === undefined) throw notDefined(policy);
  const isShort = policy.name.length + key.length < LONGEST_NAME && key.charCodeAt(0) !== 0;
  return isShort ? key : DIGEST + sha256(clearName(policy, key));
}

/** The {@link bucketName} of a key that {@link shortKey} made. */
export function nameOfShort(policy: Policy, short: string): string {
  if (PLAIN.test(short)) return `${policy.name} ${short}`;
  if (short.startsWith(DIGEST)) return `#${short.slice(1)}`;
  const name = clearName(policy, short);
  return name.length > LONGEST_NAME || /[{}\0]/.test(short) ? `#${sha256(name)}` : name;
}

function clearName(policy: Policy, key: string): string {
  return `${policy.name} ${portableKey(key)}`;
}

/**
 * Converts an encoded key to text that every database keeps unchanged. Lone surrogates and NUL, which UTF-8 or SQL
 * would change, become U+FFFD and four hexadecimal digits; so does U+FFFD itself. Different keys stay different.
 */
export function portableKey(encoded: string): string {
  // Most keys are printable ASCII, and that test is cheaper than the search below.
  return /[^ -~]/.test(encoded) ? escape(encoded) : encoded;
}

function escape(encoded: string): string {
  return encoded.replace(/[\0\uFFFD\uD800-\uDFFF]/gu, (unit) => `\uFFFD${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
