import { memberOf } from "../core/check.js";
import type { Clock } from "../core/clock.js";
import type { Costs } from "../core/limit.js";
import type { Decision } from "../core/decision.js";
import { bucketId, type Policy } from "../core/policy.js";
import type { Charge, StoreAnswer, StoreCall, StoreVerb } from "../core/records.js";

/**
 * Keeps buckets, and answers calls about them: one method, `ask`. Most stores read the records of a call, let
 * `answerCall` of `sluice/store` change them, and write those that changed.
 *
 * A correct store keeps these promises under any concurrency:
 *
 * 1. The policy's name and the key identify a bucket. Both are arbitrary strings; two different pairs share no state. A
 *    key of any length costs the store about the same (L16).
 * 2. A call is atomic: other calls see the state before or after it. `consume` charges every limit of the policy or none
 *    (L10), and several parts together or not at all.
 * 3. The decision equals the core's, to the last unit (L8): the same history gives the same numbers.
 * 4. A refusal writes nothing, at any cost. The one exception is the conversion to new numbers, or of a record too far
 *    ahead of the clock (L3, L6, L14).
 * 5. An absent bucket is a full bucket (L4). A record expires no earlier than it is full: round up, to at least 1 ms.
 * 6. A decision is plain data with properties of its own, and the store never changes it afterwards (L7).
 * 7. The store reads the time itself, from `clock`. Processes that share a store share its server's clock.
 * 8. A store that fails throws or rejects; it never invents a decision (L11). The limiter has checked the costs (whole
 *    numbers of at least 0) and encoded the key (a non-empty string), so bad input does not reach the store.
 * 9. Costs are one number for every limit of the policy, or a list with one for each limit in the policy's order. The
 *    list is for policies of several limits alone (L19).
 *
 * A {@link SyncStore} answers at once and makes every limiter over it synchronous. Any other store is an
 * {@link AsyncStore}. A store that can fail carries a {@link Guard}: `readonly guard = guard()`, from `sluice/store`.
 */
export type Store = SyncStore | AsyncStore;

/** What every store says of itself. */
interface AnyStore {
  /**
   * The clock that the store reads: a function that returns milliseconds, two clocks, or `"server"` for its server's.
   */
  readonly clock: Clock | "server";
  /**
   * The kinds of limits that the store keeps. Default: rates alone. A limiter refuses a policy with another kind: a
   * store that does not know quotas would grant them again and again. A store over `answerCall` knows all,
   * {@link LIMIT_KINDS}, if its clock has dates.
   */
  readonly kinds?: readonly LimitKind[] | undefined;
  /**
   * What the store can be asked for. Default: `consume` alone. A store over `answerCall` knows all, `STORE_VERBS`. It
   * is never asked for another verb: a limiter throws in its place.
   */
  readonly verbs?: readonly StoreVerb[] | undefined;
  /**
   * Whether one `consume` may have several parts, at most 128, each about another bucket: all are taken, or none. A
   * function says it for the parts of one call, at once, and changes nothing. Default: false, which is always safe: the
   * parts are asked for one after another.
   */
  readonly together?: boolean | ((parts: readonly Charge[]) => boolean) | undefined;
  /** Closes what the store opened itself. Never closes a client that it was given. */
  close?(): Promise<void>;
}

/** A store that answers at once, in this process. */
export interface SyncStore extends AnyStore {
  readonly sync: true;
  /**
   * Carries out a call. Answers a list with one answer for each part, in order: a decision for `consume` and `peek`,
   * whether it was done for `adjust` and `renew`, and nothing for `block` and `reset`.
   */
  ask(call: StoreCall): readonly StoreAnswer[];
  /** Only for a store that can fail, such as one in a file. An error of a store without a guard reaches the caller. */
  readonly guard?: Guard | undefined;
}

/** A store that answers with promises. It rejects; it never throws. */
export interface AsyncStore extends AnyStore {
  readonly sync: false;
  /** Carries out a call, as that of a {@link SyncStore}. */
  ask(call: StoreCall): Promise<readonly StoreAnswer[]>;
  /** Timeout, circuit breaker and fallback: `guard` of `sluice/store`. */
  readonly guard: Guard;
  /**
   * The remembered refusal that `consume` would answer with. Null when the store must be asked: always when the cost
   * might fit. Answers at once, writes nothing and never throws. The store documents how old the refusal may be.
   */
  recall?(policy: Policy, key: string, costs: Costs): Decision | null;
}

/**
 * All kinds of limits: what `kinds` of a store says that is built on `answerCall` of `sluice/store`. A rate refills
 * evenly, a quota renews at a date, tokens in flight return when their work is done, and those of a window after a
 * fixed time.
 * @example
 * class TableStore {
 *   readonly kinds = LIMIT_KINDS;
 * }
 */
export const LIMIT_KINDS = ["rate", "quota", "in-flight", "window"] as const;

/** One of {@link LIMIT_KINDS}. */
export type LimitKind = (typeof LIMIT_KINDS)[number];

/** A call about one bucket. */
export function callOf(
  verb: StoreVerb, policy: Policy, key: string, cost: Costs, dates?: Pick<StoreCall, "from" | "move">,
): StoreCall {
  // With all members of its own, because an absent one may come from `Object.prototype`.
  const isRenewal = verb === "renew";
  return {
    verb, parts: [{ policy, key, cost }], from: isRenewal ? undefined : dates?.from, move: isRenewal ? dates?.move : undefined,
  };
}

/** Whether a store can be asked for `verb`. */
export function hasVerb(store: Pick<Store, "verbs">, verb: StoreVerb): boolean {
  return verb === "consume" || memberOf(store, "verbs")?.includes(verb) === true;
}

/** Whether one call may have these parts. */
export function takesTogether(store: Store, parts: readonly Charge[]): boolean {
  const together = memberOf(store, "together");
  return (typeof together === "function" ? together.call(store, parts) : together) === true;
}

/** `T` from a synchronous store, a promise of `T` from an asynchronous one, either when the type does not say which. */
export type MaybePromise<Sync extends boolean, T> = Sync extends true ? T : Promise<T>;

/**
 * What stands before a store that can fail: timeout, circuit breaker and fallback. A store makes one with `guard` of
 * `sluice/store`, and carries it. It serves all limiters over the store, and over wrappers that carry it too.
 *
 * Its inside is for sluice alone.
 */
export interface Guard {
  /** Only `guard` makes one. */
  readonly "made by guard() of sluice/store": true;
}

/** 2^31 - 1 seconds: the longest wait that all clients read in `Retry-After`, and so the longest block. */
export const LONGEST_WAIT_MS = 2_147_483_647_000;

/** The most parts of one call. With 128, a decision's share of a call to Redis is small, and it blocks for less than 1 ms. */
export const MOST_PARTS = 128;

/** What is told when a store becomes unavailable, or available again. */
export interface StoreObserver {
  /** Returns whether anyone listens. When no observer does, the guard gives a warning instead. Must not throw. */
  storeChanged(store: Store, state: "unavailable" | "available", error: unknown): boolean;
}

/** Throws a TypeError when two parts of a call name the same bucket. */
export function checkNamedOnce(parts: readonly Charge[]): void {
  if (new Set(parts.map(({ policy, key }) => bucketId(policy, key))).size === parts.length) return;
  throw new TypeError("Expected the parts to name each bucket once, got one twice. Add up their costs.");
}
