import type { Cost } from "../core/cost.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { MaybePromise, Store } from "../port/store.js";
import type { ConsumeOptions } from "./arguments.js";

/**
 * A policy and a store, made by {@link createLimiter}.
 *
 * Over a synchronous store every method answers at once and throws on misuse. Over an asynchronous store every method
 * returns a promise, which rejects on misuse.
 */
export interface Limiter<S extends Store = Store> {
  /** The limits that apply unless a request brings its own. */
  readonly policy: Policy;
  /** Where the buckets live. */
  readonly store: S;
  /**
   * Takes tokens for `key` if they are there, and nothing otherwise. The cost is that of the policy's limits, 1 by
   * default; a number is the cost of every limit, and options can name the cost of each.
   *
   * A refusal is an answer, not an error. Throws a TypeError for a key that identifies no caller and a RangeError for a
   * cost that is not a whole number; nothing is taken then. A store that fails, or does not answer in time, does not
   * throw: see `onStoreError`. Only what a store without a guard throws reaches the caller.
   */
  consume(key: Key, cost?: number | ConsumeOptions): MaybePromise<S["sync"], Decision>;
  /**
   * The decision that `consume` would make, with what is left now. Takes nothing.
   *
   * Throws a TypeError when the store has no `peek`, and what the store fails with.
   */
  peek(key: Key, cost?: number | ConsumeOptions): MaybePromise<S["sync"], Decision>;
  /**
   * Gives back what `decision` took from `key`, once, to the place it was taken from: the store, or this process where
   * it decided in the store's place.
   *
   * Tokens that have refilled by themselves are not given back again: a decision older than its `resetMs` gives back
   * nothing. A second refund of one decision does nothing, and neither does the refund of a refusal or of a `peek`. The
   * limiter does not check that it made the decision, nor that it was about this key. A copy (`{ ...decision }`) is
   * another decision.
   *
   * Tokens instead of a decision, for every limit or by the names of limits, are the administrator's form, which gives
   * back as often as it is called. A bucket never gets more than full. Throws a TypeError when the store has no
   * `adjust`, or for a decision under another policy name. What the store fails with is thrown, and the refund cannot
   * be repeated unless the error's code is `"ERR_STORE_OPEN"`.
   */
  refund(key: Key, what: Decision | Cost, options?: { readonly policy?: Policy | undefined }): MaybePromise<S["sync"], void>;
  /**
   * Takes exactly `tokens` from `key`, also those that are not there: a fine. Later calls wait until the debt has
   * refilled. A number is for every limit; by names, a limit that is left out pays nothing.
   *
   * Throws a TypeError or RangeError for tokens that are not whole or that no debt can hold (2^53 - 1 units, see
   * {@link Limit}); nothing is taken then. Throws a TypeError when the store has no `adjust`, and what the store fails
   * with: the tokens may have been taken then, unless the error's code is `"ERR_STORE_OPEN"`.
   */
  debit(key: Key, tokens: Cost, options?: { readonly policy?: Policy | undefined }): MaybePromise<S["sync"], void>;
  /**
   * Refuses every call of `key`, at any cost, for `forMs` milliseconds: 1 to 2 147 483 647 000 (68 years). A block that
   * ends later stays. `reset` ends it; refunds, debits and new numbers of the policy do not.
   *
   * It is kept with the key's buckets, under the policy's name, for as long as the store keeps its data. A process that
   * decides by itself while the store is unavailable does not see it. Throws a TypeError when the store has no `block`,
   * and what the store fails with.
   */
  block(key: Key, forMs: number, options?: { readonly policy?: Policy | undefined }): MaybePromise<S["sync"], void>;
  /**
   * Forgets what `key` has spent, and a block. Throws a TypeError when the store has no `reset`, and what the store
   * fails with.
   */
  reset(key: Key, options?: { readonly policy?: Policy | undefined }): MaybePromise<S["sync"], void>;
}
