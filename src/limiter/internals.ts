import { checkAnswer } from "#diagnostics";
import { expected } from "../core/check.js";
import { readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import type { Policy } from "../core/policy.js";
import type { GuardedStore, Store, SyncStore } from "../port/store.js";
import type { Observer } from "./events.js";
import type { Limiter } from "./limiter.js";

/** The parts of a limiter, for the features of this package that are built on limiters. */
export interface Internals {
  /** The limiter's policy. */
  readonly policy: Policy;
  readonly store: Store;
  /** The store with its guard, or without one when the store has none. */
  readonly guarded: GuardedStore;
  /** True when the limiter refuses nothing. */
  readonly shadow: boolean;
  /** Receives the limiter's decisions. Null without the option `observe`. */
  readonly observer: Observer | null;
}

/** A brand rather than a WeakMap, because another copy of this package must find the internals too. */
const brand = (): symbol => Symbol.for("sluice.limiter");

/** Attaches the internals to a limiter that was just made. */
export function attachInternals(limiter: Limiter, internals: Internals): void {
  Object.defineProperty(limiter, brand(), { value: internals });
}

/** Returns the internals of a limiter. Throws a TypeError for an object that createLimiter did not make. */
export function internalsOf(limiter: Limiter): Internals {
  const internals = found(limiter);
  if (internals === undefined) throw new TypeError(expected("limiter", "made by createLimiter", limiter));
  return internals;
}

/**
 * Returns the longest time in milliseconds that a call to the limiter's store may take. Infinity for an object that
 * createLimiter did not make.
 */
export function storeTimeoutOf(limiter: Limiter): number {
  return found(limiter)?.guarded.timeoutMs ?? Infinity;
}

/** Whether a limiter refuses nothing. False for an object that createLimiter did not make. */
export function isShadow(limiter: Limiter): boolean {
  return found(limiter)?.shadow ?? false;
}

function found(limiter: Limiter): Internals | undefined {
  return (Object(limiter) as Record<symbol, Internals>)[brand()];
}

/** Replaces the guard for a store without one. The store answers at once, and its errors reach the caller. */
export function unguarded(store: SyncStore, timeoutMs: number): GuardedStore {
  return {
    timeoutMs,
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
