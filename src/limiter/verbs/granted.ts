import type { Allowed, Decision, Refused } from "../../core/decision.js";
import { SluiceError } from "../../core/errors.js";

/**
 * The error of {@link granted} and {@link run} for a refusal. `code` is `"ERR_REFUSED"`.
 * @example
 * if (error instanceof RefusedError) console.warn(`try again in ${error.decision.retryAfterMs} ms`);
 */
export class RefusedError extends SluiceError<"ERR_REFUSED"> {
  static override readonly kind = "RefusedError";
  /** The refusal. */
  readonly decision: Refused;

  /** Made by {@link granted}. */
  constructor(decision: Refused) {
    const { policy, reason, retryAfterMs, error } = decision;
    const cure = retryAfterMs === Infinity ? "Waiting does not help" : `Try again in ${retryAfterMs} ms`;
    const options = error === undefined ? undefined : { cause: error };
    super("ERR_REFUSED", `Expected policy "${policy}" to allow the call, got a refusal (${reason}). ${cure}`, options);
    this.decision = decision;
  }
}

/**
 * Returns `decision` if it is allowed. Throws a {@link RefusedError} otherwise, so that no refusal is overlooked.
 * @example
 * const limiter = createLimiter({ policy: { name: "mail", capacity: 5, refill: perSecond(5) } });
 * const { remaining } = granted(limiter.consume("smtp.example"));
 */
export function granted<D extends Decision>(decision: D): D & Allowed {
  if (!decision.allowed) throw new RefusedError(decision as Decision as Refused);
  return decision as D & Allowed;
}
