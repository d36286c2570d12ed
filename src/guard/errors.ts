/**
 * A store that was not waited for any longer, or not asked at all. `code` is stable: `"ERR_STORE_TIMEOUT"` when it did not
 * answer within `storeTimeoutMs`, and may have taken the tokens nevertheless; `"ERR_STORE_OPEN"` when it failed too often
 * to be asked again yet, and took nothing. Found in `decision.error`.
 * @example
 * if (decision.error instanceof StoreUnavailableError) console.warn(decision.error.code);
 */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
  /** Stable; the message is not. */
  readonly code: StoreUnavailableCode;

  /** Made by limiters. */
  constructor(code: StoreUnavailableCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** Why a store was given up on. */
export type StoreUnavailableCode = "ERR_STORE_TIMEOUT" | "ERR_STORE_OPEN";
