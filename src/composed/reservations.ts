import { monotonicClock, readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import { checkNames, checkOptions, positiveInteger, wholeNumber } from "../core/check.js";
import { encodeKey, type Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { Store } from "../core/store.js";
import { answer, policyOf, power } from "../limiter/arguments.js";
import { StoreUnavailableError } from "../guard/errors.js";
import type { Answer, Limiter } from "../limiter/limiter.js";
import type { Charged } from "../guard/fallback.js";
import { partsOf } from "../limiter/internals.js";
import { tookNothing } from "../limiter/refund.js";
import { refundable } from "../core/refundable.js";

/** How {@link createReservations} behave. */
export interface ReservationsOptions {
  /**
   * Milliseconds after which a reservation that nobody settled is over: what was estimated stays taken. Longer than the longest
   * work takes. At least 1, default 300 000, which is five minutes.
   */
  readonly expiresMs?: number;
}

/** Tokens that were taken before anybody knew how many it would be. */
export interface Reservation<S extends Store = Store> {
  /** Whether to begin: that of `decision`. */
  readonly allowed: boolean;
  /** The decision on the estimate. A refusal says how long to wait, as any other. */
  readonly decision: Decision;
  /**
   * Says how many tokens it was, a whole number of at least 0. What was estimated beyond that is given back, as far as it has
   * not come back by itself; what it was beyond the estimate is owed, and later calls wait for it.
   *
   * Answers true when the bucket stands right afterwards, and false when there was nothing to settle: a refusal, one that a
   * failing store let through unseen, or a reservation that was over. Only the first call counts, and the others answer what
   * it did. Throws a RangeError for a number that is none, which settles nothing. A store that fails throws, and is not asked
   * again: what was estimated stays taken. Only with the code `"ERR_STORE_OPEN"`, when it was not asked at all, may it be said again.
   */
  settle(actual: number): Answer<S, boolean>;
  /** Gives all of it back, when nothing was done: `settle(0)`. */
  cancel(): Answer<S, boolean>;
}

/** Takes an estimate first and the rest later. */
export interface Reservations<S extends Store = Store> {
  /**
   * Takes `estimate` tokens for `key` if they are there, and nothing otherwise. An estimate above the capacity can never
   * succeed. Throws a TypeError for a key that identifies nobody and a RangeError for an estimate that is not a whole number
   * of at least 1. Other numbers for this one, such as a tier's, come with `policy`.
   */
  reserve(key: Key, estimate: number, options?: { readonly policy?: Policy }): Answer<S, Reservation<S>>;
}

/**
 * Reservations on a limiter, for work whose cost is known only afterwards: tokens of a language model, bytes of an export.
 *
 * An estimate is taken before the work, and settled after it. Whoever used more owes the rest, up to one whole capacity
 * below nothing; what passes that is not charged to anybody. So over any time `t` no key is charged for more than
 * `2 * capacity + rate * t`. A reservation is plain data in this process: it holds no timer, and nothing waits for those that are abandoned.
 *
 * Throws a TypeError or RangeError that names the wrong option, and a TypeError when the store lacks `refund` or `debit`.
 * @example
 * const budget = createReservations(limiter, { expiresMs: 120_000 });
 * const reservation = budget.reserve(["user", "42"], 2_000);
 * if (reservation.allowed) reservation.settle(1_450);
 * else console.log(`try again in ${reservation.decision.retryAfterMs} ms`);
 */
export function createReservations<S extends Store>(limiter: Limiter<S>, options: ReservationsOptions = {}): Reservations<S> {
  const { policy: own, store, ask, localCharge } = partsOf(limiter);
  checkOptions(options, ["expiresMs"]);
  const expiresMs = positiveInteger("expiresMs", options.expiresMs ?? 300_000);
  power(store, "refund");
  power(store, "debit");
  const clock = typeof store.clock === "function" ? store.clock : monotonicClock;

  const made: Reservations = {
    reserve: (key, estimate, asked) =>
      answer(store, () => {
        if (asked !== undefined) checkNames(asked, ["policy"]);
        const policy = policyOf(asked, own);
        const cost = positiveInteger("estimate", estimate);
        const encoded = encodeKey(key);
        // Before it is sent: what is taken for older than it is gives back less.
        const at = readClock(clock);
        const make = (decision: Decision): Reservation => reservationOf(decision, policy, encoded, cost, at);
        const decided = limiter.consume(key, { cost, policy });
        return decided instanceof Promise ? decided.then(make) : make(decided as Decision);
      }),
  };
  return made as unknown as Reservations<S>;

  function reservationOf(decision: Decision, policy: Policy, key: string, estimate: number, at: number): Reservation {
    const charged = decision.degraded ? localCharge(decision) : took(decision) ? { store, policy } : null;
    // From here on only the reservation gives back what the decision took.
    tookNothing(decision);
    let outcome: boolean | Promise<boolean> | undefined;

    const settle = (actual: number): boolean | Promise<boolean> =>
      answer(store, () => {
        const used = wholeNumber("actual", actual);
        if (outcome !== undefined) return outcome;
        // Now, so that whatever happens next happens once.
        outcome = false;
        const ageMs = readClock(clock) - at;
        if (charged === null || ageMs >= expiresMs) return false;
        const moves = correct(charged, decision, key, estimate, used, ageMs);
        // An exact estimate asks for nothing, which would tell nothing of the store either.
        outcome = charged.store.sync || moves.length === 0 ? run(moves) : ask(() => runLater(moves)).then(() => true, failed);
        return outcome;
      });
    return { allowed: decision.allowed, decision, settle, cancel: () => settle(0) } as Reservation;

    // Where the store was not even asked, it may be said again. A call that failed otherwise may have been carried out.
    function failed(error: unknown): never {
      if (error instanceof StoreUnavailableError && error.code === "ERR_STORE_OPEN") outcome = undefined;
      throw error;
    }
  }
}

// A refusal that is kept to itself took nothing either.
function took(decision: Decision): boolean {
  return decision.allowed && decision.shadow === undefined;
}

/** Something to do at the store that was charged. */
type Move = () => void | Promise<void>;

function run(moves: readonly Move[]): boolean {
  for (const move of moves) void move();
  return true;
}

async function runLater(moves: readonly Move[]): Promise<void> {
  await Promise.all(moves.map(async (move) => move()));
}

/** What makes of `estimate` tokens that were charged `ageMs` ago the `used` ones that it should have been. */
function correct({ store, policy }: Charged, decision: Decision, key: string, estimate: number, used: number, ageMs: number): Move[] {
  if (used > estimate) return [() => power(store, "debit").call(store, policy, key, used - estimate)];
  const due = refundable(decision, policy, estimate - used, ageMs);
  return due.map(({ policy: some, tokens }) => () => power(store, "refund").call(store, some, key, tokens));
}
