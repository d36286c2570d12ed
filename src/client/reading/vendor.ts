import type { LimitsParser } from "./rate-limit.js";

/**
 * Decides what a response is.
 *
 * `body` is the parsed JSON, or the text if it is no JSON: at most 64 KB, null without a body. Leave the body of
 * `response` unread. The result is one of these; any other rejects the call with a TypeError:
 *
 * - `undefined`: as without the hook.
 * - `null`: no refusal. The response is returned as it is.
 * - `{ waitMs }`: a refusal, and the wait in milliseconds. Infinity if waiting does not help. Null for the wait that the
 *   header fields or the body state, or backoff if they state none.
 *
 * A status of 500 or more never becomes a `RateLimitedError`: after the last attempt, the response is returned.
 */
export type VendorHook = (response: Response, body: unknown) => { readonly waitMs: number | null } | null | undefined;

/** A refusal whose wait is `untoldMs` when nothing else states one. A later vendor may still decide. */
export interface FallbackRefusal {
  readonly waitMs: null;
  readonly untoldMs: number;
}

/** How a service refuses and how it reports its limits, where it differs from the standards. */
export interface Vendor {
  /**
   * Decides whether a response is a refusal, for services that do not use 429 alone. Called for each response with a
   * status of 400 or more. Default: 429 is a refusal.
   */
  readonly refusal?: VendorHook | undefined;
  /**
   * Parses the limits that a response reports. They name the wait when `Retry-After` is missing, also a wait of more
   * than an hour. `parseVendorLimits` reads those of many services. Default: none.
   */
  readonly limits?: LimitsParser | undefined;
}
