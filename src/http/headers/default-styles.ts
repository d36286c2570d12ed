import type { Reading } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";
import { headerFamily, labelOf, policyValue, type Field, type FieldValue } from "./field.js";

/** `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`, as in the drafts up to 06. */
export const triple = headerFamily([
  { name: "RateLimit-Limit", under: () => ({ shown }) => String(shown.capacity) },
  { name: "RateLimit-Remaining", under: () => ({ shown }) => String(shown.remaining) },
  { name: "RateLimit-Reset", under: () => ({ resetSeconds }) => String(resetSeconds) },
]);

/** `RateLimit-Policy` as in draft-ietf-httpapi-ratelimit-headers-11. */
const POLICY_FIELD: Field = {
  name: "RateLimit-Policy",
  under: (policy) => policyValue(policy, (limit) => `"${labelOf(policy, limit.name)}";q=${limit.capacity}`),
};

/** `RateLimit-Policy` and `RateLimit` as in draft-ietf-httpapi-ratelimit-headers-11. */
export const draft11Fields = headerFamily([
  POLICY_FIELD,
  { name: "RateLimit", under: limitItems },
]);

/**
 * The value of `RateLimit`, with one item for each limit. `t` is the time until the next token, 0 when the bucket is
 * full.
 */
function limitItems(policy: Policy): FieldValue {
  const names = policy.limits.map(({ name }) => `"${labelOf(policy, name)}"`);
  // Looked up by position, because a custom store may give its limits names that are unsafe in a header field.
  const item = (i: number, { remaining }: Reading, t: number): string => `${names[i] ?? names[0]};r=${remaining}${t === 0 ? "" : `;t=${t}`}`;
  return ({ readings, refusedBy, resetSeconds, partition }) => {
    // Section 6: `t` must not be before Retry-After. So a refusal shows the longest wait only, as the `t` of that
    // limit.
    if (refusedBy !== null) return item(readings.findIndex(({ limit }) => limit === refusedBy.limit), refusedBy, resetSeconds) + partition;
    let text = "";
    for (let i = 0; i < readings.length; i++) {
      const reading = readings[i] as Reading;
      text += `${text && ", "}${item(i, reading, Math.ceil(reading.nextTokenMs / 1_000))}${partition}`;
    }
    return text;
  };
}
