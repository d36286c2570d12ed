import type { RateLimitReason } from "./retry.js";

/** What a {@link RateLimitedError} is made of: its own members, of which some have a default. */
export interface RateLimitedFacts extends Pick<RateLimitedError, "reason" | "waitMs" | "retryAt" | "attempts"> {
  /** Default `"rate_limited"`. */
  readonly code?: string;
  /** Default null. */
  readonly serverMessage?: string | null;
  /** Default `[]`. */
  readonly policies?: readonly string[];
  /** Default null. */
  readonly response?: Response | null;
}

// What is longer reads badly in seconds.
const DAY_MS = 86_400_000;

/**
 * A call that the server limited and that was given up. The wait is in it, for a screen to show.
 *
 * Only a 429 becomes one, or a wait that is known from an earlier 429; other statuses and network errors stay what they are.
 * @example
 * if (error instanceof RateLimitedError && error.waitMs !== null) console.log(`Try again in ${Math.ceil(error.waitMs / 1000)} s`);
 */
export class RateLimitedError extends Error {
  override readonly name = "RateLimitedError";
  /** For programs: the `code` of the response's body, or `"rate_limited"`. */
  readonly code: string = "rate_limited";
  /** What the server says to people, in at most 300 characters; null when it says nothing. Text, not markup. */
  readonly serverMessage: string | null = null;
  /** Why the call was not tried again. */
  declare readonly reason: RateLimitReason;
  /** Milliseconds from the refusal until a new call makes sense, at least 0, perhaps Infinity; null when the server did not say. */
  declare readonly waitMs: number | null;
  /** The same by the wall clock. */
  declare readonly retryAt: Date | null;
  /** Requests that were sent: 0 when the wait was known before. */
  declare readonly attempts: number;
  /** The policies that refused, where the server names them. */
  readonly policies: readonly string[] = [];
  /** The last 429, its body still to be read; null when the wait was known before and no request was sent for it. */
  readonly response: Response | null = null;

  /** Made by the client. */
  constructor(facts: RateLimitedFacts) {
    const { serverMessage, waitMs } = facts;
    super(serverMessage ?? `Too many requests${waitMs === null || waitMs > DAY_MS ? "" : `, try again in ${Math.ceil(waitMs / 1_000)} s`}`);
    Object.assign(this, facts);
  }
}
