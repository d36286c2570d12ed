import type { LimitsParser } from "../reading/rate-limit.js";
import type { FallbackRefusal, VendorHook } from "../reading/vendor.js";
import { parseWait } from "../reading/wait.js";
import { textMember } from "./members.js";
import { parseVendorLimits } from "./vendor-limits.js";

// The wait that GitHub asks for when a refusal names none.
const UNTOLD_WAIT_MS = 60_000;

/**
 * Recognizes GitHub's refusals, which have the status 403 or 429. For the option `vendor` of `createFetch`.
 *
 * - The wait is `Retry-After`, or `X-RateLimit-Reset` when nothing remains (the primary limit).
 * - When nothing else states a wait, it is one minute: for a 429, and for a 403 whose message names a rate limit (the
 *   secondary limit).
 * - Any other response is no refusal, such as a 403 for a missing permission.
 *
 * The primary limit resets once an hour, so a call often gives up at once: raise `maxWaitMs` to wait longer. GraphQL
 * reports a spent budget with status 200, which no hook sees.
 *
 * Source: docs.github.com, "Rate limits for the REST API", section "Exceeding the rate limit".
 * @example
 * const fetch = createFetch({ vendor: github });
 * const issues = await fetch("https://api.github.com/repos/nodejs/node/issues");
 */
export const github: { readonly refusal: VendorHook; readonly limits: LimitsParser } = {
  refusal: githubRefusal, limits: parseVendorLimits,
};

function githubRefusal(response: Response, body: unknown): FallbackRefusal | undefined {
  const { status, headers } = response;
  // Older versions of GitHub Enterprise Server speak of an abuse detection mechanism.
  const isLimit = (): boolean =>
    parseWait(headers, 0, parseVendorLimits) !== null || /rate limit|abuse detection/i.test(textMember(body, "message"));
  return status === 429 || (status === 403 && isLimit()) ? { waitMs: null, untoldMs: UNTOLD_WAIT_MS } : undefined;
}
