import { UNIDENTIFIED, type Key, type KeyPart } from "../core/key.js";
import type { Unlimited } from "../limiter/unlimited.js";

/**
 * A key that may be missing. A caller is unidentified when the key is null, undefined, empty, or a tuple with a missing
 * or empty part. A part may be a list, because Node returns a list for a header field that was sent several times. Its
 * values are joined by commas.
 *
 * A value that is a text or a list, such as one of a query string, does not compile as a key: with a list, the client
 * would choose every part of the key. Write `["client", String(value)]`. See {@link MaybeKeyList}.
 */
export type MaybeKey = Key | null | undefined | readonly [MaybeKeyPart, ...MaybeKeyPart[]];

/** A part of a {@link MaybeKey}. A missing or empty part makes the caller unidentified. */
export type MaybeKeyPart = KeyPart | readonly string[] | null | undefined;

/**
 * The result of a `key` function that is declared apart from the options: TypeScript then infers a list for
 * `["user", request.ip]`, not a tuple. Such a function compiles as `key` if it returns nothing but lists. Do not return
 * a list that the client sent: the warning `SLUICE_KEY_IS_LIST` appears for one.
 */
export type MaybeKeyList<K> = K extends Key ? readonly MaybeKeyPart[] | null | undefined
  : { readonly [Name in keyof K]: MaybeKeyList<Exclude<K[Name], Unlimited>> | Unlimited } | null | undefined;

/** The keys of a limiter, any of which may be missing. `unlimited` leaves a member of a combination out. */
export type MaybeKeyOf<K> = K extends Key
  ? MaybeKey
  : { readonly [Name in keyof K]: MaybeKeyOf<Exclude<K[Name], Unlimited>> | Unlimited } | null | undefined;

/** The keys of any limiter: of one policy, or by the names of a combination. */
export type AnyKey = Key | CombinedKey;

/** The keys of any combination, by the names of its members. */
export interface CombinedKey {
  readonly [name: string]: Key | CombinedKey | Unlimited;
}

/**
 * The key to charge, or {@link UNIDENTIFIED} when it is missing. A key of a wrong type is returned unchanged: the
 * limiter throws for it.
 */
export function callerOf(key: unknown): Key {
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
