import { SluiceError } from "../core/errors.js";

/** Why a wait ended without tokens. */
export type WaitErrorCode =
  /** The wait would be longer than `maxWaitMs`. */
  | "ERR_WAIT_TOO_LONG"
  /** The cost is above the capacity: no wait is long enough. */
  | "ERR_WAIT_NEVER"
  /** Too many callers wait already. */
  | "ERR_WAIT_FULL"
  /** The store failed, and `onStoreError` has no bucket to wait for. */
  | "ERR_WAIT_STORE_UNAVAILABLE";

/**
 * A wait ended without tokens, and took none. `code` is stable.
 *
 * A wait that a signal cancels rejects with the signal's reason instead.
 * @example
 * if (error instanceof WaitError && error.code === "ERR_WAIT_TOO_LONG") console.warn(`busy for ${error.waitMs} ms`);
 */
export class WaitError extends SluiceError<WaitErrorCode> {
  static override readonly kind = "WaitError";
  /** Milliseconds that the wait would take, as far as known; Infinity when it would never end; null when unknown. */
  readonly waitMs: number | null;

  /** @internal Made by {@link Waiter.wait}. */
  constructor(code: WaitErrorCode, message: string, waitMs: number | null, options?: { readonly cause?: unknown }) {
    super(code, message, options);
    this.waitMs = waitMs;
  }
}
