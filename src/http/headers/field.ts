import type { Reading } from "../../core/decision.js";
import type { Key } from "../../core/key.js";
import type { Limit } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";

/** Header fields as a flat list: name, value, name, value. Names are in lower case. */
export type FieldList = readonly string[];

/** An empty list of fields or names. */
export const NONE: readonly string[] = [];

/** The fields of a refusal without those that describe its body. */
export function withoutContent(fields: FieldList): FieldList {
  return fields.filter((_, i) => !(fields[i - (i % 2)] as string).startsWith("content-"));
}

/** A token of HTTP (RFC 9110, section 5.6.2), such as the name of a field or a method. */
export const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;

/** The largest Integer of a structured field (RFC 9651, section 3.3.1). */
export const LARGEST_INTEGER = 999_999_999_999_999;

/** The input from which the header fields of one response are made. */
export interface FieldFacts {
  /** One reading for each limit of the policy. */
  readonly readings: readonly Reading[];
  /** The limit with the fewest tokens left, for fields that show one limit. */
  readonly shown: Reading;
  /**
   * The milliseconds for reset fields. When refused: the wait. When no tokens are left: the time until the next one.
   * Otherwise: the time until the bucket is full.
   */
  readonly resetMs: number;
  /** `resetMs` in whole seconds, rounded up. Equal to `Retry-After` when refused. */
  readonly resetSeconds: number;
  /** The limit with the longest wait; null when the request was allowed. */
  readonly refusedBy: Reading | null;
  /** `;pk=:…:`, or empty without a partition key. */
  readonly partition: string;
}

/** One header field of a {@link HeaderStyle}. */
export interface Field {
  /** The name, spelled as in its specification. */
  readonly name: string;
  /**
   * @internal The value under a policy: a text that is the same in every response, or a function for a value that changes.
   */
  readonly under: (policy: Policy) => string | FieldValue;
}

/** The value of a field in one response; null leaves the field out. */
export type FieldValue = (facts: FieldFacts) => string | null;

/**
 * A family of header fields for the option `headers`, made by a function of `sluice/http`: {@link triple},
 * {@link draft11}, {@link draft7}, {@link xRateLimit}, {@link retryAfterDate} or {@link vendorHeaders}. The default is
 * `[triple(), draft11()]`.
 */
export interface HeaderStyle {
  /** The fields that it writes. */
  readonly fields: readonly Field[];
  /** @internal Its fields show the policy, the capacity, whole tokens and whole seconds, and nothing else. */
  readonly repeats?: true;
  /** @internal Throws a RangeError for a policy that these fields cannot express. */
  readonly check?: (policy: Policy) => void;
  /** @internal Returns the bytes of `pk` for a key. Undefined for callers without a key. */
  readonly partitionOf?: ((key: Key) => Uint8Array | undefined) | undefined;
  /** @internal The value of `Retry-After` for a wait in milliseconds. */
  readonly retryAfter?: ((ms: number) => string) | undefined;
}

/** Marks a style. */
const BRAND = Symbol.for("sluice.headers");

/** Makes a style that every copy of this package recognizes. */
export function headerStyle(fields: readonly Field[], others: Omit<HeaderStyle, "fields"> = {}): HeaderStyle {
  return { [BRAND]: true, fields, ...others } as HeaderStyle;
}

/** Whether {@link headerStyle} made `value`, in this copy of the package or another. */
export function isHeaderStyle(value: unknown): value is HeaderStyle {
  return BRAND in Object(value);
}

/** A limit's name in header fields and problem documents: the policy's, or `policy:limit` when there are several. */
export function labelOf(policy: Policy, limitName: string): string {
  return policy.limits.length === 1 ? policy.name : `${policy.name}:${limitName}`;
}

/**
 * The value of `RateLimit-Policy`: the quota of each limit, and as `w` the seconds in which an empty bucket fills.
 *
 * `w` is rounded up, so quota / w never exceeds the true rate. It is at least 1, the smallest value that the drafts
 * allow. For a quota it is the length of a day, a week or the longest month. `quota` returns false for a limit without
 * an item.
 */
export function policyValue(policy: Policy, quota: (limit: Limit) => string | false): string | FieldValue {
  const windowOf = (limit: Limit): string => (limit.kind.isInFlight ? "" : `;w=${windowSeconds(limit)}`);
  const items = policy.limits.map((limit) => quota(limit) && quota(limit) + windowOf(limit));
  // A List without members is not sent (RFC 9651, section 3.1).
  return items.filter(Boolean).join(", ") || (() => null);
}

/** `w`: the seconds in which an empty bucket fills, rounded up, or the longest period of a quota. */
export function windowSeconds({ fullMs, windowSeconds: told }: Limit): number {
  return told ?? Math.max(1, Math.ceil(fullMs / 1_000));
}
