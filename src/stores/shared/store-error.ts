import { SluiceError } from "../../core/errors.js";

/** The code of a {@link StoreError}. */
export type StoreErrorCode =
  | "ERR_STORE_FOREIGN_VALUE" | "ERR_STORE_CONTENTION" | "ERR_STORE_REPLY" | "ERR_STORE_APART" | "ERR_STORE_CLOCK"
  | "ERR_STORE_TOO_LATE" | "ERR_STORE_QUEUED";

/**
 * The store could not answer. Its `code` is stable:
 *
 * - `"ERR_STORE_FOREIGN_VALUE"`: the bucket's key holds another program's value. Only this message names the key. Give the
 *   store its own `prefix` or table.
 * - `"ERR_STORE_CONTENTION"`: other processes changed the bucket during every attempt. No tokens were taken. With casStore
 *   raise `attempts`, with sqlStore lock the row in `read`, or use a store that decides in one call.
 * - `"ERR_STORE_APART"`: charges that must be taken together are on several nodes of a cluster. No tokens were taken. Give
 *   `prefix` a hash tag, or charge one key after another.
 * - `"ERR_STORE_CLOCK"`: the clocks of this process and of the server differ by more than a period of a quota. `consume`
 *   rejects, and nothing was taken. Set the clocks.
 * - `"ERR_STORE_TOO_LATE"`: the server got a settlement, debit or credit more than a minute after it was sent, by its
 *   clock. It changed nothing then, and may have been made before. Look with `peek`. Give back with `credit` what is
 *   missing, or take it with `debit`.
 * - `"ERR_STORE_QUEUED"`: other code has begun a transaction on the client's connection, so the server makes the call
 *   later, if ever. Give the store a client of its own, such as `client.duplicate()`.
 * - `"ERR_STORE_REPLY"`: the server's reply has the wrong form, or contradicts the arithmetic. Look for another version of
 *   the function or script on the server. If there is none, report a bug.
 *
 * Errors of a client library are not converted. Of these, `RedisStore` copies the name, message, code and cause, and
 * omits the rest, which contains callers' keys.
 * @example
 * if (error instanceof StoreError && error.code === "ERR_STORE_FOREIGN_VALUE") console.warn(error.message);
 */
export class StoreError extends SluiceError<StoreErrorCode> {
  static override readonly kind = "StoreError";
}
