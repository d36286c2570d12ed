import { checkOptions, expected, positiveInteger } from "../core/check.js";
import { parseCost, type Cost } from "../core/cost.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { MaybePromise, Store } from "../port/store.js";
import { policyOf, requireMethod, throwOrReject, type ConsumeOptions } from "../limiter/arguments.js";
import { thenAll } from "../limiter/charge.js";
import { internalsOf } from "../limiter/internals.js";
import type { Limiter } from "../limiter/limiter.js";
import type { Combined, CombinedDecision, Each } from "./combined.js";
import { settlementOf, timeOf } from "./settlement.js";
import { subjectOf } from "./subject.js";

/** How {@link createReservations} behaves. */
export interface ReservationsOptions {
  /**
   * Milliseconds after which a reservation that was not settled is over: the estimate stays taken. Make it longer than
   * the longest work. At least 1, default 300 000 (five minutes).
   */
  readonly expiresMs?: number | undefined;
}

interface ReserveOptions {
  readonly policy?: Policy | undefined;
}

/** An estimated cost that was taken before the work. On {@link combine}, a list: one cost for each limiter. */
export interface Reservation<S extends Store = Store, Actual = Cost, Made extends Decision = Decision> {
  /** Whether to begin the work: `decision.allowed`. */
  readonly allowed: boolean;
  /** The decision on the estimate. A refusal says how long to wait, as any other. */
  readonly decision: Made;
  /**
   * Corrects the estimate to the actual cost in one step: whole numbers of at least 0, for every limit or by the names
   * of limits. A limit that is left out stays as estimated. Gives back the rest of an estimate, as far as it has not
   * refilled by itself. Takes what the work cost beyond an estimate, at most one capacity of each limit, and later
   * calls wait until that has refilled.
   *
   * Answers true when the bucket is correct afterwards. Answers false when there was nothing to settle: after a
   * refusal, after a decision that `onStoreError: "allow"` made, or when the reservation was over. Only the first call
   * counts; later calls answer the same.
   *
   * Throws a TypeError or RangeError for a number that is not whole, which settles nothing. What the store fails with
   * is thrown too, and the estimate stays taken. Only after the code `"ERR_STORE_OPEN"`, when the store was not asked,
   * may you settle again.
   */
  settle(actual: Actual): MaybePromise<S["sync"], boolean>;
  /** Gives the whole estimate back when nothing was done: a cost of 0 for every limit. */
  cancel(): MaybePromise<S["sync"], boolean>;
}

/** Makes reservations on one limiter. Made by {@link createReservations}. */
export interface Reservations<S extends Store = Store> {
  /**
   * Takes the estimate for `key` if its tokens are there, and nothing otherwise: so many tokens of every limit, or of
   * each limit by its name. A limit that is left out costs its own `cost`. An estimate above a capacity can never
   * succeed. `policy` gives this reservation other numbers, such as a tier's.
   *
   * Throws a TypeError for a key that identifies no caller or for the name of no limit, and a RangeError for an
   * estimate that is not whole or takes nothing.
   */
  reserve(key: Key, estimate: Cost, options?: { readonly policy?: Policy | undefined }): MaybePromise<S["sync"], Reservation<S>>;
}

/** Makes reservations on several limiters together. Made by {@link createReservations}. */
export interface ReservationsTogether<L extends readonly Limiter[]> {
  /**
   * Takes the estimates from all limiters, each for its own key, or from none: one number, or the options of `consume`,
   * for each limiter. `settle` takes the actual cost of each limiter, and corrects each in one step of its own.
   */
  reserve(
    keys: Each<L, Key>,
    estimates: Each<L, number | ConsumeOptions>,
  ): MaybePromise<L[number]["store"]["sync"], Reservation<L[number]["store"], Each<L, Cost>, CombinedDecision>>;
}

/**
 * Reservations on a limiter, for work whose cost is known only afterwards: tokens of a language model, bytes of an
 * export.
 *
 * The estimate is taken before the work and settled after it. Work that costs more than its estimate takes the rest, up
 * to one capacity of each limit; a cost beyond that is not charged. So a reservation is charged for at most its
 * estimate and one capacity. A reservation lives in this process only: it holds no timer, and an abandoned one costs
 * nothing.
 *
 * Throws a TypeError or RangeError that names the wrong option, and a TypeError when the store lacks `adjust`.
 * @example
 * const budget = createReservations(limiter, { expiresMs: 120_000 });
 * const reservation = budget.reserve(["user", "42"], 2_000);
 * if (reservation.allowed) reservation.settle(1_450);
 * else console.log(`try again in ${reservation.decision.retryAfterMs} ms`);
 */
export function createReservations<S extends Store>(limiter: Limiter<S>, options?: ReservationsOptions): Reservations<S>;
/**
 * Reservations on several limiters, such as those of a user and of a team: all are reserved or none.
 * @example
 * const user = createLimiter({ policy: { name: "user", capacity: 30_000, refill: perMinute(30_000) } });
 * const team = createLimiter({ policy: { name: "team", capacity: 90_000, refill: perMinute(90_000) }, store: user.store });
 * const budget = createReservations(combine([user, team]));
 * const reservation = budget.reserve([["user", "42"], ["team", "7"]], [2_000, 2_000]);
 * if (reservation.allowed) reservation.settle([1_450, 1_450]);
 */
export function createReservations<const L extends readonly Limiter[]>(limiter: Combined<L>, options?: ReservationsOptions): ReservationsTogether<L>;
export function createReservations(limiter: Limiter | Combined, options: ReservationsOptions = {}): unknown {
  const subject = subjectOf(limiter);
  const { limiters } = subject;
  const one = limiters[0] === limiter ? limiter : null;
  const own = checkOptions(options, ["expiresMs"]);
  const expiresMs = positiveInteger("expiresMs", own.expiresMs ?? 300_000);
  for (const each of limiters) requireMethod(internalsOf(each).store, "adjust");
  const sync = limiters.every(({ store }) => store.sync);
  return {
    reserve: (key: unknown, estimate: unknown, asked: ReserveOptions = {}) =>
      throwOrReject({ sync }, () => {
        const charges = subject.parse(key, one === null ? { costs: checkEstimates(estimate, limiters, asked) } : checkEstimate(one, estimate as Cost, asked));
        if (charges.every(({ cost }) => cost === 0)) throw new RangeError(expected("estimate", "at least 1 token", estimate));
        // Read before the call is sent: a reservation that seems older gives back less, never more.
        const instants = limiters.map(timeOf);
        const decided = subject.consume(charges);
        return decided instanceof Promise ? decided.then(make) : make(decided);

        function make(decision: Decision): Reservation<Store, unknown> {
          const parts = subject.partsOf(decision);
          const settlements = charges.map((charge, i) => settlementOf(charge, decision.allowed ? (parts[i] ?? null) : null, instants[i] as number, expiresMs));
          const settle = (actual: unknown): boolean | Promise<boolean> =>
            throwOrReject({ sync }, () => {
              const list = one === null ? checkList("actual", actual, limiters) : [actual];
              // All are checked before any is settled.
              const used = settlements.map(({ parse }, i) => parse(list[i] as Cost));
              return settleAll(settlements.map((settlement, i) => () => settlement.settle(used[i] as number)));
            });
          return { allowed: decision.allowed, decision, settle, cancel: () => settle(one === null ? limiters.map(() => 0) : 0) };
        }
      }),
  };
}

function checkEstimate(limiter: Limiter, estimate: Cost, asked: ReserveOptions): ConsumeOptions {
  const own = checkOptions(asked, ["policy"]);
  parseCost(policyOf(own, limiter.policy), given(estimate), "estimate");
  return { ...own, cost: estimate };
}

function checkEstimates(estimates: unknown, limiters: readonly Limiter[], asked: ReserveOptions): readonly unknown[] {
  checkOptions(asked, [], undefined, () => ". Write it into an estimate");
  return [...checkList("estimates", estimates, limiters)].map(given);
}

// A limiter would take its default cost for it.
function given<T>(estimate: T): T {
  if (estimate === undefined) throw new TypeError(expected("estimate", "tokens", estimate));
  return estimate;
}

function checkList(name: string, list: unknown, limiters: readonly Limiter[]): readonly unknown[] {
  if (Array.isArray(list) && list.length === limiters.length) return list;
  throw new TypeError(expected(name, `a list of ${limiters.length}, one for each limiter`, list));
}

/** Runs all, also those after one that failed. Fails with the first failure when all are done. */
function settleAll(settle: ReadonlyArray<() => boolean | Promise<boolean>>): boolean | Promise<boolean> {
  const failures: unknown[] = [];
  const fail = (error: unknown): boolean => {
    failures.push(error);
    return false;
  };
  const done = settle.map((each) => {
    try {
      const settled = each();
      return settled instanceof Promise ? settled.catch(fail) : settled;
    } catch (error) {
      return fail(error);
    }
  });
  return thenAll<boolean, boolean>(done, (all) => {
    if (failures.length > 0) throw failures[0];
    return all.every(Boolean);
  });
}
