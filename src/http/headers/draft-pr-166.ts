import { limitItems, POLICY_FIELD } from "./default-styles.js";
import { headerFamily, LARGEST_INTEGER, type HeaderFamily } from "./field.js";

/**
 * `RateLimit-Policy` and `RateLimit` with the names that a proposal for the next draft gives to the parameters: `a` for
 * the whole tokens left, `w` for the seconds until there is one more, and `c` for the cost of this request, for each
 * limit.
 *
 * Replaces `"draft-11"`, which uses the same fields. The proposal may change before a draft takes it up. This name does
 * not change: it always means pull request 166 of draft-ietf-httpapi-ratelimit-headers in its text of 15 August 2026,
 * without the optional `pk` and `RateLimit-Partition`. Clients that know draft 11 alone do not read it.
 * @example
 * const options = { headers: ["triple", draftPr166] };
 */
export const draftPr166: HeaderFamily = headerFamily([
  POLICY_FIELD,
  {
    name: "RateLimit",
    under: (policy) =>
      // `c` is optional, and a request may ask for more than an Integer holds.
      limitItems(policy, (name, { remaining, cost }, seconds) => `${name};a=${remaining}${seconds === 0 ? "" : `;w=${seconds}`}${cost > LARGEST_INTEGER ? "" : `;c=${cost}`}`),
  },
]);
