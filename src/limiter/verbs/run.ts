import { checkOptions, expected, ownMembers } from "../../core/check.js";
import type { Allowed, Decision, Refused } from "../../core/decision.js";
import type { AbortSignalLike } from "../../platform.js";
import { textOf, warnOnce } from "../../warnings/warnings.js";
import { keepInFlight } from "./keep-in-flight.js";
import { internalsOf, type Thunk } from "../internals.js";
import { quietly } from "../now-or-later.js";
import type { ConsumeOptions, CostOf, Limiter } from "../limiter.js";
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
    const { policy, limit, limits, reason, retryAfterMs, error } = decision;
    const isLimit = limits !== null && (reason === "cost_above_capacity" || (reason === "limited" && !decision.blocked));
    const label = !isLimit ? `policy "${policy}"` : `limit "${limit}" of policy "${policy}"`;
    const cure = retryAfterMs === Infinity ? "Waiting does not help" : `Try again in ${retryAfterMs} ms`;
    const options = error === undefined ? undefined : { cause: error };
    super("ERR_REFUSED", `Expected ${label} to allow the call, got a refusal (${reason}). ${cure}`, options);
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

/** The options of {@link run}. */
export interface RunOptions<K, T> extends ConsumeOptions<K> {
  /** Cancels the wait of a limiter that waits. The promise then rejects with the signal's reason. */
  readonly signal?: AbortSignalLike | undefined;
  /**
   * Returns what the work really cost, or a promise of it. It gets what the work returned. `undefined` leaves the
   * charge as it is. If this function fails, the charge stays, and the first failure is a process warning.
   */
  readonly actualCost?: ((result: T) => CostOf<K> | undefined | Promise<CostOf<K> | undefined>) | undefined;
}

/**
 * Does `work` if the limiter allows it, and settles its cost afterwards. Resolves to what the work returns.
 *
 * Rejects with a {@link RefusedError} when the limiter refuses. Rejects with the error of the work when it throws; its
 * tokens then stay charged, but for those in flight, and its caller may settle them. A settlement that fails leaves the
 * charge and does not change the result. Tokens in flight are renewed while the work lasts. Over a limiter that waits,
 * the work begins when its tokens are there.
 * @example
 * const budget = createLimiter({ policy: { name: "tokens", capacity: 30_000, refill: perMinute(30_000) } });
 * const text = await run(budget, ["user", 42], () => "an answer of 1,417 tokens", {
 *   cost: 2_000,
 *   actualCost: () => 1_417,
 * });
 */
export async function run<K, D extends Decision, T>(
  limiter: Limiter<K, D>,
  key: K,
  work: (decision: D & Allowed) => T | Promise<T>,
  options: RunOptions<K, T> = {},
): Promise<T> {
  if (typeof work !== "function") throw new TypeError(expected("work", "a function", work));
  const { actualCost, signal, ...asked } = checkOptions(options, ["cost", "policy", "signal", "actualCost"]);
  if (actualCost !== undefined && typeof actualCost !== "function") {
    throw new TypeError(expected("actualCost", "a function", actualCost));
  }
  // Without a prototype: a member that an attacker adds to Object.prototype is no option (CWE-1321).
  const own = ownMembers(asked);
  const isCancelable = limiter.waits && signal !== undefined;
  const isNumber = typeof own.cost === "number" && own.policy === undefined && !isCancelable;
  const consumed = isNumber ? own.cost : isCancelable ? { ...own, signal } : { ...own };
  const decision = granted(await limiter.consume(key, consumed as ConsumeOptions<K>));
  const holds = keepInFlight(limiter, key, decision, own.policy);
  const { policy } = own;
  const settlement = (actual: unknown, isRelease = false): Thunk<boolean> =>
    internalsOf(limiter).settle(key, decision, actual, policy === undefined ? undefined : { policy }, isRelease);
  try {
    const result = await work(decision);
    if (actualCost !== undefined) await settleWith(async () => actualCost(result), settlement);
    return result;
  } finally {
    // Work that is done or has failed holds nothing. After a settlement this does nothing.
    if (holds) await quietly(settlement({}, true));
  }
}

async function settleWith(find: () => Promise<unknown>, settlement: (actual: unknown) => Thunk<boolean>): Promise<void> {
  let settle: Thunk<boolean>;
  try {
    const actual = await find();
    if (actual === undefined) return;
    settle = settlement(actual);
  } catch (error) {
    return warnOnce(
      "SLUICE_FUNCTION_FAILED",
      "`actualCost` failed, so the charge stays. This error and all later ones are dropped", textOf(error),
    );
  }
  await quietly(settle);
}
