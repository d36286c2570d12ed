import { checkOptions, expected } from "../../core/check.js";
import { wallClock, type Clock } from "../../core/clock.js";
import type { Policy } from "../../core/policy.js";
import { LAST_DATE_MS, toHttpDate } from "../retry-after/retry-after.js";
import { headerStyle, policyValue, TOKEN, type Field, type FieldFacts, type FieldValue, type HeaderStyle } from "./field.js";

const INTEGER_POLICY: Field = {
  name: "RateLimit-Policy",
  under: (policy) => policyValue(policy, (limit) => String(limit.capacity)),
};

function checkCapacitiesDiffer(policy: Policy): void {
  if (new Set(policy.limits.map((limit) => limit.capacity)).size === policy.limits.length) return;
  throw new RangeError(
    `Expected the limits of policy "${policy.name}" to have different capacities, got equal ones. draft7() ` +
    "identifies a limit by its capacity; use draft11() or other numbers",
  );
}

/**
 * The header fields of draft-ietf-httpapi-ratelimit-headers-07: one combined `RateLimit`, and `RateLimit-Policy` as
 * integers.
 *
 * Cannot be combined with {@link draft11}, which uses the same names. Throws a RangeError for a policy with two limits
 * of equal capacity.
 * @example
 * const options = { headers: [triple(), draft7()] };
 */
export function draft7(): HeaderStyle {
  return headerStyle(
    [
      {
        name: "RateLimit",
        under: () => ({ shown, resetSeconds }) => `limit=${shown.capacity}, remaining=${shown.remaining}, reset=${resetSeconds}`,
      },
      INTEGER_POLICY,
    ],
    { check: checkCapacitiesDiffer },
  );
}

/**
 * `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`, the last in seconds since 1970.
 *
 * Clients can use it only when their clock agrees with the server's. `clock` is a clock since 1970, by default the
 * process's date.
 * @example
 * const options = { headers: [triple(), xRateLimit()] };
 */
export function xRateLimit(options: { readonly clock?: Clock | undefined } = {}): HeaderStyle {
  const now = dateOf(checkOptions(options, ["clock"]).clock);
  return headerStyle([
    { name: "X-RateLimit-Limit", under: () => ({ shown }) => String(shown.capacity) },
    { name: "X-RateLimit-Remaining", under: () => ({ shown }) => String(shown.remaining) },
    { name: "X-RateLimit-Reset", under: () => ({ resetMs }) => epochSeconds(now, resetMs) },
  ]);
}

/**
 * `Retry-After` as a date instead of seconds. It is exact only when the clocks of server and client agree. `clock` is a
 * clock since 1970, by default the process's date.
 * @example
 * const options = { headers: [triple(), draft11(), retryAfterDate()] };
 */
export function retryAfterDate(options: { readonly clock?: Clock | undefined } = {}): HeaderStyle {
  const now = dateOf(checkOptions(options, ["clock"]).clock);
  return headerStyle([], { retryAfter: (ms) => toHttpDate(now() + ms) });
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
  readonly clock?: Clock | undefined;
}

/**
 * Makes header fields with the names of a vendor.
 *
 * Throws a TypeError for an unknown member. Throws a RangeError for an invalid field name, for a name that sluice sets
 * itself, and for a `reset` without `resetFormat`.
 * @example
 * const quota = vendorHeaders({ remaining: "X-Quota-Remaining", retryAfterMs: "Retry-After-Ms" });
 * const options = { headers: [triple(), quota] };
 */
export function vendorHeaders(names: VendorHeaders): HeaderStyle {
  checkOptions(names, MEMBERS, 'an object such as { limit: "X-Limit" }');
  const { reset, resetFormat = "", clock } = names;
  const now = dateOf(clock);
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
  return headerStyle(fields);
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

/** Returns a reader of the date, which throws a RangeError for a reading that is not finite. */
function dateOf(clock: Clock | undefined): () => number {
  // `Date.now` is read at each call, so that a test can replace it.
  const read = clock === undefined ? () => Date.now() : wallClock(clock);
  return () => {
    const now = read();
    if (!Number.isFinite(now)) throw new RangeError(expected("clock()", "a finite number of milliseconds", now));
    return now;
  };
}
