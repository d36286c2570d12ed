import type { Cost } from "../core/cost.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { Unlimited } from "./unlimited.js";
import type { MaybePromise, Store } from "../port/store.js";

/** The cost of a call of a limiter with keys of type `K`: a {@link Cost}, or costs by the names of a combination. */
export type CostOf<K> = K extends Key ? Cost : number | { readonly [Name in keyof K]?: CostOf<Exclude<K[Name], Unlimited>> };

/** The policy of a call: a {@link Policy} or `unlimited`, or policies by the names of a combination. */
export type PolicyOf<K> = K extends Key
  ? Policy | Unlimited
  : { readonly [Name in keyof K]?: PolicyOf<Exclude<K[Name], Unlimited>> };

/** The policy of one call. */
export interface PolicyChoice<K = Key> {
  /**
   * The policy of this call, made by {@link definePolicy}, such as the one of the caller's tier, or `unlimited`.
   * Default: the limiter's policy. A combination takes policies by the names of its members.
   */
  readonly policy?: PolicyOf<K> | undefined;
}

/** The cost and the policy of one call. */
export interface ConsumeOptions<K = Key> extends PolicyChoice<K> {
  /**
   * The tokens to take: a whole number, or an object with the names of limits, such as `{ tokens: 2_000 }`. A limit
   * that is not named takes its `cost` option, which is 1 by default. A combination takes one number for all members,
   * or an object by their names whose values are costs.
   *
   * A number is for the one limit of a limiter whose own policy has one. Otherwise it is for every rate and quota. A
   * limit in flight is then charged as if it was not named.
   */
  readonly cost?: CostOf<K> | undefined;
}

/**
 * What decides whether a caller may go on: a policy and a store ({@link createLimiter}), several limiters together
 * ({@link combine}), or a limiter that waits ({@link createWaiter}). All have these verbs.
 *
 * The last argument of a verb is its options. A number is short for `{ cost }`: `debit(key, 5)` is
 * `debit(key, { cost: 5 })`.
 *
 * `K` is the type of its keys, `D` that of its decisions. With `Sync` true every verb answers at once, and throws on
 * misuse. Otherwise every verb returns a promise, which rejects on misuse.
 */
export interface Limiter<K = Key, D extends Decision = Decision, Sync extends boolean = boolean> {
  /** The limiters that it is made of: itself for one of `createLimiter`. */
  readonly parts: readonly PlainLimiter[];
  /** True for a limiter of {@link createWaiter}: `consume` may take its time. */
  readonly waits: boolean;
  /** Whether calls under `key` are counted and never refused. For a combination: whether all members do so. */
  shadow(key: K): boolean;
  /**
   * Takes tokens for `key` if they are there, and nothing otherwise. A refusal is an answer, not an error: look at
   * `allowed`, or write `granted(await limiter.consume(key))`, which throws for a refusal.
   *
   * `cost` is a number, or options that can name the cost of each limit. See {@link ConsumeOptions}. Default: the cost
   * of the policy's limits, which is 1 by default. Throws a TypeError for a key that identifies no caller, and a
   * RangeError for a cost that is not a whole number. Nothing is taken then. Does not throw when the store fails or
   * exceeds its timeout: see `onStoreError`. Exception: the errors of a store without a guard reach the caller.
   */
  consume(key: K, cost?: number | ConsumeOptions<K>): MaybePromise<Sync, D>;
  /**
   * Returns the decision that `consume` would make now. Takes nothing.
   *
   * Name the policy of the caller when calls name theirs, as with a `policy` function of `rateLimit`:
   * `peek(key, { policy })`. By the limiter's own numbers, the answer would be wrong. So `peek` without a policy throws
   * a TypeError once this process has charged another policy than the limiter's.
   *
   * Throws a TypeError when the store has no `peek`, and the store's error when it fails.
   */
  peek(key: K, cost?: number | ConsumeOptions<K>): MaybePromise<Sync, D>;
  /**
   * Replaces the cost of `decision` by what its work really cost, when its work has ended: the way to charge work whose
   * cost was a guess. Returns true when it did.
   *
   * Tokens that were not used return to where they were taken: the store, or this process if it decided in the store's
   * place. Tokens that have refilled by themselves are not returned again. Work that cost more takes the difference,
   * even if it is not there, up to one capacity of each limit.
   *
   * A limit that the cost does not name keeps its charge. A number above 0 is for a policy of one limit.
   *
   * Each decision is settled once. Returns false for a second call, a refusal, a decision of `peek`, one that `shadow`
   * allowed, one of another limiter, and a copy. It acts by the policy that the decision charged, whichever is named,
   * so a `policy` need not be named for a tier. Throws a TypeError for another key than that of the decision, and a
   * TypeError or RangeError for a cost that is not whole. Nothing is changed then. Throws the store's error when it
   * fails: settle again only after the code `"ERR_STORE_OPEN"`.
   */
  settle(key: K, decision: D, cost: number | (PolicyChoice<K> & { readonly cost: CostOf<K> })): MaybePromise<Sync, boolean>;
  /** Returns all tokens of `decision`, because its work was not done: settles it to nothing, like {@link settle}. */
  refund(key: K, decision: D, options?: PolicyChoice<K>): MaybePromise<Sync, boolean>;
  /**
   * Takes exactly `cost` from `key`, even if fewer are left: a fine. Later calls are refused until the debt has
   * refilled. A number is for a policy of one limit. Otherwise name the limits: `debit(key, { cost: { tokens: 50 } })`.
   * A limit that is left out pays nothing.
   *
   * Throws a TypeError or RangeError for a cost that is not whole, or more than a debt can hold (2^53 - 1 units, see
   * {@link Limit}). Nothing is taken then. Throws a TypeError when the store has no `adjust`, and the store's error
   * when it fails. After a failure the tokens may have been taken, unless the error's code is `"ERR_STORE_OPEN"`.
   */
  debit(key: K, cost: number | (PolicyChoice<K> & { readonly cost: CostOf<K> })): MaybePromise<Sync, void>;
  /**
   * Gives tokens to `key`, up to full: goodwill. Takes what {@link debit} takes, and fails as it does. Each call gives
   * again.
   */
  credit(key: K, cost: number | (PolicyChoice<K> & { readonly cost: CostOf<K> })): MaybePromise<Sync, void>;
  /**
   * Refuses every call of `key`, at any cost, for `forMs` milliseconds: up to 2,147,483,647,000 (68 years). A longer
   * block stays in place. 0 ends a block and changes nothing else; `reset` ends it too. Settlements, debits and new
   * numbers of the policy do not.
   *
   * The store keeps it with the key's buckets, under the policy's name. While the store is unavailable, a process
   * decides without it and does not see the block. Throws a TypeError when the store has no `block`, and the store's
   * error when it fails.
   */
  block(key: K, forMs: number, options?: PolicyChoice<K>): MaybePromise<Sync, void>;
  /**
   * Deletes the buckets of `key` and its block. All tokens are there again. Throws a TypeError when the store has no
   * `reset`, and the store's error when it fails.
   */
  reset(key: K, options?: PolicyChoice<K>): MaybePromise<Sync, void>;
}

/** A policy and a store, made by {@link createLimiter}. */
export interface PlainLimiter<S extends Store = Store> extends Limiter<Key, Decision, S["sync"]> {
  /** The limits of every call that does not name another policy. */
  readonly policy: Policy;
  /** The store that keeps the buckets. */
  readonly store: S;
}
