// What limits with dates do for servers, outages, waiters and the work that holds tokens. Policies of rates load none
// of it: the values come with `renews` and `returns`.
import type { Costs, Instant, Limit, Origin, Policy } from "../core/model.js";
import type { Decision } from "../core/decision.js";
import { sinceAt } from "../core/decide.js";
import type { Key } from "../core/key.js";
import type { GuardedStore } from "./guarded-store.js";
import type { Store } from "./store.js";

/** What quotas and limits in flight need outside the core. */
export interface DatedWork {
  /** The tokens of a part of a request to Redis, and the numbers of its limits. `now` is empty for the server's. */
  tokensOf(what: string, part: DatedPart, now: string): Costs;
  /**
   * Six numbers for each limit of the parts, with which a server chooses dates by its own clock: those of
   * {@link rateNumbers} for a rate.
   *
   * Quota: the date of the tokens that are given back, or 0; the longest time until a date; the first millisecond of
   * the period before that of `now`; the last of that period, of the period of `now` and of the next one.
   *
   * Window: the date of the tokens that are given back, or 0; the time until a date; the largest number; 1 if the date
   * is known, or 0 for tokens of any date; two 0.
   *
   * In flight: the same date; minus the longest time until a date; the step of dates; the date to which tokens move, or
   * 0; how many move; `staleAfterMs`.
   */
  numbersOf(parts: readonly DatedPart[], now: number): readonly number[];
  /** What is wrong with this process's clock if a server's shows `now`. Undefined when it is right to a period. */
  clockFault(parts: readonly DatedPart[], now: number): string | undefined;
  /** The options of a MemoryStore that is made for the policy. */
  storeOptions(policy: Policy): { readonly clock: () => number } | undefined;
  /**
   * Throws for a store that does not count the limits, for limits in flight with other times, and for a window with
   * another length than a limiter with the policy `own` has charged.
   */
  checkStore(store: object, policy: Policy, own: Policy): void;
  /** Throws a TypeError for a debit or a credit of tokens in flight. `given` is what the caller wrote. */
  checkGiven(policy: Policy, tokens: Costs, given: unknown): void;
  /** A rate in place of a quota in an outage. Any other limit stays what it is. */
  evenly(limit: Limit): Pick<Limit, "capacity" | "unitsPerMs" | "unitsPerToken">;
  /** The date of a quota after so many renewals, at most 100, from a date on. */
  dateAfter(limit: Limit, date: number, renewals: number): number;
}

/** What the work that holds tokens in flight needs. */
export interface WorkHolding {
  /** Renews the tokens of an allowed decision until {@link stop}. Returns whether there are any. */
  keep(taken: TakenTokens): boolean;
  /** Makes the hold of a request, to give to {@link keep} as the life of its work. */
  newHold(): Hold;
  /** Ends the renewal of a decision's tokens. Returns when they were taken; undefined if nothing renewed them. */
  stop(decision: Decision): Origin | Promise<Origin> | undefined;
  /**
   * Calls `settle` in the background once `store` is available. Until then `settle` calls `later` again. Returns
   * whether it will. If it has to give up later, it calls `dropped`.
   */
  later(settle: (isInBackground: true) => unknown, store: object, dropped: (error: Error) => void): boolean;
  /** Gives back the tokens in flight of a decision that came too late for its caller. */
  giveBackLate(work: Omit<HeldWork, "guarded">): void;
}

/** The tokens that a decision took in flight, or the fallback in place of the store. */
export interface TakenTokens extends Pick<HeldWork, "decision" | "policy" | "life"> {
  readonly store: Store;
  readonly guarded: GuardedStore;
  readonly key: Key;
}

/** Says whether tokens may be renewed now, and hears that they have come back. */
interface Life {
  isWanted(staleAfterMs: number): boolean;
  lapsed(): void;
}

/** Until when the work of a request holds its tokens in flight. Requests without such tokens have none. */
export interface Hold extends Life {
  /** Ends the work of a response whose body no reader has begun to read. Null if there is no such body. */
  unread: (() => void) | null;
  /** The work goes on until `handler` settles. */
  until(handler: Promise<unknown>): void;
  /** The client has left. From now on the tokens wait for the handler for at most four times `staleAfterMs`. */
  leave(): void;
  /**
   * Resolves when the handler is done, or the tokens have come back by themselves. Returns undefined if there is
   * nothing to wait for.
   */
  handlerDone(hasLeft: boolean): Promise<void> | undefined;
}

/** Work that holds tokens in flight. */
export interface HeldWork {
  /** Where the tokens were taken: the limiter's store, or the one that decided in its place. */
  readonly store: Store;
  readonly policy: Policy;
  /** The encoded key. */
  readonly key: string;
  readonly decision: Decision;
  readonly life?: Life | undefined;
  /** Makes the calls that the library makes by itself. Null for a store that decided in place of the limiter's. */
  readonly guarded: GuardedStore | null;
}

/** A part of a request to a server. */
export interface DatedPart {
  readonly policy: Policy;
  readonly tokens: Costs;
  /** When the tokens that are given back were taken. */
  readonly from?: Instant;
  /** Tokens in flight to move to the date of `to`. */
  readonly moved?: Costs | undefined;
  readonly to?: number | undefined;
}

/** Undefined for a policy of rates alone. */
export const datedWorkOf = ({ dated }: Pick<Policy, "dated">): DatedWork | undefined => dated?.work as DatedWork | undefined;

/** Undefined for a policy without a limit in flight. */
export const holdingOf = ({ inFlight }: Policy): WorkHolding | undefined =>
  inFlight?.returns.dating.holding as WorkHolding | undefined;

/** The six numbers of a rate: the instant since which a give-back is late, 0, 1 if it is known, three 0. */
export function rateNumbers({ from }: DatedPart, position: number): readonly number[] {
  const since = sinceAt(from, position);
  return since === undefined ? [0, 0, 0, 0, 0, 0] : [since, 0, 1, 0, 0, 0];
}

