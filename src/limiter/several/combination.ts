import type { Decision, Reading } from "../../core/decision.js";
import type { Unlimited } from "../unlimited.js";
import type { Limiter } from "../limiter.js";

/** Any limiter. */
export type AnyLimiter = Limiter<never, Decision>;

/** The members of a combination, by names of your choice. */
export type Members = Readonly<Record<string, AnyLimiter>>;

/** The type of a limiter's keys. */
type KeyOf<L extends AnyLimiter> = Parameters<L["reset"]>[0];

/** The type of a limiter's decisions. */
type DecisionOf<L extends AnyLimiter> = L["peek"] extends (...args: never) => infer Returned ? Awaited<Returned> : never;

/** Whether all verbs of a combination answer at once. */
// Read from what a verb returns, because TypeScript infers no argument from within `MaybePromise`.
export type SyncOf<M extends Members> = true extends {
  [Name in keyof M]: [ReturnType<M[Name]["settle"]>] extends [Promise<boolean>] ? true : false;
}[keyof M]
  ? false
  : [Extract<ReturnType<M[keyof M]["settle"]>, Promise<unknown>>] extends [never]
    ? true
    : boolean;

/** The keys of a combination: one for each member. `unlimited` leaves out a member. */
export type KeysOf<M extends Members> = { readonly [Name in keyof M]: KeyOf<M[Name]> | Unlimited };

/**
 * The decision of several limiters together. Its numbers are those of the limit that binds: the longest refusing wait,
 * or, when allowed, the fewest requests of this cost left.
 */
export type CombinedDecision<M extends Members = Members> = Decision & {
  /**
   * The decision of each member, by its name. When one refuses, nothing is taken. The numbers of those that would allow
   * are then those of `peek`. Null for a member that was left out, and for one that was not asked.
   */
  readonly decisions: { readonly [Name in keyof M]: DecisionOf<M[Name]> | null };
  /** The readings of all limits of all members that were asked. */
  readonly limits: readonly Reading[];
};
