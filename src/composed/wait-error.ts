/** Why somebody was turned away who wanted to wait. */
export type WaitErrorCode =
  /** It would have to wait for longer than `maxWaitMs`. */
  | "ERR_WAIT_TOO_LONG"
  /** It costs more than the policy can ever hold. */
  | "ERR_WAIT_NEVER"
  /** `maxWaiters` wait for this key already. */
  | "ERR_WAIT_FULL"
  /** The store failed, and `onStoreError` has no bucket to wait for. */
  | "ERR_WAIT_STORE_UNAVAILABLE";

/**
 * Somebody was turned away who wanted to wait, with nothing taken. `code` is stable, the message is not.
 *
 * Who is cancelled by a signal gets that signal's reason instead.
 * @example
 * if (error instanceof WaitError && error.code === "ERR_WAIT_TOO_LONG") console.warn(`busy for ${error.waitMs} ms`);
 */
export class WaitError extends Error {
  override readonly name = "WaitError";
  /** Stable. */
  readonly code: WaitErrorCode;
  /** Milliseconds that it would have to wait, as far as can be foretold; Infinity when it could never end; null when nobody knows. */
  readonly waitMs: number | null;

  /** Made by {@link Waiter.wait}. */
  constructor(code: WaitErrorCode, message: string, waitMs: number | null, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.waitMs = waitMs;
  }
}
