import { SluiceError } from "../../core/errors.js";
import { DAY_MS, toRetryAfter } from "../../http/retry-after/retry-after.js";
import type { RateLimitReason } from "./retry.js";

/** The members that a {@link RateLimitedError} is made from: all of its own. */
export type RateLimitedFacts = Pick<
  RateLimitedError,
  "method" | "url" | "reason" | "waitMs" | "retryAt" | "attempts" | "serverCode" | "serverMessage" | "policies" | "response"
>;

/**
 * The error of a call that the server limited and the client gave up. It carries the wait, for a screen to show.
 *
 * Thrown only for a refusal, or for a wait that is known from an earlier one. A refusal is a 429, or what
 * `vendor.refusal` option says below a status of 500. Other statuses come back as responses, and network errors reject
 * as `fetch` rejects.
 * @example
 * if (error instanceof RateLimitedError && error.waitMs !== null) {
 *   console.log(`Try again in ${Math.ceil(error.waitMs / 1000)} s`);
 * }
 */
export class RateLimitedError extends SluiceError<"ERR_RATE_LIMITED"> {
  static override readonly kind = "RateLimitedError";
  /** The `code` in the response's body: up to 64 letters, digits, `_`, `.`, `:` or `-`. Null when the body has none. */
  declare readonly serverCode: string | null;
  /** The server's text for people, up to 300 characters. Null when the body has none. It is text, not markup. */
  declare readonly serverMessage: string | null;
  /** The request's method, in capitals. */
  declare readonly method: string;
  /** The request's absolute URL, with its query. A secret in it belongs into no log. */
  declare readonly url: string;
  /** Why the call was not sent again. */
  declare readonly reason: RateLimitReason;
  /** Milliseconds from the refusal until a new call makes sense: at least 0, possibly Infinity. Null when unknown. */
  declare readonly waitMs: number | null;
  /** The end of the wait by the wall clock. Null when unknown. */
  declare readonly retryAt: Date | null;
  /** The number of requests sent. 0 when the wait was known before the first request. */
  declare readonly attempts: number;
  /** The names of the policies that refused. Empty when the server names none. */
  declare readonly policies: readonly string[];
  /** The last refusal, with its body unread. Null when the wait was known and no request was sent for it. */
  declare readonly response: Response | null;

  /** Made by the client. */
  constructor(facts: RateLimitedFacts) {
    const { serverMessage, waitMs } = facts;
    // A longer wait is hard to read in seconds.
    const cure = waitMs !== null && waitMs <= DAY_MS ? `, try again in ${toRetryAfter(waitMs)} s` : "";
    super("ERR_RATE_LIMITED", serverMessage ?? `Too many requests${cure}`);
    Object.assign(this, facts);
  }
}
