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

/** The options of {@link createReservations}. */
export interface ReservationsOptions {
  /**
   * Milliseconds after which an unsettled reservation ends. Its estimate then stays taken. Set it above the duration of
   * your longest work. At least 1. Default 300,000 (5 minutes).
   */
  readonly expiresMs?: number | undefined;
}

interface ReserveOptions {
  readonly policy?: Policy | undefined;
}

/** An estimated cost, taken before the work. On {@link combine}, the cost is a list with one entry for each limiter. */
export interface Reservation<S extends Store = Store, Actual = Cost, Made extends Decision = Decision> {
  /** True when the work may begin: `decision.allowed`. */
  readonly allowed: boolean;
  /** The decision on the estimate. A refusal has the wait, like any other. */
  readonly decision: Made;
  /**
   * Replaces the estimate by the actual cost in one step. The cost is whole numbers of at least 0, for every limit or
   * by the names of limits. A limit that is left out keeps its estimate. If the work cost less, the difference is
   * refunded, as far as it has not refilled by itself. If the work cost more, the difference is taken, up to one
   * capacity of each limit. Later calls wait until it has refilled.
   *
   * Returns true when the bucket is correct afterwards. Returns false when there was nothing to settle: after a
   * refusal, after a decision of `onStoreError: "allow"`, or after `expiresMs`. Only the first call counts. Later calls
   * return the same result.
   *
   * Throws a TypeError or RangeError for a number that is not whole. Nothing is settled then. When the store fails,
   * throws its error, and the estimate stays taken. You may settle again only after the code `"ERR_STORE_OPEN"`: the
   * store was not called.
   */
  settle(actual: Actual): MaybePromise<S["sync"], boolean>;
  /** Refunds the whole estimate when the work was not done, like a cost of 0 for every limit. */
  cancel(): MaybePromise<S["sync"], boolean>;
}

/** Makes reservations on one limiter. Made by {@link createReservations}. */
export interface Reservations<S extends Store = Store> {
  /**
   * Takes the estimate for `key` if its tokens are there, and nothing otherwise. The estimate is a number for every
   * limit, or an object with the names of limits. A limit that is not in the object takes its `cost` option, which is 1
   * by default. An estimate above a capacity can never succeed. `policy` replaces the limiter's policy for this
   * reservation, for example by that of a tier.
   *
   * Throws a TypeError for a key that identifies no caller, and for an unknown name of a limit. Throws a RangeError for
   * an estimate that is not whole or takes nothing.
   */
  reserve(key: Key, estimate: Cost, options?: { readonly policy?: Policy | undefined }): MaybePromise<S["sync"], Reservation<S>>;
}

/** Makes reservations on several limiters together. Made by {@link createReservations}. */
export interface ReservationsTogether<L extends readonly Limiter[]> {
  /**
   * Takes the estimates from all limiters, each under its key in `keys`, or from none. For each limiter, pass a number
   * or the options of its `consume`. `settle` takes the actual cost of each limiter. It corrects each limiter in a
   * separate step.
   */
  reserve(
    keys: Each<L, Key>,
    estimates: Each<L, number | ConsumeOptions>,
  ): MaybePromise<L[number]["store"]["sync"], Reservation<L[number]["store"], Each<L, Cost>, CombinedDecision>>;
}

/**
 * Makes reservations on a limiter, for work with a cost that is known only afterwards: tokens of a language model,
 * bytes of an export.
 *
 * The estimate is taken before the work and settled after it. Work that costs more than its estimate takes the rest, up
 * to one capacity of each limit. Any cost beyond that is not charged. So a reservation is charged at most its estimate
 * plus one capacity. A reservation exists in this process only. It has no timer, and an abandoned one costs nothing.
 *
 * Throws a TypeError or RangeError that names the wrong option, and a TypeError when the store has no `adjust`.
 * @example
 * const budget = createReservations(limiter, { expiresMs: 120_000 });
 * const reservation = budget.reserve(["user", "42"], 2_000);
 * if (reservation.allowed) reservation.settle(1_450);
 * else console.log(`try again in ${reservation.decision.retryAfterMs} ms`);
 */
export function createReservations<S extends Store>(limiter: Limiter<S>, options?: ReservationsOptions): Reservations<S>;
/**
 * Makes reservations on several limiters, such as those of a user and of a team: all are reserved or none.
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
        // The clock is read before the call is sent. A reservation that looks older is refunded less, never more.
        const instants = limiters.map(timeOf);
        const decided = subject.consume(charges);
        return decided instanceof Promise ? decided.then(make) : make(decided);

        function make(decision: Decision): Reservation<Store, unknown> {
          const parts = subject.partsOf(decision);
          const settlements = charges.map((charge, i) => settlementOf(charge, decision.allowed ? (parts[i] ?? null) : null, instants[i] as number, expiresMs));
          const settle = (actual: unknown): boolean | Promise<boolean> =>
            throwOrReject({ sync }, () => {
              const list = one === null ? checkList("actual", actual, limiters) : [actual];
              // All costs are checked before any is settled.
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

// Without this check, a limiter would take its default cost for an undefined estimate.
function given<T>(estimate: T): T {
  if (estimate === undefined) throw new TypeError(expected("estimate", "tokens", estimate));
  return estimate;
}

function checkList(name: string, list: unknown, limiters: readonly Limiter[]): readonly unknown[] {
  if (Array.isArray(list) && list.length === limiters.length) return list;
  throw new TypeError(expected(name, `a list of ${limiters.length}, one for each limiter`, list));
}

/** Calls all functions, even after one has failed. When all are done, fails with the first error. */
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
