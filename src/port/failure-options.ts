/**
 * The response to callers when the store fails: *
 * - `"local"` (default): the process decides by itself, with a share of each limit.
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

/**
 * The behavior of a limiter when its store fails. It has no effect on a store that cannot fail, such as the memory
 * store.
 */
export interface FailureOptions {
  /** The response to callers when the store fails. Default `"local"`. */
  readonly onStoreError?: OnStoreError | undefined;
  /**
   * The share of each limit that one process grants by itself with `"local"`: above 0, at most 1, in millionths.
   * Default 0.5.
   */
  readonly localShare?: number | undefined;
  /**
   * How many processes share the store, from 1 to 1,000,000: sets `localShare` to 1 / n. Give one of the two.
   */
  readonly processes?: number | undefined;
  /**
   * Milliseconds to wait for an asynchronous store: a positive integer, or Infinity to wait forever. Default 100.
   *
   * A call that timed out may have taken the tokens. It is never repeated.
   */
  readonly storeTimeoutMs?: number | undefined;
  /**
   * When to stop asking an asynchronous store that fails; false to never stop. Default
   * `{ failures: 5, probeEveryMs: 1000 }`.
   */
  readonly breaker?: false | BreakerOptions | undefined;
}

/** {@link FailureOptions}, checked and complete. */
export interface FailureSettings {
  readonly onStoreError: OnStoreError;
  readonly localShare: number;
  readonly storeTimeoutMs: number;
  /** False: every call asks the store. */
  readonly breaker: false | { readonly failures: number; readonly probeEveryMs: number };
}
