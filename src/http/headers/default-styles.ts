import type { Reading } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";
import { headerFamily, labelOf, policyValue, type FieldValue } from "./field.js";

/** `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`, as in the drafts up to 06. */
export const triple = headerFamily([
  { name: "RateLimit-Limit", under: () => ({ shown }) => String(shown.capacity) },
  { name: "RateLimit-Remaining", under: () => ({ shown }) => String(shown.remaining) },
  { name: "RateLimit-Reset", under: () => ({ resetSeconds }) => String(resetSeconds) },
]);

/** `RateLimit-Policy` and `RateLimit` as in draft-ietf-httpapi-ratelimit-headers-11. */
export const draft11 = headerFamily([
  {
    name: "RateLimit-Policy",
    under: (policy) => policyValue(policy, (limit) => `"${labelOf(policy, limit.name)}";q=${limit.capacity}`),
  },
  { name: "RateLimit", under: rateLimitValue },
]);

function rateLimitValue(policy: Policy): FieldValue {
  const starts = policy.limits.map(({ name }) => `"${labelOf(policy, name)}";r=`);
  // By position, because a custom store may give its limits names that are unsafe in a header field.
  const item = (i: number, { remaining }: Reading, t: number): string => `${starts[i] ?? starts[0]}${remaining}${t === 0 ? "" : `;t=${t}`}`;
  return ({ readings, refusedBy, resetSeconds, partition }) => {
    // Section 6: t is never before Retry-After. So a refusal shows only the limit with the longest wait, as t.
    if (refusedBy !== null) return item(readings.findIndex(({ limit }) => limit === refusedBy.limit), refusedBy, resetSeconds) + partition;
    let text = "";
    for (let i = 0; i < readings.length; i++) {
      const reading = readings[i] as Reading;
      text += `${text && ", "}${item(i, reading, Math.ceil(reading.nextTokenMs / 1_000))}${partition}`;
    }
    return text;
  };
}
