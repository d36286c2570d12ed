import { checkNames, checkOptions, positiveInteger, wholeNumber } from "../core/check.js";
import { monotonicClock, readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import { bucketId, encodeKey, type Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import { refundable } from "../core/refundable.js";
import type { LocalCharge, MaybePromise, Store } from "../core/store.js";
import { policyOf, requireMethod, throwOrReject } from "../limiter/arguments.js";
import { internalsOf } from "../limiter/internals.js";
import type { Limiter } from "../limiter/limiter.js";
import { refundParts, tookNothing } from "../limiter/refund.js";

/** How {@link createReservations} behaves. */
export interface ReservationsOptions {
  /**
   * Milliseconds after which a reservation that was not settled is over: the estimate stays taken. Make it longer than
   * the longest work. At least 1, default 300 000 (five minutes).
   */
  readonly expiresMs?: number | undefined;
}

/** An estimated cost that was taken before the work. */
export interface Reservation<S extends Store = Store> {
  /** Whether to begin the work: `decision.allowed`. */
  readonly allowed: boolean;
  /** The decision on the estimate. A refusal says how long to wait, as any other. */
  readonly decision: Decision;
  /**
   * Corrects the estimate to the actual cost, a whole number of at least 0. Gives back the rest of the estimate, as far
   * as it has not refilled by itself. Takes what the work cost beyond the estimate, and later calls wait until that has
   * refilled.
   *
   * Answers true when the bucket is correct afterwards. Answers false when there was nothing to settle: after a
   * refusal, after a decision that `onStoreError: "allow"` made, or when the reservation was over. Only the first call
   * counts; later calls answer the same.
   *
   * Throws a TypeError or RangeError for a number that is not whole, which settles nothing. What the store fails with
   * is thrown too, and the estimate stays taken. Only after the code `"ERR_STORE_OPEN"`, when the store was not asked,
   * may you settle again.
   */
  settle(actual: number): MaybePromise<S["sync"], boolean>;
  /** Gives the whole estimate back when nothing was done: `settle(0)`. */
  cancel(): MaybePromise<S["sync"], boolean>;
}

/** Makes reservations on one limiter. Made by {@link createReservations}. */
export interface Reservations<S extends Store = Store> {
  /**
   * Takes `estimate` tokens for `key` if they are there, and nothing otherwise. An estimate above the capacity can
   * never succeed. `policy` gives this reservation other numbers, such as a tier's.
   *
   * Throws a TypeError for a key that identifies no caller, and a RangeError for an estimate that is not a whole number
   * of at least 1.
   */
  reserve(key: Key, estimate: number, options?: { readonly policy?: Policy | undefined }): MaybePromise<S["sync"], Reservation<S>>;
}

/**
 * Reservations on a limiter, for work whose cost is known only afterwards: tokens of a language model, bytes of an
 * export.
 *
 * The estimate is taken before the work and settled after it. Work that costs more than its estimate takes the rest, up
 * to one capacity below empty; a cost beyond that is not charged. So over any time `t` a key is charged for at most
 * `2 * capacity + rate * t`. A reservation lives in this process only: it holds no timer, and an abandoned one costs
 * nothing.
 *
 * Throws a TypeError or RangeError that names the wrong option, and a TypeError when the store lacks `refund` or
 * `debit`.
 * @example
 * const budget = createReservations(limiter, { expiresMs: 120_000 });
 * const reservation = budget.reserve(["user", "42"], 2_000);
 * if (reservation.allowed) reservation.settle(1_450);
 * else console.log(`try again in ${reservation.decision.retryAfterMs} ms`);
 */
export function createReservations<S extends Store>(limiter: Limiter<S>, options: ReservationsOptions = {}): Reservations<S> {
  const { policy: ownPolicy, store, guarded } = internalsOf(limiter);
  const own = checkOptions(options, ["expiresMs"]);
  const expiresMs = positiveInteger("expiresMs", own.expiresMs ?? 300_000);
  requireMethod(store, "refund");
  requireMethod(store, "debit");
  const clock = typeof store.clock === "function" ? store.clock : monotonicClock;

  const made: Reservations = {
    reserve: (key, estimate, asked) =>
      throwOrReject(store, () => {
        if (asked !== undefined) checkNames(asked, ["policy"]);
        const policy = policyOf(asked, ownPolicy);
        const cost = positiveInteger("estimate", estimate);
        const encoded = encodeKey(key);
        // Read before the call is sent: a reservation that seems older gives back less, never more.
        const at = readClock(clock);
        const make = (decision: Decision): Reservation => reservationOf(decision, policy, encoded, at);
        const decided = limiter.consume(key, { cost, policy });
        return decided instanceof Promise ? decided.then(make) : make(decided as Decision);
      }),
  };
  return made as unknown as Reservations<S>;

  function reservationOf(decision: Decision, policy: Policy, key: string, at: number): Reservation {
    const charge = decision.degraded ? guarded.localChargeOf(decision) : wasCharged(decision) ? { store, policy } : null;
    // From here on only the reservation gives back what the decision took.
    tookNothing(decision);
    let outcome: boolean | Promise<boolean> | undefined;

    const settle = (actual: number): boolean | Promise<boolean> =>
      throwOrReject(store, () => {
        const used = wholeNumber("actual", actual);
        if (outcome !== undefined) return outcome;
        // Set first, so that a failure below does not settle twice.
        outcome = false;
        const ageMs = readClock(clock) - at;
        if (charge === null || ageMs >= expiresMs) return false;
        const correct = correctionOf(charge, decision, key, used, ageMs);
        // An exact estimate needs no call, and so says nothing about the store.
        if (correct === null) return (outcome = true);
        let wasAsked = true;
        const done = charge.store === store ? guarded.call([bucketId(policy, key)], correct, () => void (wasAsked = false)) : correct();
        const settled = done instanceof Promise ? done.then(() => true) : true;
        // A call that failed otherwise may have been carried out, so only this one may be repeated.
        outcome = wasAsked ? settled : undefined;
        return settled;
      });
    return { allowed: decision.allowed, decision, settle, cancel: () => settle(0) } as Reservation;
  }
}

// A shadow limiter's refusal took nothing, though it says allowed.
function wasCharged(decision: Decision): boolean {
  return decision.allowed && !Object.hasOwn(decision, "shadow");
}

/** The call that makes `used` tokens of the decision's cost, which was taken `ageMs` ago; null when none is needed. */
function correctionOf(
  { store, policy }: LocalCharge | { readonly store: Store; readonly policy: Policy },
  decision: Decision, key: string, used: number, ageMs: number,
): (() => void | Promise<void>) | null {
  const { cost } = decision;
  if (used > cost) return () => requireMethod(store, "debit").call(store, policy, key, used - cost);
  const parts = refundable(decision, policy, cost - used, ageMs);
  return parts.length === 0 ? null : () => refundParts(store, parts, key);
}
