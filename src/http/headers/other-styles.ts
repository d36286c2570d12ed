import { checkOptions, expected } from "../../core/check.js";
import type { Policy } from "../../core/policy.js";
import { LAST_DATE_MS, toHttpDate } from "../retry-after/retry-after.js";
import { triple } from "./default-styles.js";
import { headerFamily, policyValue, TOKEN, type Field, type FieldFacts, type FieldValue, type HeaderFamily } from "./field.js";

const INTEGER_POLICY: Field = {
  name: "RateLimit-Policy",
  under: (policy) => policyValue(policy, (limit) => String(limit.capacity)),
};

function checkCapacitiesDiffer(policy: Policy): void {
  if (new Set(policy.limits.map((limit) => limit.capacity)).size === policy.limits.length) return;
  throw new RangeError(
    `Expected the limits of policy "${policy.name}" to have different capacities, got equal ones. draft6 and draft7 identify a limit by its capacity; use "draft-11" or other numbers`,
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
export const draft6: HeaderFamily = headerFamily([...triple.fields, INTEGER_POLICY], checkCapacitiesDiffer);

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
  checkCapacitiesDiffer,
);

/**
 * `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`, the last in seconds since 1970.
 *
 * Clients can use it only when their clock agrees with the server's.
 * @example
 * const options = { headers: ["triple", xRateLimit] };
 */
export const xRateLimit: HeaderFamily = headerFamily([
  { name: "X-RateLimit-Limit", under: () => ({ shown }) => String(shown.capacity) },
  { name: "X-RateLimit-Remaining", under: () => ({ shown }) => String(shown.remaining) },
  { name: "X-RateLimit-Reset", under: () => epochSeconds },
]);

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
  const { reset, resetFormat = "" } = names;
  if (reset !== undefined && !Object.hasOwn(RESET, resetFormat)) {
    throw new RangeError(expected("resetFormat", Object.keys(RESET).map((format) => `"${format}"`).join(" or "), names.resetFormat));
  }
  const values: ReadonlyArray<readonly [member: Exclude<keyof VendorHeaders, "resetFormat">, value: FieldValue]> = [
    ["limit", ({ shown }) => String(shown.capacity)],
    ["remaining", ({ shown }) => String(shown.remaining)],
    ["used", ({ shown }) => String(shown.capacity - shown.remaining)],
    ["reset", RESET[resetFormat as ResetFormat]],
    ["retryAfterMs", ({ refusedBy, resetMs }) => (refusedBy === null ? null : String(resetMs))],
  ];
  const fields = values.flatMap(([member, value]): Field[] => {
    const name = names[member];
    if (name === undefined) return [];
    checkFieldName(member, name);
    return [{ name, under: () => value }];
  });
  if (fields.length === 0) throw new RangeError('Expected `vendorHeaders` to get at least one field name, such as { limit: "X-Limit" }, got none');
  return headerFamily(fields);
}

const MEMBERS = ["limit", "remaining", "used", "reset", "resetFormat", "retryAfterMs"] as const satisfies (keyof VendorHeaders)[];

const TAKEN = ["retry-after", "cache-control", "content-type", "content-length", "access-control-expose-headers", "date"];

function checkFieldName(member: string, name: unknown): void {
  if (typeof name !== "string" || !TOKEN.test(name)) throw new RangeError(expected(member, 'a header field name such as "X-Limit"', name));
  if (TAKEN.includes(name.toLowerCase())) throw new RangeError(expected(member, "a field that the server does not set itself", name));
}

const RESET: Readonly<Record<ResetFormat, (facts: FieldFacts) => string>> = {
  "delta-seconds": ({ resetSeconds }) => String(resetSeconds),
  "epoch-seconds": epochSeconds,
  "epoch-milliseconds": ({ wallClock, resetMs }) => String(Math.ceil(wallClock() + resetMs)),
  "iso-8601": ({ wallClock, resetMs }) => new Date(Math.min(LAST_DATE_MS, Math.ceil(wallClock() + resetMs))).toISOString(),
  "http-date": ({ wallClock, resetMs }) => toHttpDate(wallClock() + resetMs),
};

function epochSeconds({ wallClock, resetMs }: FieldFacts): string {
  return String(Math.ceil((wallClock() + resetMs) / 1_000));
}
