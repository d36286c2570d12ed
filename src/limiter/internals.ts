import { checkAnswer } from "#diagnostics";
import { expected } from "../core/check.js";
import { readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { AbortSignalLike } from "../platform.js";
import type { GuardedStore, Store, SyncStore } from "../port/store.js";
import type { Charges, LimiterCharge } from "./charge.js";
import type { Observer } from "./events.js";
import type { Limiter, PlainLimiter } from "./limiter.js";

/** Something to do once all arguments of a call are checked. */
export type Act<T> = () => T | Promise<T>;

/** The verbs of a limiter but `consume`. Each checks its arguments and returns what is left to do. */
export interface Acts {
  peek(key: unknown, asked: unknown): Act<Decision>;
  settle(key: unknown, decision: Decision, actual: unknown, options: unknown): Act<boolean>;
  debit(key: unknown, tokens: unknown, options: unknown): Act<void>;
  credit(key: unknown, tokens: unknown, options: unknown): Act<void>;
  block(key: unknown, forMs: unknown, options: unknown): Act<void>;
  reset(key: unknown, options: unknown): Act<void>;
}

/** The parts of a limiter that combinations, waiters and gates use. */
export interface Internals {
  /** Whether every verb answers at once. */
  readonly sync: boolean;
  readonly acts: Acts;
  /**
   * Returns the key with `change` applied to the key of each part. `unlimited` stays, and a missing key is undefined.
   */
  mapKey(key: unknown, change: (key: unknown, part: PlainLimiter) => unknown): unknown;
  /** Checks a call and returns the charge of each part, in order. Null for a part without a limit. */
  charges(key: unknown, asked: unknown): Charges;
  /** Takes all charges or none, and tells the observers. `signal` cancels a wait. */
  take(charges: Charges, signal?: AbortSignalLike): Decision | Promise<Decision>;
  /** Decides like `take` of a limiter that does not wait, without telling the observers. */
  ask(charges: Charges): Decision | Promise<Decision>;
  /** Tells each observer once of the decision on the charges. `durationMs` is undefined over a synchronous store. */
  tell(charges: Charges, decision: Decision, durationMs: number | undefined): void;
  /** Returns the tokens of an allowed decision that no caller got. Does not wake callers that wait for them. */
  giveBack(charges: Charges, decision: Decision): void | Promise<void>;
  /** The tokens for each part: one number for all, or by the names of a combination. `title` names them in an error. */
  spread(title: string, tokens: unknown): readonly unknown[];
  /** The decision on the charges, in the shape that `take` returns. */
  decisionOf(parts: ReadonlyArray<Decision | null>, charges: Charges): Decision;
  /** The decision of each part. Null for a part that was not asked. */
  partsOf(decision: Decision): ReadonlyArray<Decision | null>;
}

/** The parts of a limiter of `createLimiter`. */
export interface PlainInternals extends Internals {
  /** The limiter's policy. */
  readonly policy: Policy;
  readonly store: Store;
  /** The store with its guard, or without one when the store has none. */
  readonly guarded: GuardedStore;
  /** Whether calls under a key are counted and never refused. */
  isShadow(key: Key): boolean;
  /** Decides by `onStoreError` in place of the store, which failed with `error`. */
  decideWithout(charge: LimiterCharge, error: unknown): Decision;
  /** Receives the limiter's decisions. Null without the option `observe`. */
  readonly observer: Observer | null;
}

/** A brand rather than a WeakMap, because another copy of this package must find the internals too. */
const brand = (): symbol => Symbol.for("sluice.limiter");

/** Attaches the internals to a limiter that was just made. */
export function attachInternals(limiter: object, internals: Internals): void {
  Object.defineProperty(limiter, brand(), { value: internals });
}

/** Returns the internals of a limiter. Throws a TypeError for any other object. */
export function internalsOf(limiter: unknown): Internals {
  const internals = (Object(limiter) as Record<symbol, Internals>)[brand()];
  if (internals === undefined) {
    throw new TypeError(expected("limiter", "made by createLimiter, combine or createWaiter", limiter));
  }
  return internals;
}

/** Returns the internals of a limiter of `createLimiter`. */
export function plainInternalsOf(limiter: Limiter): PlainInternals {
  return internalsOf(limiter) as PlainInternals;
}

/** Replaces the guard for a store without one. The store answers at once, and its errors reach the caller. */
export function unguarded(store: SyncStore): GuardedStore {
  return {
    timeoutMs: 100,
    consume: (policy, key, cost) => checkAnswer(store.consume(policy, key, cost), "consume"),
    peek: (policy, key, cost) => checkAnswer(store.peek?.(policy, key, cost) as Decision, "peek"),
    call: (_buckets, make) => make(),
    decideWithout(_policy, _key, _cost, error) {
      throw error;
    },
    // There is no local decision to find.
    localChargeOf: none,
    refundLocally: none,
    learnTime: none,
    ageOf: ({ at }) => (store.clock === "server" ? Number.NaN : readClock(store.clock) - at),
  };
}

const none = (): null => null;
