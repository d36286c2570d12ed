import type { Clock } from "./clock.js";
import type { Decision } from "./decision.js";
import type { Policy } from "./policy.js";

/**
 * Where buckets live: one required method, and a few optional powers.
 *
 * A store is right when all of this holds, whatever else happens at the same time:
 *
 * 1. A bucket is named by the policy's name and the key. Both are arbitrary strings that share nothing with any other pair.
 * 2. `consume` is atomic: it decides and charges in one step that no other caller can see the inside of, and it charges
 *    every limit of the policy or none (L10).
 * 3. The decision is the core's, to the last unit (L8): same history, same numbers.
 * 4. A refusal writes nothing, at any cost, but the one settlement under new numbers (L3, L14).
 * 5. An absent bucket is a full one (L4). What is kept expires no earlier than it is full, rounded up, and never "now".
 * 6. The answer is plain data that the store never touches again (L7).
 * 7. Time is the store's own: `clock` says whose. Processes that share a store share its server's clock.
 * 8. A store that failed throws or rejects; it never makes up a decision (L11). Bad input never reaches it: the limiter has
 *    checked the cost (a whole number) and encoded the key (a non-empty string).
 *
 * A store that answers at once is a {@link SyncStore} and makes every limiter over it synchronous; any other is an
 * {@link AsyncStore}.
 */
export type Store = SyncStore | AsyncStore;

/** A store that answers at once, in this process. */
export interface SyncStore extends StoreMethods<true> {
  readonly sync: true;
}

/** A store that answers later. Its methods reject; they never throw. */
export interface AsyncStore extends StoreMethods<false> {
  readonly sync: false;
  /**
   * The refusal that `consume` is known to answer with, at once and without asking; null when it must be asked, and always
   * for what might be granted. Writes nothing, and never throws. How old the refusal may be, the store's documentation says.
   */
  recall?(policy: Policy, key: string, cost: number): Decision | null;
}

/** The port itself; `Sync` says whether answers come at once. */
export interface StoreMethods<Sync extends boolean> {
  /** The clock it reads: a function that callers can drive, or `"server"` for the clock of the machine that keeps the buckets. */
  readonly clock: Clock | "server";
  /** Takes `cost` tokens from every limit of `policy` for `key`, or none, and says so. */
  consume(policy: Policy, key: string, cost: number): Soon<Sync, Decision>;
  /** The decision that `consume` would make, with what is left now. Writes nothing. */
  peek?(policy: Policy, key: string, cost: number): Soon<Sync, Decision>;
  /**
   * Consumes several charges together: all are taken, or none. Answers one decision for each, in order; when one is refused
   * the others say what they would have answered, and nothing is taken. No two charges may name one bucket.
   */
  consumeTogether?(charges: readonly Charge[]): Soon<Sync, readonly Decision[]>;
  /** Gives `tokens` back to every limit, up to full. An absent bucket stays absent. */
  refund?(policy: Policy, key: string, tokens: number): Soon<Sync, void>;
  /**
   * Takes `tokens`, at least 1, from every limit although they may not be there: a debt. What is spent may then pass the
   * capacity, up to twice of it; what passes that is not charged. Nobody is refused, and later calls wait for it to come back.
   */
  debit?(policy: Policy, key: string, tokens: number): Soon<Sync, void>;
  /** Forgets the bucket, which makes it full. */
  reset?(policy: Policy, key: string): Soon<Sync, void>;
  /** Lets go of what the store opened itself; never of a client that it was given. */
  close?(): Promise<void>;
}

/** `T` itself from a synchronous store, a promise of it from an asynchronous one. */
export type Soon<Sync extends boolean, T> = Sync extends true ? T : Promise<T>;

/** Tokens to take from one bucket. */
export interface Charge {
  readonly policy: Policy;
  readonly key: string;
  readonly cost: number;
}
