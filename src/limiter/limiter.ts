import type { Cost } from "../core/cost.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { MaybePromise, Store } from "../port/store.js";
import type { ConsumeOptions } from "./arguments.js";

/**
 * A policy and a store, made by {@link createLimiter}.
 *
 * Over a synchronous store every method answers at once, and throws on misuse. Over an asynchronous store every method
 * returns a promise, which rejects on misuse.
 */
export interface Limiter<S extends Store = Store> {
  /** The limits of every request that does not name another policy. */
  readonly policy: Policy;
  /** The store that keeps the buckets. */
  readonly store: S;
  /**
   * Takes tokens for `key` if they are there, and nothing otherwise. `cost` is a number for every limit, or options
   * that can name the cost of each limit. Default: the cost of the policy's limits, which is 1 by default.
   *
   * A refusal is an answer, not an error. Throws a TypeError for a key that identifies no caller, and a RangeError for
   * a cost that is not a whole number. Nothing is taken then. Does not throw when the store fails or exceeds its
   * timeout: see `onStoreError`. Exception: the errors of a store without a guard reach the caller.
   */
  consume(key: Key, cost?: number | ConsumeOptions): MaybePromise<S["sync"], Decision>;
  /**
   * Returns the decision that `consume` would make now. Takes nothing.
   *
   * Throws a TypeError when the store has no `peek`, and the store's error when it fails.
   */
  peek(key: Key, cost?: number | ConsumeOptions): MaybePromise<S["sync"], Decision>;
  /**
   * Returns the tokens of a decision to `key`, once. They return to where they were taken: the store, or this process
   * if it decided in the store's place.
   *
   * Tokens that have refilled by themselves are not returned again: a decision older than its `resetMs` returns
   * nothing. A second refund of one decision does nothing. The refund of a refusal or of a `peek` does nothing either.
   * The limiter does not check that it made the decision, or that the decision was about this key. A copy
   * (`{ ...decision }`) is a different decision.
   *
   * Pass tokens instead of a decision for corrections by an administrator: a number for every limit, or an object with
   * the names of limits. Each call refunds again. A bucket never holds more than its capacity. Throws a TypeError when
   * the store has no `adjust`, or for a decision under another policy name. When the store fails, throws its error.
   * Retry the refund only if the error's code is `"ERR_STORE_OPEN"`.
   */
  refund(key: Key, what: Decision | Cost, options?: { readonly policy?: Policy | undefined }): MaybePromise<S["sync"], void>;
  /**
   * Takes exactly `tokens` from `key`, even if fewer are left: a fine. Later calls are refused until the debt has
   * refilled. A number applies to every limit. In an object with the names of limits, a limit that is left out pays
   * nothing.
   *
   * Throws a TypeError or RangeError for tokens that are not whole, or more than a debt can hold (2^53 - 1 units, see
   * {@link Limit}). Nothing is taken then. Throws a TypeError when the store has no `adjust`, and the store's error
   * when it fails. After a failure the tokens may have been taken, unless the error's code is `"ERR_STORE_OPEN"`.
   */
  debit(key: Key, tokens: Cost, options?: { readonly policy?: Policy | undefined }): MaybePromise<S["sync"], void>;
  /**
   * Refuses every call of `key`, at any cost, for `forMs` milliseconds: 1 to 2,147,483,647,000 (68 years). A longer
   * block stays in place. `reset` ends a block. Refunds, debits and new numbers of the policy do not.
   *
   * The store keeps it with the key's buckets, under the policy's name. While the store is unavailable, a process
   * decides without it and does not see the block. Throws a TypeError when the store has no `block`, and the store's
   * error when it fails.
   */
  block(key: Key, forMs: number, options?: { readonly policy?: Policy | undefined }): MaybePromise<S["sync"], void>;
  /**
   * Deletes the buckets of `key` and its block. All tokens are there again. Throws a TypeError when the store has no
   * `reset`, and the store's error when it fails.
   */
  reset(key: Key, options?: { readonly policy?: Policy | undefined }): MaybePromise<S["sync"], void>;
}
