import { checkAnswer } from "#diagnostics";
import { expected } from "../core/check.js";
import { readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import type { Policy } from "../core/policy.js";
import type { GuardedStore, Store, SyncStore } from "../port/store.js";
import type { Observer } from "./events.js";
import type { Limiter } from "./limiter.js";

/** What a limiter consists of, for the features of this package that are built on limiters. */
export interface Internals {
  /** The limiter's own policy. */
  readonly policy: Policy;
  readonly store: Store;
  /** The store with its guard, or as it is when it has none. */
  readonly guarded: GuardedStore;
  /** Whether the limiter refuses nothing. */
  readonly shadow: boolean;
  /** Sees the limiter's decisions; null when it has no observer. */
  readonly observer: Observer | null;
}

/** A brand rather than a WeakMap, so that another copy of this package finds them too. */
const brand = (): symbol => Symbol.for("sluice.limiter");

/** Attaches the internals to a limiter that was just made. */
export function attachInternals(limiter: Limiter, internals: Internals): void {
  Object.defineProperty(limiter, brand(), { value: internals });
}

/** The internals of a limiter. Throws a TypeError for an object that createLimiter did not make. */
export function internalsOf(limiter: Limiter): Internals {
  const internals = found(limiter);
  if (internals === undefined) throw new TypeError(expected("limiter", "made by createLimiter", limiter));
  return internals;
}

/**
 * The longest time in milliseconds that a call to the limiter's store may take. Infinity for an object that
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

/**
 * What stands for the guard of a store without one: the store answers at once, and what it throws reaches the caller.
 */
export function unguarded(store: SyncStore, timeoutMs: number): GuardedStore {
  return {
    timeoutMs,
    consume: (policy, key, cost) => checkAnswer(store.consume(policy, key, cost), "consume"),
    peek: (policy, key, cost) => checkAnswer(store.peek?.(policy, key, cost) as Decision, "peek"),
    call: (_buckets, make) => make(),
    decideWithout(_policy, _key, _cost, error) {
      throw error;
    },
    // No decision was made in the store's place.
    localChargeOf: none,
    refundLocally: none,
    learnTime: none,
    ageOf: ({ at }) => (store.clock === "server" ? Number.NaN : readClock(store.clock) - at),
  };
}

const none = (): null => null;
