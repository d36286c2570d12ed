// The states of a world of one store, and what the laws know of it.
import type { Bucket, Costs, Move, Origin, Policy } from "../../src/core/model.js";
import type { Decision } from "../../src/core/decision.js";
import type { PolicyOptions } from "../../src/core/policy.js";
import type { Real } from "./real.js";

/** What can happen in a world beside calls, settlements and the passing of time. */
export type Happening =
  | "renewals" | "crashes" | "lost calls" | "lost answers" | "calls sent again" | "late calls" | "settled twice"
  | "debits" | "credits" | "blocks" | "resets" | "new numbers" | "steps back" | "lost writes";

/** A small world. */
export interface StoreWorld {
  readonly name: string;
  /** The policy, and other versions of it. */
  policies(real: Real): readonly PolicyOptions[];
  /** What a call takes of each limit. Default: 1. */
  readonly cost?: Costs;
  /** What a work may turn out to have cost, in the limits that are no limits in flight. Default: 0 and `cost`. */
  readonly used?: readonly Costs[];
  readonly works: number;
  /** The instants of the world. */
  readonly instants: readonly number[];
  readonly happens: readonly Happening[];
  /** The most faults in one history: crashes, losses, delays, repeats, steps of the clock, resets. Default: 2. */
  readonly faults?: number;
  /** By how much the store's clock steps back. Default: 5,000. */
  readonly stepBackMs?: number;
}

/** What one work did. */
export interface Work {
  /** It has not asked, it is at work, or it is over. */
  readonly phase: "new" | "at work" | "over";
  readonly decision: Decision | null;
  readonly claim: Claim | null;
  /** By the clock of its process. */
  readonly since: number;
  readonly renewals: number;
  /** Whether its tokens are known to have come back by themselves. */
  readonly isDropped: boolean;
}

/** What a grant may still get back, by the account of the laws. Each list has one number for each limit. */
export interface Claim {
  /** The version of the policy that granted. */
  readonly version: number;
  /** The instant of the store's clock. */
  readonly at: number;
  /** The moment of a rate, or the period of a quota, in which its tokens count. */
  readonly places: readonly number[];
  /** Units that were spent when it had taken its own. */
  readonly spent: readonly number[];
}

/** A call on its way to the store. */
export interface Message {
  readonly what: "call" | "settle" | "renew";
  readonly work: number;
  readonly version: number;
  readonly changes?: Costs;
  readonly origin?: Origin;
  readonly move?: Move;
  /** What a settlement is about, the tokens that were not used, and when it was made, by the store's clock. */
  readonly claim?: Claim;
  readonly unused?: readonly number[];
  readonly madeAt?: number;
}

/** A token in flight, by the word of the store: whose it is, and until when it was taken or renewed. */
interface HeldToken {
  /** -1 for a token of which no work knows. */
  readonly work: number;
  readonly until: number;
}

/** A call that changed the store's records, or an event that no call makes. */
export interface StoreCall {
  readonly before: StoreCall | null;
  readonly what: "consume" | "adjust" | "renew" | "block" | "reset" | "no call";
  readonly now: number;
  readonly version: number;
  readonly tokens?: Costs;
  readonly origin?: Origin | undefined;
  readonly move?: Move;
  readonly forMs?: number;
}

/** What happened so far, as far as the laws ask. The lists have an account for each limit. */
interface Ledger {
  /** When each moment began: with an instant, or after an event that filled a bucket from outside. */
  readonly moments: readonly number[];
  /** Tokens taken, minus what was given back of them, by the place of their {@link Claim}. */
  readonly charged: readonly Account[];
  /** Tokens that credits, resets and losses of data put in, by moment or period. */
  readonly filled: readonly Account[];
  /** Tokens that works gave back which were under way at a moment, since it began. */
  readonly returned: readonly Account[];
  readonly held: readonly HeldToken[];
  readonly isCredited: boolean;
  readonly isDebited: boolean;
  /** How often a limit in flight may have lost what it knew: resets, losses of data, steps of the clock. */
  readonly forgotten: number;
}

/** Tokens by moment or period. */
export type Account = ReadonlyMap<number, number>;

export interface StoreState {
  /** The place among the instants. */
  readonly time: number;
  /** What the store's clock is behind. */
  readonly behindMs: number;
  readonly stepsBack: number;
  readonly records: ReadonlyMap<string, Bucket>;
  /** The records before the last write, which a replica may still have. */
  readonly older: ReadonlyMap<string, Bucket> | null;
  readonly works: readonly Work[];
  readonly net: readonly Message[];
  readonly faults: number;
  readonly version: number;
  readonly ledger: Ledger;
  /** The last call of the history. It is no part of the state's name. */
  readonly calls: StoreCall | null;
}

/** What the laws know of a world. */
export interface WorldFacts {
  readonly real: Real;
  readonly policies: readonly Policy[];
  readonly cost: Costs;
  readonly instants: readonly number[];
}

/** The tokens of `costs` for the limit at a place. */
export const at = (costs: Costs, place: number): number => (typeof costs === "number" ? costs : (costs[place] as number));

/** An account with more tokens at a place. */
export function plus(account: Account, place: number, tokens: number): Account {
  return tokens === 0 ? account : new Map(account).set(place, (account.get(place) ?? 0) + tokens);
}

/** A work that has not asked. */
export const NEW: Work = { phase: "new", decision: null, since: 0, renewals: 0, isDropped: false, claim: null };

/** The state in which a work is another. What a work that is over knew says nothing more. */
export function withWork(state: StoreState, i: number, change: Partial<Work>): StoreState {
  const next = change.phase === "over" ? { ...NEW, phase: "over" as const } : { ...(state.works[i] as Work), ...change };
  return { ...state, works: state.works.map((work, place) => (place === i ? next : work)) };
}

/** A text for records. */
export const textOf = (records: ReadonlyMap<string, Bucket>): string =>
  [...records].map(([name, { spent, at: instant, unitsPerMs, dates }]) => `${name}:${spent},${instant},${unitsPerMs},${dates ?? ""}`).sort().join(";");
/** A text for what a work knows of a decision. */
export const decisionText = ({ at: instant, limits, resetMs }: Decision): string => `${instant}:${limits === null ? resetMs : limits.map((reading) => reading.resetMs)}`;
