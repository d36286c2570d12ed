import { UNIDENTIFIED, type Key, type KeyPart } from "../core/key.js";

/**
 * A key that may be missing. A caller is unidentified when the key is null, undefined, empty, or a tuple with a missing
 * or empty part. A part may be a list, because Node returns a list for a header field that was sent several times. Its
 * values are joined by commas.
 *
 * A `string[]` does not compile as a key. A query string can hold such a list, and the client would choose every part
 * of the key. Write `["client", String(value)]`.
 */
export type MaybeKey = Key | null | undefined | readonly [MaybeKeyPart, ...MaybeKeyPart[]];

/** A part of a {@link MaybeKey}. A missing or empty part makes the caller unidentified. */
export type MaybeKeyPart = KeyPart | readonly string[] | null | undefined;

/**
 * The key to charge, or {@link UNIDENTIFIED} when it is missing. A key of a wrong type is returned unchanged: the
 * limiter throws for it.
 */
export function callerOf(key: MaybeKey): Key {
  if (key === null || key === undefined || key === "") return UNIDENTIFIED;
  if (!Array.isArray(key)) return key as Key;
  const parts: unknown[] = [];
  for (const part of key as readonly unknown[]) {
    const whole = Array.isArray(part) ? part.join(",") : part;
    if (whole === null || whole === undefined || whole === "") return UNIDENTIFIED;
    parts.push(whole);
  }
  return parts.length > 0 ? (parts as unknown as Key) : UNIDENTIFIED;
}
