import { checkOptions, expected } from "../../core/check.js";
import { isInFlight, type Reading } from "../../core/decision.js";
import type { Key } from "../../core/key.js";
import type { Limit } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import {
  headerStyle, labelOf, policyValue, windowSeconds, type Field, type FieldValue, type HeaderStyle,
} from "./field.js";
import { partitionsOf } from "./partition.js";

/**
 * `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`, as in the drafts up to 06.
 * @example
 * const options = { headers: [triple()] };
 */
export function triple(): HeaderStyle {
  return headerStyle([
    { name: "RateLimit-Limit", under: () => ({ shown }) => String(shown.capacity) },
    { name: "RateLimit-Remaining", under: () => ({ shown }) => String(shown.remaining) },
    { name: "RateLimit-Reset", under: () => ({ resetSeconds }) => String(resetSeconds) },
  ], { repeats: true });
}

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

const DRAFT_11: readonly Field[] = [POLICY_FIELD, { name: "RateLimit", under: limitItems }];

/** The default of the option `headers`. */
export const DEFAULT_STYLES: readonly HeaderStyle[] = [triple(), headerStyle(DRAFT_11, { repeats: true })];

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
 * `RateLimit-Policy` and `RateLimit` as in draft-ietf-httpapi-ratelimit-headers-11.
 * @example
 * const options = { headers: [triple(), draft11({ partitionKey: (key) => hash(key) })] };
 */
export function draft11(options: Draft11Options = {}): HeaderStyle {
  const { partitionKey } = checkOptions(options, ["partitionKey"]);
  if (partitionKey !== undefined && typeof partitionKey !== "function") {
    throw new TypeError(expected("partitionKey", "a function", partitionKey));
  }
  return headerStyle(DRAFT_11, { repeats: true, partitionOf: partitionKey && partitionsOf(partitionKey) });
}

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
