import { checkOptions, expected } from "../../core/check.js";
import type { Policy } from "../../core/policy.js";
import { LAST_DATE_MS, toHttpDate } from "../retry-after/retry-after.js";
import type { Key } from "../../core/key.js";
import {
  headerFamily, policyValue, TOKEN, BRAND, type Field, type FieldFacts, type FieldValue, type HeaderFamily,
} from "./field.js";
import { partitionsOf } from "./partition.js";
import { draft11Fields, triple } from "./writer.js";

const INTEGER_POLICY: Field = {
  name: "RateLimit-Policy",
  under: (policy) => policyValue(policy, (limit) => String(limit.capacity)),
};

function checkCapacitiesDiffer(policy: Policy): void {
  if (new Set(policy.limits.map((limit) => limit.capacity)).size === policy.limits.length) return;
  throw new RangeError(
    `Expected the limits of policy "${policy.name}" to have different capacities, got equal ones. draft6 and ` +
    `draft7 identify a limit by its capacity; use "draft-11" or other numbers`,
  );
}

/**
 * The header fields of draft-ietf-httpapi-ratelimit-headers-06: the triple, and `RateLimit-Policy` as integers.
 *
 * Cannot be combined with `"triple"` or `"draft-11"`, which use the same names. Throws a RangeError for a policy with
 * two limits of equal capacity.
 * @example
 * const options = { headers: [draft6] };
 */
export const draft6: HeaderFamily = headerFamily([...triple.fields, INTEGER_POLICY], { check: checkCapacitiesDiffer });

/**
 * The header fields of draft-ietf-httpapi-ratelimit-headers-07: one combined `RateLimit`, and `RateLimit-Policy` as
 * integers.
 *
 * Cannot be combined with `"draft-11"`, which uses the same names. Throws a RangeError for a policy with two limits of
 * equal capacity.
 * @example
 * const options = { headers: ["triple", draft7] };
 */
export const draft7: HeaderFamily = headerFamily(
  [
    {
      name: "RateLimit",
      under: () => ({ shown, resetSeconds }) => `limit=${shown.capacity}, remaining=${shown.remaining}, reset=${resetSeconds}`,
    },
    INTEGER_POLICY,
  ],
  { check: checkCapacitiesDiffer },
);

/**
 * `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`, the last in seconds since 1970.
 *
 * Clients can use it only when their clock agrees with the server's.
 * @example
 * const options = { headers: ["triple", xRateLimit] };
 */
export const xRateLimit: ClockedStyle = clockedStyle((now) =>
  headerFamily([
    { name: "X-RateLimit-Limit", under: () => ({ shown }) => String(shown.capacity) },
    { name: "X-RateLimit-Remaining", under: () => ({ shown }) => String(shown.remaining) },
    { name: "X-RateLimit-Reset", under: () => ({ resetMs }) => epochSeconds(now, resetMs) },
  ]),
);

/**
 * `Retry-After` as a date instead of seconds. It is exact only when the clocks of server and client agree.
 * @example
 * const options = { headers: ["triple", "draft-11", retryAfterDate] };
 */
export const retryAfterDate: ClockedStyle = clockedStyle((now) =>
  headerFamily([], { retryAfter: (ms) => toHttpDate(now() + ms) }),
);

/** The options of {@link draft11}. */
export interface Draft11Options {
  /**
   * Returns the bytes of `pk`, which identifies the bucket in the `RateLimit` field: at most 128. Default: no `pk`.
   * Return a keyed hash of the key. Clients can guess the input of a plain hash of a user's id. Called before anything
   * is charged. When it fails, the request fails with the framework's error.
   */
  readonly partitionKey?: ((key: Key) => Uint8Array) | undefined;
}

/**
 * `RateLimit-Policy` and `RateLimit` as in draft-ietf-httpapi-ratelimit-headers-11, with a partition key.
 * @example
 * const options = { headers: ["triple", draft11({ partitionKey: (key) => hash(key) })] };
 */
export function draft11(options: Draft11Options = {}): HeaderFamily {
  const { partitionKey } = checkOptions(options, ["partitionKey"]);
  if (partitionKey !== undefined && typeof partitionKey !== "function") {
    throw new TypeError(expected("partitionKey", "a function", partitionKey));
  }
  return headerFamily(draft11Fields.fields, { partitionOf: partitionKey && partitionsOf(partitionKey) });
}

/** The unit of a vendor's reset field. All are rounded up. */
export type ResetFormat = "delta-seconds" | "epoch-seconds" | "epoch-milliseconds" | "iso-8601" | "http-date";

/** The field names of a vendor. At least one is required. */
export interface VendorHeaders {
  /** The field for the capacity. */
  readonly limit?: string | undefined;
  /** The field for the whole tokens left. */
  readonly remaining?: string | undefined;
  /** The field for the tokens in use: the capacity minus what remains. */
  readonly used?: string | undefined;
  /** The field for the time until the bucket is full, in the format `resetFormat`. */
  readonly reset?: string | undefined;
  /** The format of `reset`. Required with `reset`. */
  readonly resetFormat?: ResetFormat | undefined;
  /** The field for the wait in milliseconds. Sent with 429 only. */
  readonly retryAfterMs?: string | undefined;
  /** The clock of a `reset` that holds an instant, in milliseconds since 1970. Default `Date.now`. */
  readonly clock?: (() => number) | undefined;
}

/**
 * Makes header fields with the names of a vendor.
 *
 * Throws a TypeError for an unknown member. Throws a RangeError for an invalid field name, for a name that sluice sets
 * itself, and for a `reset` without `resetFormat`.
 * @example
 * const quota = vendorHeaders({ remaining: "X-Quota-Remaining", retryAfterMs: "Retry-After-Ms" });
 * const options = { headers: ["triple", quota] };
 */
export function vendorHeaders(names: VendorHeaders): HeaderFamily {
  checkOptions(names, MEMBERS, 'an object such as { limit: "X-Limit" }');
  const { reset, resetFormat = "", clock = Date.now } = names;
  const now = checkedClock(clock);
  if (reset !== undefined && !Object.hasOwn(RESET, resetFormat)) {
    throw new RangeError(
      expected(
        "resetFormat",
        Object.keys(RESET)
          .map((format) => `"${format}"`)
          .join(" or "),
        names.resetFormat,
      ),
    );
  }
  const values: ReadonlyArray<readonly [member: Exclude<keyof VendorHeaders, "resetFormat" | "clock">, value: FieldValue]> = [
    ["limit", ({ shown }) => String(shown.capacity)],
    ["remaining", ({ shown }) => String(shown.remaining)],
    ["used", ({ shown }) => String(shown.capacity - shown.remaining)],
    ["reset", (facts) => RESET[resetFormat as ResetFormat](facts, now)],
    ["retryAfterMs", ({ refusedBy, resetMs }) => (refusedBy === null ? null : String(resetMs))],
  ];
  const fields = values.flatMap(([member, value]): Field[] => {
    const name = names[member];
    if (name === undefined) return [];
    checkFieldName(member, name);
    return [{ name, under: () => value }];
  });
  if (fields.length === 0) {
    throw new RangeError('Expected `vendorHeaders` to get at least one field name, such as { limit: "X-Limit" }, got none');
  }
  return headerFamily(fields);
}

const MEMBERS = [
  "limit", "remaining", "used", "reset", "resetFormat", "retryAfterMs", "clock",
] as const satisfies (keyof VendorHeaders)[];

const TAKEN = ["retry-after", "cache-control", "content-type", "content-length", "access-control-expose-headers", "date"];

function checkFieldName(member: string, name: unknown): void {
  if (typeof name !== "string" || !TOKEN.test(name)) {
    throw new RangeError(expected(member, 'a header field name such as "X-Limit"', name));
  }
  if (TAKEN.includes(name.toLowerCase())) {
    throw new RangeError(expected(member, "a field that the server does not set itself", name));
  }
}

const RESET: Readonly<Record<ResetFormat, (facts: FieldFacts, now: () => number) => string>> = {
  "delta-seconds": ({ resetSeconds }) => String(resetSeconds),
  "epoch-seconds": ({ resetMs }, now) => epochSeconds(now, resetMs),
  "epoch-milliseconds": ({ resetMs }, now) => String(Math.ceil(now() + resetMs)),
  "iso-8601": ({ resetMs }, now) => new Date(Math.min(LAST_DATE_MS, Math.ceil(now() + resetMs))).toISOString(),
  "http-date": ({ resetMs }, now) => toHttpDate(now() + resetMs),
};

function epochSeconds(now: () => number, resetMs: number): string {
  return String(Math.ceil((now() + resetMs) / 1_000));
}

/** The clock of a style that sends an instant. */
export interface StyleClock {
  /** Returns milliseconds since 1970. Default `Date.now`. */
  readonly clock?: (() => number) | undefined;
}

/** A style that sends an instant. Use it as it is, or call it to get one with another clock. */
export interface ClockedStyle extends HeaderFamily {
  (options?: StyleClock): HeaderFamily;
}

/** Makes a style that is a value and a function. `make` gets the clock. */
function clockedStyle(make: (now: () => number) => HeaderFamily): ClockedStyle {
  const style = (options: StyleClock = {}): HeaderFamily =>
    make(checkedClock(checkOptions(options, ["clock"]).clock ?? Date.now));
  // Date.now is read at each call, so that a test can replace it.
  return Object.assign(style, { [BRAND]: true }, make(checkedClock(() => Date.now()))) as ClockedStyle;
}

/** Returns the clock, which then throws a RangeError for a reading that is not finite. */
function checkedClock(clock: () => number): () => number {
  if (typeof clock !== "function") {
    throw new TypeError(expected("clock", "a function that returns milliseconds since 1970", clock));
  }
  return () => {
    const now = clock();
    if (!Number.isFinite(now)) throw new RangeError(expected("clock()", "a finite number of milliseconds", now));
    return now;
  };
}
