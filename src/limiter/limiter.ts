import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { MaybePromise, Store } from "../core/store.js";
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
   * Takes tokens for `key` if they are there, and nothing otherwise. The cost is 1 unless a number or options say so.
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
   * A number of tokens is the administrator's form, which gives back as often as it is called. A bucket never gets more
   * than full. Throws a TypeError when the store has no `refund`, or for a decision under another policy name. What the
   * store fails with is thrown, and the refund cannot be repeated unless the error's code is `"ERR_STORE_OPEN"`.
   */
  refund(key: Key, what: Decision | number, options?: { readonly policy?: Policy | undefined }): MaybePromise<S["sync"], void>;
  /** Forgets what `key` has spent. Throws a TypeError when the store has no `reset`, and what the store fails with. */
  reset(key: Key, options?: { readonly policy?: Policy | undefined }): MaybePromise<S["sync"], void>;
}
