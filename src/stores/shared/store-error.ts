/**
 * A store that could not answer. `code` is stable: `"ERR_STORE_FOREIGN_VALUE"`, `"ERR_STORE_CONTENTION"`
 * or `"ERR_STORE_REPLY"`. The first is the one error whose message names a key, to be found by. What a client library throws is
 * passed on; by `RedisStore` as its name, message, code and cause, for the rest has callers' keys in it.
 * @example
 * if (error instanceof StoreError && error.code === "ERR_STORE_FOREIGN_VALUE") console.warn(error.message);
 */
export class StoreError extends Error {
  override readonly name = "StoreError";
  /** Stable; the message is not. */
  readonly code: StoreErrorCode;

  /** Made by stores. */
  constructor(code: StoreErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** Why a store could not answer. */
export type StoreErrorCode = "ERR_STORE_FOREIGN_VALUE" | "ERR_STORE_CONTENTION" | "ERR_STORE_REPLY";
