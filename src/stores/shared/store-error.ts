import { SluiceError } from "../../core/errors.js";

/** Why a store could not answer. */
export type StoreErrorCode = "ERR_STORE_FOREIGN_VALUE" | "ERR_STORE_CONTENTION" | "ERR_STORE_REPLY";

/**
 * A store could not answer. Its `code` is stable:
 *
 * - `"ERR_STORE_FOREIGN_VALUE"`: another program's value lies under the bucket's key. Only this message names the key.
 * - `"ERR_STORE_CONTENTION"`: other processes changed the bucket during every attempt.
 * - `"ERR_STORE_REPLY"`: the server's reply makes no sense.
 *
 * Errors of a client library are passed on as they are. `RedisStore` passes on their name, message, code and cause alone:
 * the rest holds callers' keys.
 * @example
 * if (error instanceof StoreError && error.code === "ERR_STORE_FOREIGN_VALUE") console.warn(error.message);
 */
export class StoreError extends SluiceError<StoreErrorCode> {
  static override readonly kind = "StoreError";
}
