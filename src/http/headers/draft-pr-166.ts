import { limitItems, POLICY_FIELD } from "./default-styles.js";
import { headerFamily, LARGEST_INTEGER, type HeaderFamily } from "./field.js";

/**
 * `RateLimit-Policy` and `RateLimit` with the parameter names of a proposal for the next draft. For each limit, `a` is
 * the number of whole tokens left, `w` the seconds until the next token, and `c` the cost of this request.
 *
 * Cannot be combined with `"draft-11"`, which uses the same fields. The proposal may still change. The fields of this
 * style do not change. They follow pull request 166 of draft-ietf-httpapi-ratelimit-headers as of 15 August 2026,
 * without the optional `pk` and `RateLimit-Partition`. Clients that read only draft 11 cannot read these fields.
 * @example
 * const options = { headers: ["triple", draftPr166] };
 */
export const draftPr166: HeaderFamily = headerFamily([
  POLICY_FIELD,
  {
    name: "RateLimit",
    under: (policy) =>
      // `c` is optional. It is left out above the largest Integer of a structured field.
      limitItems(policy, (name, { remaining, cost }, seconds) => `${name};a=${remaining}${seconds === 0 ? "" : `;w=${seconds}`}${cost > LARGEST_INTEGER ? "" : `;c=${cost}`}`),
  },
]);
