import type { Decision } from "../core/decision.js";
import { SluiceError } from "../core/errors.js";

/** The reason why a wait ended without tokens. */
export type WaitErrorCode =
  /** The tokens would come after `maxWaitMs`. */
  | "ERR_WAIT_TOO_LONG"
  /** The cost is above the capacity: no wait is long enough. */
  | "ERR_WAIT_NEVER"
  /** `maxWaiters` or `maxWaitersPerKey` callers already wait. */
  | "ERR_WAIT_FULL"
  /** The store failed, and `onStoreError` is `"unavailable"`. `cause` has the store's error. */
  | "ERR_WAIT_STORE_UNAVAILABLE";

/**
 * The error of a wait that ended without tokens. `code` is stable.
 *
 * A wait that a signal cancels rejects with the signal's reason instead.
 * @example
 * if (error instanceof WaitError && error.code === "ERR_WAIT_TOO_LONG") console.warn(`busy for ${error.waitMs} ms`);
 */
export class WaitError extends SluiceError<WaitErrorCode> {
  static override readonly kind = "WaitError";
  /**
   * Milliseconds until the tokens come. 0 when only the store was late, Infinity when they never come, null when
   * unknown.
   */
  readonly waitMs: number | null;
  /**
   * The last refusal of this caller. While the store fails, the last decision of the fallback. Null for a caller that
   * was rejected before the limiter was called.
   */
  readonly decision: Decision | null;

  /** @internal Made by {@link Waiter.wait}. */
  constructor(code: WaitErrorCode, message: string, waitMs: number | null, options: { readonly cause?: unknown; readonly decision?: Decision | null } = {}) {
    const { decision = null, ...cause } = options;
    super(code, message, cause);
    this.waitMs = waitMs;
    this.decision = decision;
  }
}

/** The error for a cost above the capacity. */
export function tooLarge(cost: number, capacity: number, decision: Decision | null = null): WaitError {
  const message = `Expected \`cost\` to be at most the capacity, ${capacity}, got ${cost}. Split the work, or raise the capacity`;
  return new WaitError("ERR_WAIT_NEVER", message, Infinity, { decision });
}

/** The error for a full queue. `option` is its limit. */
export function queueFull(option: "maxWaiters" | "maxWaitersPerKey", most: number): WaitError {
  const scope = option === "maxWaiters" ? "waiting callers" : "callers waiting for one key";
  return new WaitError("ERR_WAIT_FULL", `Expected at most ${most} ${scope} (\`${option}\`), got one more. Shed load, or raise \`${option}\``, null);
}

/** The error for tokens that would come after `maxWaitMs`, or for a store that answered `lateMs` after it. */
export function tooLate(waitMs: number, lateMs: number, decision: Decision | null): WaitError {
  if (waitMs > 0) return new WaitError("ERR_WAIT_TOO_LONG", `Expected tokens within \`maxWaitMs\`, got a wait of ${waitMs} ms. Try again after it`, waitMs, { decision });
  const message = `Expected the store to answer within \`maxWaitMs\`, got an answer ${Math.round(lateMs)} ms later. Look for a slow store`;
  return new WaitError("ERR_WAIT_TOO_LONG", message, 0, { decision });
}

/** The error for a failed store without a fallback. `decision` has the failure. */
export function storeFailed(decision: Decision): WaitError {
  return new WaitError("ERR_WAIT_STORE_UNAVAILABLE", "Expected the store to answer, got a failure. `cause` has its error", null, { cause: decision.error, decision });
}
