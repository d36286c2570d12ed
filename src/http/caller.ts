import { fullBucket } from "../core/bucket.js";
import { lostTimeOf, monotonicClock, readClock, type Clock } from "../core/clock.js";
import { consume } from "../core/decide.js";
import { UNIDENTIFIED, type Key, type KeyPart } from "../core/key.js";
import type { LimitOptions } from "../core/limit.js";
import { definePolicy } from "../core/policy.js";
import type { GateLimiter, LimiterInternals } from "../limiter/internals.js";
import type { Unlimited } from "../limiter/unlimited.js";
import { warnOnce } from "../warnings/warnings.js";
import { TOKEN } from "./headers/field.js";
import type { RequestReader } from "./reader.js";
import { SKIP, type Verdict } from "./response/verdict.js";

/**
 * A key that may be missing. A caller is unidentified when the key is null, undefined, empty, or a tuple with a missing
 * or empty part. A part may be a list, because Node returns a list for a header field that was sent several times. Its
 * values are joined by commas.
 *
 * A value that is a text or a list, such as one of a query string, does not compile as a key: with a list, the client
 * would choose every part of the key. Write `["client", String(value)]`.
 */
export type MaybeKey = Key | null | undefined | readonly [MaybeKeyPart, ...MaybeKeyPart[]];

/** A part of a {@link MaybeKey}. A missing or empty part makes the caller unidentified. */
type MaybeKeyPart = KeyPart | readonly string[] | null | undefined;

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
  // A copy, because its owner may change the list before the charge is made.
  const parts = (key as readonly unknown[]).slice();
  for (let i = 0; i < parts.length; i++) {
    if (Array.isArray(parts[i])) parts[i] = (parts[i] as readonly unknown[]).join(",");
    if (parts[i] === null || parts[i] === undefined || parts[i] === "") return UNIDENTIFIED;
  }
  return parts.length > 0 ? (parts as unknown as Key) : UNIDENTIFIED;
}

/** In place of what a function of the options returns: it was not called, or `key` failed for a preflight. */
export const NOT_ASKED = Symbol("not asked");

// One bucket for each gate in this process.
const LANE: LimitOptions = { capacity: 100, refill: { tokens: 100, everyMs: 1_000 } };

const TOO_MANY =
  "More than 100 CORS preflights came at once, or 100 per second, and the others are limited like any request. " +
  "Mount the CORS middleware before the rate limit";

/**
 * The CORS preflights of one gate. Plain preflights share one bucket, because they do not identify a caller (law L18).
 */
export interface Preflights<Request> {
  /** Whether the request is a preflight as browsers send it: without credentials and without a body. */
  isPlain(request: Request): boolean;
  /**
   * Lets a plain preflight pass, which costs its caller nothing. With a key, or when the bucket is empty, `begin`
   * treats it as an ordinary request.
   */
  admit(findKey: () => unknown, begin: (key: unknown) => Verdict | Promise<Verdict>): Verdict | Promise<Verdict>;
}

/** Makes the {@link Preflights} of one gate. */
export function createPreflights<Request>(
  { method, header }: RequestReader<Request>, { store }: GateLimiter, callersBy: LimiterInternals["callersBy"],
): Preflights<Request> {
  const clock: Clock = store.clock === "server" ? monotonicClock : store.clock;
  const lost = lostTimeOf(clock);
  const policy = definePolicy(LANE);
  const buckets = policy.limits.map(fullBucket);
  const has = (request: Request, name: string): boolean => Boolean(header(request, name));

  return {
    // Fetch Standard, section 4.8: a preflight has no body and no credentials.
    isPlain: (request) =>
      method(request) === "OPTIONS" &&
      has(request, "origin") &&
      TOKEN.test(String(header(request, "access-control-request-method") ?? "")) &&
      !["authorization", "cookie", "transfer-encoding"].some((name) => has(request, name)) &&
      Number(header(request, "content-length") ?? 0) === 0,
    admit(findKey, begin) {
      // A `key` function that failed is called again, so that the request fails with its error.
      const decide = (key: unknown) => (!hasKey(key) && take() ? SKIP : begin(key));
      const key = keyOfPreflight(findKey);
      return key instanceof Promise ? key.then(decide) : decide(key);
    },
  };

  function hasKey(key: unknown): boolean {
    if (key === NOT_ASKED) return false;
    let has = false;
    const look = (each: unknown): void => void (has ||= callerOf(each) !== UNIDENTIFIED);
    if (callersBy === undefined) look(key);
    else callersBy(look)(key);
    return has;
  }

  function take(): boolean {
    const now = readClock(clock);
    const taken = (): boolean => consume(buckets, policy, 1, now + lost.lostMs).allowed;
    const isTaken = taken() || (lost.look(now) && taken());
    if (!isTaken) warnOnce("SLUICE_PREFLIGHTS", TOO_MANY);
    return isTaken;
  }
}

// Browsers send preflights without credentials, so a `key` function that expects a signed-in user throws for them.
function keyOfPreflight(find: () => unknown): unknown {
  try {
    const key = find();
    return key instanceof Promise ? key.catch(() => NOT_ASKED) : key;
  } catch {
    return NOT_ASKED;
  }
}
