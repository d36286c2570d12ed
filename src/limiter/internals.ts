import { checkAnswer, type DecisionLog } from "#diagnostics";
import { expected } from "../core/check.js";
import { readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import { markNew } from "../port/charged.js";
import type { GuardedStore, Store, SyncStore } from "../port/store.js";
import type { LimiterCharge } from "./charge.js";
import type { Observer } from "./events.js";
import type { PlainLimiter } from "./limiter.js";

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

/** What every limiter carries. */
export interface Internals {
  /** Whether every verb answers at once. */
  readonly sync: boolean;
  readonly acts: Pick<Acts, "settle">;
  /** Null for a limiter of `createLimiter`, which has one key and answers without waiting. */
  readonly requests: Requests | null;
}

/** How a gate uses a combination, or a limiter that waits. */
export interface Requests {
  /** Returns a function that reads the keys of a request. `callerOf` reads the key of one part. */
  callersBy(callerOf: CallerOf): (keys: unknown) => unknown;
  /** The cost for each part, from one number for all or costs by the names of a combination. */
  costs(cost: unknown): readonly PartTokens[];
  /**
   * Takes the tokens of a request. `prepare` gets each charge before anything is taken. While the limiter waits,
   * `onDisconnect` listens for the end of the client's connection, and returns a function that ends this.
   */
  take<T>(
    key: unknown,
    asked: object,
    prepare: (charge: LimiterCharge) => T,
    onDisconnect: (listener: () => void) => (() => void) | undefined,
  ): Taken<T> | Promise<Taken<T>>;
}

/** The tokens for one part, and whether they are a number for several limiters. */
export interface PartTokens {
  readonly tokens: unknown;
  readonly isForAll: boolean;
}

/**
 * Reads the key of one part: the key to charge, `unlimited` for a caller without a limit, or null, which refuses the
 * whole request.
 */
type CallerOf = (key: unknown, part: PlainLimiter) => unknown;

/** What became of a request. No decision was made if no part has a limit, and if the client disconnected. */
type Taken<T> = "unlimited" | "disconnected" | {
  readonly decision: Decision;
  readonly parts: ReadonlyArray<T & TakenPart>;
};

/** A part that was asked. */
export interface TakenPart {
  readonly decision: Decision;
  /** Whether it binds: of all parts, and of those under its policy's name. */
  readonly binds: boolean;
  readonly bindsItsName: boolean;
  /** Whether it is counted and never refused. */
  readonly shadow: boolean;
}

/** What a limiter of `createLimiter` carries. */
export interface PlainInternals extends Internals {
  readonly acts: Acts;
  /** The limiter's policy. */
  readonly policy: Policy;
  /** Whether a call has charged another policy than the limiter's. */
  readonly tiers: { wereCharged: boolean };
  /** Prints decisions, if `NODE_DEBUG` asks for it. */
  readonly log: DecisionLog | null;
  readonly store: Store;
  /** The store with its guard, or without one when the store has none. */
  readonly guarded: GuardedStore;
  /** Receives the limiter's decisions. Null without the option `observe`. */
  readonly observer: Observer | null;
  /** Whether calls under a key are counted and never refused. */
  isShadow(key: Key): boolean;
}

/** A limiter of one policy, without the verbs that no gate needs. */
export interface Decider extends Pick<PlainLimiter, "policy" | "store" | "waits" | "shadow" | "consume"> {
  readonly parts: readonly Decider[];
}

/** The limiter of a gate: its own, or any other. */
export type GateLimiter = Pick<Decider, "parts" | "waits">;

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

/** Replaces the guard for a store without one. The store answers at once, and its errors reach the caller. */
export function unguarded(store: SyncStore): GuardedStore {
  return {
    timeoutMs: 100,
    consume: (policy, key, cost) => markNew(checkAnswer(store.consume(policy, key, cost), "consume"), store, key),
    peek: (policy, key, cost) => checkAnswer(store.peek?.(policy, key, cost) as Decision, "peek"),
    call: (_buckets, make) => make(),
    inBackground: (_buckets, make) => make(),
    decideWithout(_policy, _key, _cost, error) {
      throw error;
    },
    // There is no local decision to find.
    localChargeOf: none,
    learnTime: none,
    now: () => (store.clock === "server" ? Number.NaN : readClock(store.clock)),
    pastNow: () => (store.clock === "server" ? Number.NaN : readClock(store.clock)),
  };
}

const none = (): null => null;
