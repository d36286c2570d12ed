// What limits with dates do for servers, outages, waiters and the work that holds tokens. Policies of rates load none
// of it: the values come with `renews` and `returns`.
import type { Costs, Instant, Limit, Origin, Policy } from "../core/model.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { GuardedStore } from "./guarded-store.js";
import type { LimitKind, Store } from "./store.js";

/** What quotas and limits in flight need outside the core. */
export interface DateRules {
  /** With what a server dates the tokens of the limit at `position`. Undefined for a rate. */
  datesOf(part: RequestPart, position: number, now: number): LimitDates | undefined;
  /** What is wrong with this process's clock if a server's shows `now`. Undefined when it is right to a period. */
  clockFault(parts: readonly RequestPart[], now: number): string | undefined;
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
export interface HoldRules {
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
export interface RequestPart {
  readonly policy: Policy;
  readonly tokens: Costs;
  /** When the tokens that are given back were taken. */
  readonly from?: Instant;
  /** Tokens in flight to move to the date of `to`. */
  readonly moved?: Costs | undefined;
  readonly to?: number | undefined;
}

/** With what a server dates the tokens of a limit by its own clock. SQL and Lua have the same names. */
export interface LimitDates extends Partial<QuotaDates> {
  readonly kind: LimitKind;
  /** The longest time until a date. Absent for a rate. */
  readonly fullMs?: number;
  /** Rate: the instant since which what is given back has refilled. Absent if it is unknown. */
  readonly since?: number | undefined;
  /** The date of the tokens that are given back. Absent for tokens of any date, and of none for a limit in flight. */
  readonly backTo?: number | undefined;
  /** In flight: each date is 1 before a multiple of it. */
  readonly step?: number;
  /** In flight: how many tokens move from the date `backTo` to this one. Absent if none do. */
  readonly moved?: number;
  readonly movedTo?: number;
}

/** The dates of a quota around an instant. The server's clock may be in another period than that of this process. */
export interface QuotaDates {
  /** The first millisecond of the period before. */
  readonly dueFrom: number;
  /** The last millisecond of that period, of the present one and of the next. */
  readonly dueBefore: number;
  readonly due: number;
  readonly dueAfter: number;
}

/** Undefined for a policy of rates alone. */
export const dateRulesOf = ({ kindCode }: Pick<Policy, "kindCode">): DateRules | undefined =>
  kindCode?.dateRules as DateRules | undefined;

/** Undefined for a policy without a limit in flight. */
export const holdRulesOf = ({ inFlight }: Policy): HoldRules | undefined =>
  inFlight?.returns.kindCode.holdRules as HoldRules | undefined;
