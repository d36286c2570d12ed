import { expected, ownMembers } from "../../core/check.js";
import { globalOf } from "../../platform.js";
import type { Vendor } from "../reading/vendor.js";
import { allMembers } from "./members.js";
import type { CallOptions, ClientInit, ClientOptions, Timing, Traffic } from "./options.js";
import { platformNow, sleep } from "./sleep.js";

type Complete<T> = { readonly [Name in keyof T]-?: Exclude<T[Name], undefined> };

/** The client's options, checked, with all defaults filled in. */
export interface Settings extends Complete<Omit<ClientOptions, "traffic" | "backoff" | "retryBudget" | "time" | "vendor">> {
  readonly backoff: Complete<NonNullable<ClientOptions["backoff"]>>;
  readonly retryBudget: false | Complete<Exclude<ClientOptions["retryBudget"], false | undefined>>;
  readonly traffic: ClientOptions["traffic"];
  readonly vendor: readonly Vendor[];
  readonly time: Timing;
}

/** The client's settings, with those of one call over them. */
type CallSettings = Settings & Complete<Omit<CallOptions, "retry">> & Pick<CallOptions, "retry">;

/** Fills in the defaults. Throws a TypeError or RangeError for the first option that is wrong or misspelt. */
export function parseSettings(options: ClientOptions): Settings {
  const { fetch, identity } = ownMembers(options);
  const aVendor = objectOf<Vendor>({ refusal: isA("function"), limits: isA("function") });
  const check = objectOf<ClientOptions>({
    fetch: isA("function", (input: string, init: RequestInit) => globalThis.fetch(input, init)),
    identity: (name, value = "") => (typeof value === "function" ? value : isA("string")(name, value)),
    maxAttempts: wholeFrom(1, 3),
    maxWaitMs: wholeFrom(0, 60_000),
    maxPending: wholeFrom(1, 10_000),
    attemptTimeoutMs: numberFrom(1, Infinity),
    backoff: objectOf({ baseMs: wholeFrom(0, 1_000), capMs: wholeFrom(0, 30_000) }),
    methods: arrayOf("string", ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]),
    retryStatuses: arrayOf("number", []),
    merge: isA("boolean", identity !== undefined || (fetch === undefined && hasOneUser())),
    giveUp: accept('"throw" or "return"', (value) => value === "throw" || value === "return", "throw"),
    vendor: (name, value = []) => listOf(value).map((each, i) => {
      if (each === undefined) throw new TypeError(`${expected(`${name}[${i}]`, "an object", each)}. Leave it out of the list`);
      return aVendor(name, each);
    }),
    retryBudget: (name, value) =>
      value !== false && objectOf({ tokens: wholeFrom(0, 10), perSuccess: numberFrom(0, 0.1) })(name, value),
    traffic: accept("an object with `schedule`", (value) => typeof (value as Traffic)?.schedule === "function"),
    onWait: isA("function", () => undefined),
    time: timing(),
  });
  return check("options", options) as Settings;
}

/**
 * Fills in the client's settings. Moves the members that are no options to `others`. Throws like {@link parseSettings}.
 */
export function parseCallOptions(init: ClientInit, settings: Settings, others: Record<string, unknown>): CallSettings {
  const check = objectOf<CallOptions>(
    {
      sensitive: isA("boolean", false),
      retry: isA("boolean"),
      merge: isA("boolean", settings.merge),
      maxAttempts: wholeFrom(1, settings.maxAttempts),
      maxWaitMs: wholeFrom(0, settings.maxWaitMs),
      onWait: isA("function", settings.onWait),
    },
    others,
  );
  return { ...settings, ...(check("init", init) as CallOptions) } as CallSettings;
}

// On a server, and in a worker, a patched `fetch` may sign requests for several users.
function hasOneUser(): boolean {
  return Boolean(globalOf("document")) || globalThis.navigator?.product === "ReactNative";
}

/** Checks `time`, and fills in the platform's. */
export function timing(): Check {
  return objectOf<Timing>({
    now: isA("function", platformNow),
    wallNow: isA("function", Date.now),
    sleep: isA("function", sleep),
    random: isA("function", Math.random),
  });
}

/**
 * Returns the value of an option, or its default for undefined. Fills in the members that an object lacks. Throws a
 * TypeError or RangeError for a wrong value.
 */
type Check = (name: string, value?: unknown) => unknown;

/** A check for each option of `T`. */
type Checks<T> = { readonly [Name in keyof T]-?: Check };

/** Accepts what passes `isRight`. The error for a wrong number is a RangeError, and for any other value a TypeError. */
function accept(what: string, isRight: (value: unknown) => unknown, byDefault?: unknown): Check {
  return (name, value = byDefault) => {
    if (value === undefined || isRight(value)) return value;
    throw new (typeof value === "number" ? RangeError : TypeError)(expected(name, what, value));
  };
}

/** Accepts values of one type. */
function isA(type: "function" | "boolean" | "string", byDefault?: unknown): Check {
  return accept(`a ${type}`, (value) => typeof value === type, byDefault);
}

/** Accepts whole numbers of at least `least`. */
function wholeFrom(least: number, byDefault?: number): Check {
  return accept(
    `a whole number of at least ${least}`, (value) => Number.isInteger(value) && (value as number) >= least, byDefault,
  );
}

/** Accepts numbers of at least `least`, and Infinity. */
function numberFrom(least: number, byDefault: number): Check {
  return accept(`at least ${least}`, (value) => typeof value === "number" && value >= least, byDefault);
}

/** Accepts arrays whose elements are all of one type. */
function arrayOf(type: "string" | "number", byDefault: readonly unknown[]): Check {
  const isRight = (value: unknown): boolean => Array.isArray(value) && listOf(value).every((each) => typeof each === type);
  return accept(`an array of ${type}s`, isRight, byDefault);
}

/** The elements of a list, also those that it lacks, which most methods of an array leave out; or one value. */
function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? [...(value as unknown[])] : [value];
}

/**
 * Accepts objects, of which only own members count. A member that `checks` lacks throws. With `others` it is moved
 * there, and inherited members count, as in the options of `fetch`.
 */
function objectOf<T>(checks: Checks<T>, others?: Record<string, unknown>): Check {
  const anObject = accept("an object", (value) => typeof value === "object" && value, {});
  return (name, value) => {
    const given = anObject(name, value) as Record<string, unknown>;
    const members = others ? allMembers(given, Object.keys(checks)) : ownMembers(given);
    for (const key in members) {
      if (Object.hasOwn(checks, key)) continue;
      if (!others) throw new TypeError(expected("option", `one of ${Object.keys(checks).join(", ")}`, key));
      if (members[key] !== undefined) others[key] = members[key];
    }
    return Object.fromEntries(Object.entries<Check>(checks).map(([key, check]) => [key, check(key, members[key])]));
  };
}
