import { gateChecks } from "#diagnostics";
import { hasFewerLeft, isInFlight, readings as readingsOf, type Decision, type Reading } from "../../core/decision.js";
import { expected } from "../../core/check.js";
import type { Key } from "../../core/key.js";
import type { Limit } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import { toRetryAfter } from "../retry-after/retry-after.js";
import {
  headerFamily, isHeaderFamily, labelOf, LARGEST_INTEGER, policyValue, windowSeconds, type Field, type FieldList,
  type FieldValue, type HeaderFamily,
} from "./field.js";
import { checkPartition } from "./partition.js";

/**
 * A family of header fields. The default is `"triple"` and `"draft-11"`.
 *
 * Others are values of `sluice/http`: {@link draft11}, {@link draft6}, {@link draft7}, {@link xRateLimit},
 * {@link vendorHeaders} and {@link retryAfterDate}.
 */
export type HeaderStyle = "triple" | "draft-11" | HeaderFamily;

/** Turns decisions into header fields. */
export interface HeaderWriter {
  /**
   * The header fields for `decision`. Empty for a degraded decision, because the store's numbers are unknown.
   *
   * `partition` is the value of `pk`, from `partitionOf`. Throws a RangeError when it has more than 128 bytes.
   */
  write(policy: Policy, decision: Decision, partition?: Uint8Array): FieldList;
  /**
   * Returns the bytes of `pk` for a caller. Call it before anything is charged, because it throws what the option of
   * the style throws. Null if no style has a partition key.
   */
  readonly partitionOf: ((caller: Key) => Uint8Array | undefined) | null;
  /** The value of `Retry-After` for a wait: whole seconds, rounded up, or a date with the style `retryAfterDate`. */
  retryAfter(ms: number): string;
  /** Throws a RangeError for a policy with numbers that do not fit into these fields or into `Retry-After`. */
  check(policy: Policy): void;
  /** The names among `fields` that belong in `Access-Control-Expose-Headers`, spelled as in their specifications. */
  namesToExpose(fields: FieldList): readonly string[];
}

/** The default of the `headers` option. */
export const DEFAULT_STYLES: readonly HeaderStyle[] = ["triple", "draft-11"];

// 2^31 - 1 seconds, the longest wait that all clients parse. Retry-After is never clamped, so longer waits throw.
const LONGEST_WAIT_MS = 2_147_483_647_000;

/**
 * Makes a writer of header fields in the given styles, in their order.
 *
 * Throws a TypeError or RangeError for an unknown style, and a RangeError for two styles that set the same field.
 * @example
 * const writer = createHeaderWriter(["triple", "draft-11"]);
 * writer.write(policy, decision); // ["ratelimit-limit", "30", "ratelimit-remaining", "29", …]
 */
export function createHeaderWriter(styles: readonly HeaderStyle[]): HeaderWriter {
  if (!Array.isArray(styles)) throw new TypeError(expected("headers", 'a list such as ["triple", "draft-11"]', styles));
  const families = [...(styles as readonly unknown[])].map(familyOf);
  const fields = families.flatMap((family) => family.fields);
  const spelling = spellingOf(fields);
  // Platforms keep names in lower case. For another spelling, Node makes a new string for each field of each response.
  const names = fields.map(({ name }) => name.toLowerCase());
  // A copy is overwritten, because a list that grows takes room for 17.
  const template = names.flatMap((name) => [name, ""]);
  const valuesUnder = perPolicy((policy) => fields.map((field) => field.under(policy)));

  const [partitionOf = null] = ownOf(families, "partitionOf");
  const [retryAfter, another] = ownOf(families, "retryAfter");
  if (another !== undefined) throw new RangeError("Expected `headers` to name each field once, got Retry-After twice");

  return {
    write,
    check: perPolicy(check),
    namesToExpose,
    partitionOf,
    retryAfter: retryAfter ?? ((ms) => String(toRetryAfter(ms))),
  };

  function write(policy: Policy, decision: Decision, partition?: Uint8Array): FieldList {
    if (decision.degraded || fields.length === 0) return [];
    const readings = readingsOf(decision);
    // A limit in flight is the decision's own only if it refuses or is alone.
    const isAlone = readings.length === 1 || isInFlight(decision);
    const shown: Reading = isAlone ? decision : readings.reduce((a, b) => (hasFewerLeft(b, a) ? b : a));
    const refused = decision.reason === "limited";
    const untilBack = shown.remaining === 0 ? shown.nextTokenMs : shown.resetMs;
    const mostMs = (policy.inFlight && isInFlight(shown) && policy.inFlight.kind.retryAfterMs) || Infinity;
    const resetMs = refused ? decision.retryAfterMs : Math.min(untilBack, mostMs);
    const facts = {
      readings, shown, resetMs,
      resetSeconds: refused ? toRetryAfter(resetMs) : Math.ceil(resetMs / 1_000),
      refusedBy: refused ? decision : null,
      partition: partition === undefined ? "" : `;pk=:${btoa(String.fromCharCode(...checkPartition(partition, "partition")))}:`,
    };
    const values = valuesUnder(policy);
    const list = template.slice();
    let length = 0;
    for (let i = 0; i < names.length; i++) {
      const value = values[i];
      const text = typeof value === "function" ? value(facts) : value;
      if (typeof text !== "string") continue;
      list[length++] = names[i] as string;
      list[length++] = text;
    }
    return length === list.length ? list : list.slice(0, length);
  }

  function check(policy: Policy): void {
    for (const { fullMs, capacity } of policy.limits) {
      if (fullMs > LONGEST_WAIT_MS) {
        throw new RangeError(
          `Expected policy "${policy.name}" to refill within 2147483647 seconds, the longest Retry-After that ` +
          `clients read, got ${fullMs} ms`,
        );
      }
      if (capacity > LARGEST_INTEGER) {
        throw new RangeError(
          `Policy "${policy.name}": ` +
            expected("capacity", `at most ${LARGEST_INTEGER}, the largest integer of a header field`, capacity),
        );
      }
    }
    for (const checkFamily of ownOf(families, "check")) checkFamily(policy);
  }

  function namesToExpose(list: FieldList): readonly string[] {
    const exposed: string[] = [];
    for (let i = 0; i < list.length; i += 2) {
      const name = spelling.get(list[i] as string);
      if (name !== undefined) exposed.push(name);
    }
    // Clients compare an HTTP-date with the response's `Date`. Scripts can read `Date` only when it is exposed.
    if (retryAfter !== undefined && exposed.includes("Retry-After")) exposed.push("Date");
    return exposed;
  }
}

// A style that is a function inherits from Object.prototype, where an attacker may have added a member (CWE-1321).
function ownOf<Name extends "check" | "partitionOf" | "retryAfter">(
  families: readonly HeaderFamily[], name: Name,
): NonNullable<HeaderFamily[Name]>[] {
  return families.flatMap((family) => (Object.hasOwn(family, name) ? (family[name] ?? []) : [])) as NonNullable<
    HeaderFamily[Name]
  >[];
}

function familyOf(style: unknown): HeaderFamily {
  if (style === "triple") return triple;
  if (style === "draft-11") return draft11Fields;
  if (isHeaderFamily(style)) return style;
  const message = expected("headers", 'a list of "triple", "draft-11" and styles from "sluice/http"', style);
  const cure = gateChecks ? gateChecks.cureForStyle(style) : "";
  throw new (typeof style === "string" ? RangeError : TypeError)(message + cure);
}

/** The spelling of each field's name, by its name in lower case. Fields that are not in it are never exposed. */
function spellingOf(fields: readonly Field[]): ReadonlyMap<string, string> {
  const spelling = new Map([["retry-after", "Retry-After"]]);
  for (const { name } of fields) {
    if (spelling.has(name.toLowerCase())) throw new RangeError(`Expected \`headers\` to name each field once, got ${name} twice`);
    spelling.set(name.toLowerCase(), name);
  }
  return spelling;
}

/** Calls `make` once for each policy. Compares the last policy first, because most gates have only one. */
function perPolicy<T>(make: (policy: Policy) => T): (policy: Policy) => T {
  const made = new WeakMap<Policy, T>();
  let last: Policy;
  let value: T;
  return (policy) => {
    if (policy !== last) {
      if (!made.has(policy)) made.set(policy, make(policy));
      value = made.get(policy) as T;
      last = policy;
    }
    return value;
  };
}

/** `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`, as in the drafts up to 06. */
export const triple = headerFamily([
  { name: "RateLimit-Limit", under: () => ({ shown }) => String(shown.capacity) },
  { name: "RateLimit-Remaining", under: () => ({ shown }) => String(shown.remaining) },
  { name: "RateLimit-Reset", under: () => ({ resetSeconds }) => String(resetSeconds) },
]);

// Draft 11, section 10.5. The third, requests, is the default.
const REGISTERED = ["content-bytes", "concurrent-requests"];

/**
 * `RateLimit-Policy` as in draft-ietf-httpapi-ratelimit-headers-11. A limit with a unit that is not registered has no
 * item: without `qu` its tokens would read as requests.
 */
const POLICY_FIELD: Field = {
  name: "RateLimit-Policy",
  under: (policy) => policyValue(policy, ({ name, capacity, kind, unit: written }) => {
    const unit = written ?? (kind.isInFlight ? "concurrent-requests" : "requests");
    const quota = `"${labelOf(policy, name)}";q=${capacity}`;
    if (unit === "requests") return quota;
    return REGISTERED.includes(unit) && `${quota};qu="${unit}"`;
  }),
};

/** `RateLimit-Policy` and `RateLimit` as in draft-ietf-httpapi-ratelimit-headers-11. */
export const draft11Fields = headerFamily([
  POLICY_FIELD,
  { name: "RateLimit", under: limitItems },
]);

/** What an item of `RateLimit` needs of its limit. */
interface ItemLimit extends Pick<Limit, "name" | "capacity"> {
  /** The seconds in which an empty bucket fills. 0 for a quota, which has no rate. */
  readonly window: number;
}

/** The value of `RateLimit`, with one item for each limit. Its `t` is left out when the bucket is full. */
function limitItems(policy: Policy): FieldValue {
  const limits = policy.limits.map((limit): ItemLimit => ({
    name: `"${labelOf(policy, limit.name)}"`,
    capacity: limit.capacity,
    window: limit.renews ? 0 : windowSeconds(limit),
  }));
  const [first] = limits as [ItemLimit];
  // Looked up by position, because a custom store may give its limits names that are unsafe in a header field.
  return ({ readings, refusedBy, resetSeconds, partition }) => {
    // Section 6: `t` must not be before Retry-After. So a refusal shows the longest wait only, as the `t` of that
    // limit.
    if (refusedBy !== null) {
      const i = readings.findIndex(({ limit }) => limit === refusedBy.limit);
      return itemOf(limits[i] ?? first, refusedBy, resetSeconds) + partition;
    }
    let text = "";
    for (let i = 0; i < readings.length; i++) {
      const [limit, reading] = [limits[i] ?? first, readings[i] as Reading];
      text += `${text && ", "}${itemOf(limit, reading, spreadSeconds(reading, limit))}${partition}`;
    }
    return text;
  };
}

function itemOf({ name }: ItemLimit, { remaining }: Reading, t: number): string {
  return `${name};r=${remaining}${t === 0 ? "" : `;t=${t}`}`;
}

// Section 8.5: a client may use `r` within `t`. So `t` is the time until the next token, or the longer one in which the
// limit refills `r`: then `r / t` never exceeds the rate.
function spreadSeconds(reading: Reading, { capacity, window }: ItemLimit): number {
  const { remaining, nextTokenMs } = reading;
  if (isInFlight(reading) || nextTokenMs === 0) return 0; // tokens in flight come back at no known time
  return Math.max(Math.ceil(nextTokenMs / 1_000), Math.ceil((remaining * window) / capacity));
}
