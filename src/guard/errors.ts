import { SluiceError } from "../core/errors.js";

/** Why a limiter does not have an answer of the store. */
export type StoreUnavailableCode = "ERR_STORE_TIMEOUT" | "ERR_STORE_OPEN";

/**
 * The limiter has no answer of the store. Found in `decision.error`. Its `code` is stable:
 *
 * - `"ERR_STORE_TIMEOUT"`: no answer came within `timeoutMs` of the store. It may have taken the tokens all the same.
 *   `cause` is the error with which the connection failed, if the store knows it. Find out why the store is slow, or raise
 *   `timeoutMs`.
 * - `"ERR_STORE_OPEN"`: the circuit breaker is open after too many failures. The store was not asked and took nothing.
 *   Bring it back: one call every `probeEveryMs` tests it.
 * @example
 * if (decision.error instanceof StoreUnavailableError) console.warn(decision.error.code);
 */
export class StoreUnavailableError extends SluiceError<StoreUnavailableCode> {
  static override readonly kind = "StoreUnavailableError";
}

/** Whether this process's clock is wrong by more than a period of a quota. No fallback may hide that. */
export function isClockError(error: unknown): boolean {
  return (Object(error) as { readonly code?: unknown }).code === "ERR_STORE_CLOCK";
}

/** What `causeOf` of `GuardedClient` returns. */
export type CauseOf = (error: unknown) => unknown;

/** Adds the cause that the client knows to its own error, such as "Connection is closed". */
export function withCause(error: unknown, causeOf: CauseOf): unknown {
  if (!(error instanceof Error) || error.cause !== undefined || !Object.isExtensible(error)) return error;
  const cause = causeOf(error) ?? error;
  // As the constructor sets it: not among the members that are listed.
  if (cause !== error) Object.defineProperty(error, "cause", { value: cause, writable: true, configurable: true });
  return error;
}
