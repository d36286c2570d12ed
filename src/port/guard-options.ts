/**
 * The response to callers when the store fails:
 *
 * - `"local"` (default): the process decides by itself, with its local share of each limit.
 * - `"allow"`: every request is allowed.
 * - `"unavailable"`: every request is refused.
 *
 * A refusal has the reason `"store_unavailable"`, which HTTP answers with 503. It is never a 429.
 */
export type OnStoreError = "local" | "allow" | "unavailable";

/** When the circuit breaker opens, and how often it asks a store that failed. */
export interface BreakerOptions {
  /** Failures in a row after which the store is not asked anymore. At least 1, default 5. */
  readonly failures?: number | undefined;
  /** Milliseconds between the calls that ask whether the store works again. At least 1, default 1000. */
  readonly probeEveryMs?: number | undefined;
}

/** The options of every store that can fail. They hold for all limiters over the store together. */
export interface GuardOptions {
  /**
   * Milliseconds to wait for an answer of the store: a positive integer, or Infinity to wait forever. Default 100. A
   * synchronous store takes no timeout.
   *
   * A call that timed out may have taken the tokens. It is never repeated.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * When to stop asking a store that fails; false to never stop. Default `{ failures: 5, probeEveryMs: 1000 }`. A
   * synchronous store is always asked, and `failures` says when it counts as unavailable.
   */
  readonly breaker?: false | BreakerOptions | undefined;
  /**
   * How many processes share the store, from 1 to 1,000,000. Default 2. While the store is unavailable, each process
   * grants 1 / n of each limit by itself. With 1 this process loses nothing in an outage.
   */
  readonly sharedBy?: number | undefined;
}

/** {@link GuardOptions}, checked and complete. */
export interface GuardSettings {
  readonly timeoutMs: number;
  /** The option `timeoutMs`, which a synchronous store must not have. */
  readonly givenTimeoutMs: number | undefined;
  /** False: every call asks the store. */
  readonly breaker: false | { readonly failures: number; readonly probeEveryMs: number };
  readonly sharedBy: number;
  /** Whether the option `sharedBy` was left out. */
  readonly isDefaultShare: boolean;
}
