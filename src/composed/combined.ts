import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { MaybePromise } from "../port/store.js";
import type { ConsumeOptions } from "../limiter/arguments.js";
import type { Limiter } from "../limiter/limiter.js";

/**
 * The decision of several limiters together. Its numbers are those of the limiter that binds. When refused, that is the
 * limiter with the longest wait. When allowed, it is the one with the fewest requests of this cost left.
 */
export type CombinedDecision = Decision & {
  /**
   * The position of the limiter that refused, or null when all allowed. If several refused, the one with the longest
   * wait.
   */
  readonly refusedBy: number | null;
  /**
   * The decision of each limiter, in order. When one refuses, nothing is taken. The numbers of those that would allow
   * are then those of `peek`. Null for a limiter that did not refuse and has a store without `peek`. Also null for one
   * that was not called because another store failed.
   */
  readonly decisions: ReadonlyArray<Decision | null>;
};

/** One value for each limiter, in their order. */
export type Each<L extends readonly Limiter[], T> = { readonly [I in keyof L]: T };

/** Several limiters that a request must satisfy together. Made by {@link combine}. */
export interface Combined<L extends readonly Limiter[] = readonly Limiter[]> {
  /**
   * Takes tokens from every limiter, each under its key in `keys`, or from none. The default cost is that of the
   * policy's limits, which is 1 by default. A number is the cost for all limiters. A list has, for each limiter, a
   * number or the options of its `consume`.
   *
   * Answers at once when all stores are synchronous. Otherwise it returns a promise. Throws, or rejects with, a
   * TypeError or RangeError on misuse. Two keys that name one bucket are a TypeError. Nothing is taken then.
   */
  consume(keys: Each<L, Key>, costs?: number | Each<L, number | ConsumeOptions>): MaybePromise<L[number]["store"]["sync"], CombinedDecision>;
  /**
   * Returns the tokens of `decision` to all limiters, once. To refund one limiter only, pass its entry of
   * `decision.decisions` to its `refund`.
   *
   * Throws, or rejects with, a TypeError for a decision that this `consume` did not make.
   */
  refund(keys: Each<L, Key>, decision: CombinedDecision): MaybePromise<L[number]["store"]["sync"], void>;
  /**
   * Returns the decision that `consume` would make now. Takes nothing. Throws, or rejects with, a TypeError when a
   * store has no `peek`, and a store's error when it fails.
   */
  peek(keys: Each<L, Key>, costs?: number | Each<L, number | ConsumeOptions>): MaybePromise<L[number]["store"]["sync"], CombinedDecision>;
  /**
   * Deletes the buckets of every key, and their blocks. Each limiter is reset separately: see {@link Limiter.reset}.
   */
  reset(keys: Each<L, Key>): MaybePromise<L[number]["store"]["sync"], void>;
}
