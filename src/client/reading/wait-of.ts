import { decimal, headerOf, parseRetryAfter, type HeaderSource } from "../../http/retry-after/retry-after.js";
import { limitsBySource } from "./rate-limit-fields.js";

/** How long a server wants to be left alone, and which of its fields said so. */
export interface Wait {
  /** Milliseconds from receipt; 0 or greater, perhaps Infinity. */
  readonly waitMs: number;
  /** The field: these two, `RateLimit` of the drafts 07 and later, `RateLimit-Reset` of those before, or a vendor's. */
  readonly source: "retry-after" | "retry-after-ms" | "ratelimit" | "ratelimit-reset" | "vendor";
}

/**
 * The wait that a refusal asks for, by the strongest field that tells one; null when none does.
 *
 * `Retry-After` is stronger than `RateLimit`, that than `RateLimit-Reset`, that than vendors' fields. A limit asks for a wait only when
 * nothing of it remains; of several such limits the longest wait counts. Milliseconds (`retry-after-ms`, `x-ms-retry-after-ms`) refine a
 * `Retry-After` that was rounded up from them, and replace it unless they are a second or more earlier: then the two disagree, and the
 * later is safe.
 * @example
 * waitOf(new Headers({ "Retry-After": "3", "Retry-After-Ms": "2100" }), Date.now()); // { waitMs: 2100, source: "retry-after-ms" }
 */
export function waitOf(headers: HeaderSource, now: number): Wait | null {
  const wait = parseRetryAfter(headers, now);
  const exact = decimal(headerOf(headers, "retry-after-ms"), 0) ?? decimal(headerOf(headers, "x-ms-retry-after-ms"), 0);
  if (exact !== null && (wait === null || exact > wait - 1_000)) return { waitMs: exact, source: "retry-after-ms" };
  if (wait !== null) return { waitMs: wait, source: "retry-after" };
  for (const [source, limits] of limitsBySource(headers, now)) {
    const waits = limits.flatMap(({ remaining, resetMs }) => (remaining === 0 && resetMs !== null ? [resetMs] : []));
    if (waits.length > 0) return { waitMs: Math.max(...waits), source };
  }
  return null;
}
