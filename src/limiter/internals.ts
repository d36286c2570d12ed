import type { DecisionLog, NumberedMember } from "#diagnostics";
import { expected, ownMembers } from "../core/check.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { Overload } from "../port/overload.js";
import type { MaybePromise, Store } from "../port/store.js";
import type { GuardedStore } from "../port/guarded-store.js";
import type { Charges, LimiterCharge, TakenCharge } from "./charge.js";
import type { Observer } from "./observer.js";
import type { PlainLimiter } from "./limiter.js";

/** The verbs of a limiter but `consume`, and `refund`, which is a `settle`. */
export type VerbName = "peek" | "settle" | "debit" | "credit" | "block" | "reset";

/** Something to do once all arguments of a call are checked. */
export type Thunk<T> = () => T | Promise<T>;

/**
 * Any limiter from within, as the list of its parts: what its verbs, combinations, waiters and gates use. One of
 * `createLimiter` carries {@link PlainInternals}. `partsOf` adds the rest, so that only several limiters pay for it.
 */
export interface LimiterInternals {
  /** Whether every verb answers at once. */
  readonly sync: boolean;
  // Each verb checks its arguments and returns what is left to do.
  peek(key: unknown, asked: unknown): Thunk<Decision>;
  /** `isRelease`: gives back the tokens in flight alone. The others stay open for one settlement. */
  settle(key: unknown, decision: Decision, actual: unknown, options: unknown, isRelease?: boolean): Thunk<boolean>;
  debit(key: unknown, tokens: unknown, options: unknown): Thunk<void>;
  credit(key: unknown, tokens: unknown, options: unknown): Thunk<void>;
  block(key: unknown, forMs: unknown, options: unknown): Thunk<void>;
  reset(key: unknown, options: unknown): Thunk<void>;
  /** Those of a combination. */
  readonly members?: readonly NumberedMember[];
  /**
   * Returns the key with `change` applied to the key of each part. `unlimited` stays, and a missing key is undefined.
   */
  mapKey(key: unknown, change: (key: unknown, part: PlainLimiter) => unknown): unknown;
  /**
   * Checks a call and returns the charge of each part, in order. Null for a part without a limit. `isForAll` says that
   * a number is for several limiters, not for this one.
   */
  charges(key: unknown, asked: unknown, isForAll?: boolean): Charges;
  /** Takes all charges or none, without telling the observers. */
  ask(charges: Charges): Decision | Promise<Decision>;
  /** Tells each observer once of the decision on the charges. `durationMs` is undefined over a synchronous store. */
  tell(charges: Charges, decision: Decision, durationMs: number | undefined): void;
  /** Returns the tokens of an allowed decision that no caller got. Does not wake callers that wait for them. */
  giveBack(charges: Charges, decision: Decision): void | Promise<void>;
  /** The cost of each part: one number for all, or by the names of a combination. */
  costsOfParts(cost: unknown, isForAll?: boolean): readonly PartTokens[];
  /** The decision on the charges, in the shape that `ask` returns. */
  decisionOf(parts: ReadonlyArray<Decision | null>, charges: Charges): Decision;
  /** The decision of each part. Null for a part that was not asked. */
  partsOf(decision: Decision): ReadonlyArray<Decision | null>;
  /**
   * For a gate: returns a function that reads the keys of a request. `callerOf` reads the key of one part: the key to
   * charge, `unlimited` for a caller without a limit, or null, which refuses the whole request.
   */
  callersBy?(callerOf: (key: unknown, part: PlainLimiter) => unknown): (keys: unknown) => unknown;
  /**
   * For a gate: takes the tokens of a request. `prepare` gets each charge before anything is taken. While the limiter
   * waits, `onDisconnect` listens for the end of the client's connection, and returns a function that ends this. Null
   * when the client disconnected. Without a charge when no part has a limit.
   */
  take?<T>(
    key: unknown,
    asked: object,
    prepare: (charge: LimiterCharge) => T,
    onDisconnect: (listener: () => void) => (() => void) | undefined,
  ): MaybePromise<boolean, { readonly decision: Decision; readonly charges: ReadonlyArray<T & TakenCharge> } | null>;
}

/** The cost of one part, and whether they are a number for several limiters. */
export interface PartTokens {
  readonly tokens: unknown;
  readonly isForAll: boolean;
}

/** What a limiter of `createLimiter` carries. */
export interface PlainInternals extends Pick<LimiterInternals, "sync" | VerbName>, Alone {
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

/** What any limiter carries for a gate. One of `createLimiter` has no more: a gate calls its `consume`. */
type GateInternals = Pick<LimiterInternals, "sync" | "settle"> & Partial<LimiterInternals> & Alone;

/** A limiter that no combination and no waiter may take. */
interface Alone {
  /** Its refusal says that the service is overloaded. */
  readonly overload?: Overload;
  /** Throws, because its own gate alone may charge it. */
  alone?(): never;
}

/** A limiter of one policy as a gate uses it: without the verbs that no gate needs. */
export interface GateLimiter extends Pick<PlainLimiter, "policy" | "store" | "waits" | "shadow" | "consume"> {
  readonly parts: readonly GateLimiter[];
}

/** A brand rather than a WeakMap, because another copy of this package must find the internals too. */
const brand = (): symbol => Symbol.for("sluice.limiter");

/** Attaches the internals to a limiter that was just made. */
export function attachInternals(limiter: object, internals: GateInternals): void {
  Object.defineProperty(limiter, brand(), { value: ownMembers(internals) });
}

/** Returns the internals of a limiter. Throws a TypeError for any other object. */
export function internalsOf(limiter: unknown): GateInternals {
  const internals = (Object(limiter) as Record<symbol, GateInternals>)[brand()];
  if (internals === undefined) {
    throw new TypeError(expected("limiter", "made by createLimiter, combine or createWaiter", limiter));
  }
  return internals;
}

/** Returns the internals of a limiter of `createLimiter`. */
export function plainInternalsOf(limiter: object): PlainInternals {
  return internalsOf(limiter) as PlainInternals;
}
