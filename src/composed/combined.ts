import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { MaybePromise } from "../port/store.js";
import type { ConsumeOptions } from "../limiter/arguments.js";
import type { Limiter } from "../limiter/limiter.js";

/**
 * The decision of several limiters together. Its own numbers are those of the limiter that binds: the longest wait, or,
 * when allowed, the fewest requests of this cost left.
 */
export type CombinedDecision = Decision & {
  /** The position of the limiter that refused, the one with the longest wait if several did; null when all allowed. */
  readonly refusedBy: number | null;
  /**
   * What each limiter says by itself, in order. When one refuses, nothing is taken, also where another allows: its
   * numbers are then those of `peek`. Null where a limiter did not refuse and its store has no `peek`, and where it was
   * not asked because another store failed.
   */
  readonly decisions: ReadonlyArray<Decision | null>;
};

/** A value for each of the limiters, in their order. */
export type Each<L extends readonly Limiter[], T> = { readonly [I in keyof L]: T };

/** Several limiters that a request must satisfy together. Made by {@link combine}. */
export interface Combined<L extends readonly Limiter[] = readonly Limiter[]> {
  /**
   * Takes tokens from every limiter, each for its own key, or from none. Each limiter charges what its policy's limits
   * cost, 1 by default. One number changes it for all; a list gives each its own number, or the options of its
   * `consume`.
   *
   * Answers at once when all stores are synchronous, with a promise otherwise. Throws, or rejects with, a TypeError or
   * RangeError on misuse, and a TypeError when two keys name one bucket; nothing is taken then.
   */
  consume(keys: Each<L, Key>, costs?: number | Each<L, number | ConsumeOptions>): MaybePromise<L[number]["store"]["sync"], CombinedDecision>;
  /**
   * Gives back what `decision` took from all of them, once. To give back one part alone, pass one of
   * `decision.decisions` to `refund` of its limiter.
   *
   * Throws, or rejects with, a TypeError for a decision that this `consume` did not make.
   */
  refund(keys: Each<L, Key>, decision: CombinedDecision): MaybePromise<L[number]["store"]["sync"], void>;
  /**
   * The decision that `consume` would make, with what is left now. Takes nothing. Throws, or rejects with, a TypeError
   * when a store has no `peek`, and what a store fails with.
   */
  peek(keys: Each<L, Key>, costs?: number | Each<L, number | ConsumeOptions>): MaybePromise<L[number]["store"]["sync"], CombinedDecision>;
  /** Forgets what every key has spent, and blocks. Each limiter by itself: see {@link Limiter.reset}. */
  reset(keys: Each<L, Key>): MaybePromise<L[number]["store"]["sync"], void>;
}
