// The states of a world of one store, and what the laws know of it.
import type { Bucket, Costs, Decision, Move, Origin, Policy } from "../../src/core/model.js";
import type { Real } from "./real.js";

/** What one work did. */
export interface Work {
  /** It has not asked, it is at work, or it is over. */
  readonly phase: "new" | "at work" | "over";
  readonly decision: Decision | null;
  /** By the clock of its process. */
  readonly since: number;
  readonly renewals: number;
  /** Whether its tokens are known to have come back by themselves. */
  readonly isDropped: boolean;
  /** Whether a give-back of others, or a reset, made its bucket full since it took its tokens. */
  readonly wasFull: boolean;
}

/** A call on its way to the store. */
export interface Message {
  readonly what: "call" | "settle" | "renew";
  readonly work: number;
  readonly version: number;
  readonly changes?: Costs;
  readonly origin?: Origin;
  readonly move?: Move;
  /** The decision that a settlement is about, and whether its bucket was made full since. */
  readonly decision?: Decision;
  readonly wasFull?: boolean;
}

/** A token in flight, by the word of the store: whose it is, and until when it was taken or renewed. */
interface HeldToken {
  /** -1 for a token of which no work knows. */
  readonly work: number;
  readonly until: number;
}

/** What happened so far, as far as the laws ask. */
interface Ledger {
  /** Of each limit and instant: tokens taken then, minus what was given back of them. */
  readonly charged: readonly (readonly number[])[];
  /** Of each instant: tokens that were put into each bucket from outside, or too many by rounding. */
  readonly filled: readonly (readonly number[])[];
  readonly held: readonly HeldToken[];
  /** Tokens that credits put in: a credit and the give-backs after it may return the same tokens. */
  readonly credited: number;
  readonly isCredited: boolean;
  readonly debited: number;
  /** How often a limit in flight may have lost what it knew: resets, losses of data, steps of the clock. */
  readonly forgotten: number;
}

export interface StoreState {
  /** The place among the instants. */
  readonly time: number;
  /** What the store's clock is behind. */
  readonly behindMs: number;
  readonly records: ReadonlyMap<string, Bucket>;
  /** The records before the last write, which a replica may still have. */
  readonly older: ReadonlyMap<string, Bucket> | null;
  readonly works: readonly Work[];
  readonly net: readonly Message[];
  readonly faults: number;
  readonly version: number;
  readonly ledger: Ledger;
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
