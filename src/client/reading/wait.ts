import type { HeaderSource } from "../../http/retry-after/retry-after.js";
import type { LimitsParser } from "./rate-limit.js";
import { limitFamilies } from "./rate-limit-fields.js";
import { parseExactWait, parseToldWait, waitForLimits } from "./told-wait.js";

/** The wait that a response asks for, and the header field that stated it. */
export interface Wait {
  /** Milliseconds from receipt: at least 0, possibly Infinity. */
  readonly waitMs: number;
  /**
   * The field. `"ratelimit"` is `RateLimit` of the drafts 07 and later, `"ratelimit-reset"` that of earlier drafts.
   * `"vendor"` is `X-RateLimit-Reset`, or a field that `limits` reads.
   */
  readonly source: "retry-after" | "retry-after-ms" | "ratelimit" | "ratelimit-reset" | "vendor";
}

/**
 * Parses the wait that a refusal asks for. Null when no field states one. `now` is in milliseconds since 1970.
 *
 * The strongest field counts: `Retry-After`, then `RateLimit`, then `RateLimit-Reset`, then `X-RateLimit-Reset`. A
 * limit asks for a wait only when nothing of it remains. The longest wait of several such limits counts. The first
 * family of fields that states a limit counts alone, as in `parseRateLimit`. With `limits`, such as
 * `parseVendorLimits`, that function reads the limits.
 *
 * `retry-after-ms` and `x-ms-retry-after-ms` replace a `Retry-After` that was rounded up from them. If they are a
 * second or more earlier than `Retry-After`, the two disagree and the later one counts.
 * @example
 * const headers = new Headers({ "Retry-After": "3", "Retry-After-Ms": "2100" });
 * parseWait(headers, Date.now()); // { waitMs: 2100, source: "retry-after-ms" }
 */
export function parseWait(headers: HeaderSource, now: number, limits?: LimitsParser): Wait | null {
  const told = parseToldWait(headers, now);
  if (told !== null) return { waitMs: told, source: told === parseExactWait(headers) ? "retry-after-ms" : "retry-after" };
  for (const [source, found] of limits ? ([["vendor", limits(headers, now)]] as const) : limitFamilies(headers, now)) {
    const waitMs = waitForLimits(found);
    // As a client does, which gets the limits of one family.
    if (found?.length) return waitMs === null ? null : { waitMs, source };
  }
  return null;
}
