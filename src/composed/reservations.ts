import { checkNames, checkOptions, expected, positiveInteger } from "../core/check.js";
import { monotonicClock, readClock } from "../core/clock.js";
import { mapCosts, parseCost, parseTokens, type Cost } from "../core/cost.js";
import { costAt, type Costs } from "../core/costs.js";
import type { Decision } from "../core/decision.js";
import { encodeKey, type Key } from "../core/key.js";
import { bucketId, type Policy } from "../core/policy.js";
import { refundable } from "../core/refundable.js";
import type { LocalCharge, MaybePromise, Store } from "../core/store.js";
import { policyOf, requireMethod, throwOrReject } from "../limiter/arguments.js";
import { internalsOf } from "../limiter/internals.js";
import type { Limiter } from "../limiter/limiter.js";
import { tookNothing } from "../limiter/refund.js";

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
   * Corrects the estimate to the actual cost in one step: whole numbers of at least 0, for every limit or by the names of
   * limits. A limit that is left out stays as estimated. Gives back the rest of an estimate, as far as it has not refilled
   * by itself. Takes what the work cost beyond an estimate, at most one capacity of each limit, and later calls wait until
   * that has refilled.
   *
   * Answers true when the bucket is correct afterwards. Answers false when there was nothing to settle: after a
   * refusal, after a decision that `onStoreError: "allow"` made, or when the reservation was over. Only the first call
   * counts; later calls answer the same.
   *
   * Throws a TypeError or RangeError for a number that is not whole, which settles nothing. What the store fails with
   * is thrown too, and the estimate stays taken. Only after the code `"ERR_STORE_OPEN"`, when the store was not asked,
   * may you settle again.
   */
  settle(actual: Cost): MaybePromise<S["sync"], boolean>;
  /** Gives the whole estimate back when nothing was done: `settle(0)`. */
  cancel(): MaybePromise<S["sync"], boolean>;
}

/** Makes reservations on one limiter. Made by {@link createReservations}. */
export interface Reservations<S extends Store = Store> {
  /**
   * Takes the estimate for `key` if its tokens are there, and nothing otherwise: so many tokens of every limit, or of each
   * limit by its name. A limit that is left out costs its own `cost`. An estimate above a capacity can never succeed.
   * `policy` gives this reservation other numbers, such as a tier's.
   *
   * Throws a TypeError for a key that identifies no caller or for the name of no limit, and a RangeError for an estimate
   * that is not whole or takes nothing.
   */
  reserve(key: Key, estimate: Cost, options?: { readonly policy?: Policy | undefined }): MaybePromise<S["sync"], Reservation<S>>;
}

/**
 * Reservations on a limiter, for work whose cost is known only afterwards: tokens of a language model, bytes of an
 * export.
 *
 * The estimate is taken before the work and settled after it. Work that costs more than its estimate takes the rest, up
 * to one capacity of each limit; a cost beyond that is not charged. So a reservation is charged for at most its estimate
 * and one capacity. A reservation lives in this process only: it holds no timer, and an abandoned one costs
 * nothing.
 *
 * Throws a TypeError or RangeError that names the wrong option, and a TypeError when the store lacks `adjust`.
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
  requireMethod(store, "adjust");
  const clock = typeof store.clock === "function" ? store.clock : monotonicClock;

  const made: Reservations = {
    reserve: (key, estimate, asked) =>
      throwOrReject(store, () => {
        if (asked !== undefined) checkNames(asked, ["policy"]);
        const policy = policyOf(asked, ownPolicy);
        const costs = parseCost(policy, estimate, "estimate");
        if (costs === 0) throw new RangeError(expected("estimate", "at least 1 token", estimate));
        const encoded = encodeKey(key);
        // Read before the call is sent: a reservation that seems older gives back less, never more.
        const at = readClock(clock);
        const make = (decision: Decision): Reservation => reservationOf(decision, policy, costs, encoded, at);
        const decided = limiter.consume(key, { cost: estimate, policy });
        return decided instanceof Promise ? decided.then(make) : make(decided as Decision);
      }),
  };
  return made as unknown as Reservations<S>;

  function reservationOf(decision: Decision, policy: Policy, estimate: Costs, key: string, at: number): Reservation {
    const charge = decision.degraded ? guarded.localChargeOf(decision) : wasCharged(decision) ? { store, policy } : null;
    // From here on only the reservation gives back what the decision took.
    tookNothing(decision);
    let outcome: boolean | Promise<boolean> | undefined;

    const settle = (actual: Cost): boolean | Promise<boolean> =>
      throwOrReject(store, () => {
        const used = parseTokens(policy, actual, "actual", estimate);
        if (outcome !== undefined) return outcome;
        // Set first, so that a failure below does not settle twice.
        outcome = false;
        const ageMs = readClock(clock) - at;
        if (charge === null || ageMs >= expiresMs) return false;
        const changes = correctionOf(charge, decision, estimate, used, ageMs);
        // An exact estimate needs no call, and so says nothing about the store.
        if (changes === 0) return (outcome = true);
        const correct = (): boolean | Promise<boolean> => requireMethod(charge.store, "adjust").call(charge.store, charge.policy, key, changes);
        let wasAsked = true;
        const settled = charge.store === store ? guarded.call([bucketId(policy, key)], correct, () => void (wasAsked = false)) : correct();
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

/** What makes `used` of an estimate that was taken `ageMs` ago: tokens to take, or below 0 to give back, for each limit. */
function correctionOf({ policy }: { readonly policy: Policy }, decision: Decision, estimate: Costs, used: Costs, ageMs: number): Costs {
  const left = refundable(decision, policy, mapCosts(policy, estimate, (cost, i) => Math.max(0, cost - costAt(used, i))), ageMs);
  return mapCosts(policy, used, (cost, i) => {
    const over = cost - costAt(estimate, i);
    return over > 0 ? Math.min(over, policy.limits[i]?.capacity ?? 0) : 0 - costAt(left, i);
  });
}
