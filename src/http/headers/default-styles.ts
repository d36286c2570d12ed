import type { Reading } from "../../core/decision.js";
import type { Limit } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import { headerFamily, labelOf, policyValue, windowSeconds, type Field, type FieldValue } from "./field.js";

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
  under: (policy) => policyValue(policy, ({ name, capacity, returns, unit = returns ? "concurrent-requests" : "requests" }) => {
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

/**
 * The value of `RateLimit`, with one item for each limit. Its `t` is left out when the bucket is full.
 */
function limitItems(policy: Policy): FieldValue {
  const names = policy.limits.map(({ name }) => `"${labelOf(policy, name)}"`);
  // Looked up by position, because a custom store may give its limits names that are unsafe in a header field.
  const item = (i: number, { remaining }: Reading, t: number): string =>
    `${names[i] ?? names[0]};r=${remaining}${t === 0 ? "" : `;t=${t}`}`;
  return ({ readings, refusedBy, resetSeconds, partition }) => {
    // Section 6: `t` must not be before Retry-After. So a refusal shows the longest wait only, as the `t` of that
    // limit.
    if (refusedBy !== null) return (
      item(
        readings.findIndex(({ limit }) => limit === refusedBy.limit), refusedBy, resetSeconds,
      ) + partition
    );
    let text = "";
    for (let i = 0; i < readings.length; i++) {
      const reading = readings[i] as Reading;
      text += `${text && ", "}${item(i, reading, spreadSeconds(reading, policy.limits[i] ?? policy.limits[0]))}${partition}`;
    }
    return text;
  };
}

// Section 8.5: a client may use `r` within `t`. So `t` is the time until the next token, or the longer one in which the
// limit refills `r`: then `r / t` never exceeds the rate. A quota has no rate.
function spreadSeconds({ remaining, nextTokenMs, inFlight }: Reading, limit: Limit): number {
  if (inFlight) return 0; // its tokens come back at no known time
  if (nextTokenMs === 0 || limit.refill === undefined) return Math.ceil(nextTokenMs / 1_000);
  return Math.max(Math.ceil(nextTokenMs / 1_000), Math.ceil((remaining * windowSeconds(limit)) / limit.capacity));
}
