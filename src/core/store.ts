import type { Clock } from "./clock.js";
import type { Decision } from "./decision.js";
import type { FailureSettings } from "./failure-options.js";
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
 * {@link AsyncStore}. A store that can fail carries a {@link Guard}: `readonly guard = guard`, from `sluice/store`.
 */
export type Store = SyncStore | AsyncStore;

/** A store that answers at once, in this process. */
export interface SyncStore extends StoreMethods<true> {
  readonly sync: true;
  /** Only for a store that can fail, such as one in a file. What a store without a guard throws reaches the caller. */
  readonly guard?: Guard | undefined;
}

/** A store that answers later. Its methods reject; they never throw. */
export interface AsyncStore extends StoreMethods<false> {
  readonly sync: false;
  /** Timeout, circuit breaker and fallback: `guard` of `sluice/store`. */
  readonly guard: Guard;
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
  consume(policy: Policy, key: string, cost: number): MaybePromise<Sync, Decision>;
  /** The decision that `consume` would make, with what is left now. Writes nothing. */
  peek?(policy: Policy, key: string, cost: number): MaybePromise<Sync, Decision>;
  /**
   * Consumes several charges together: all are taken, or none. Answers one decision for each, in order; when one is refused
   * the others say what they would have answered, and nothing is taken. No two charges may name one bucket.
   */
  consumeTogether?(charges: readonly Charge[]): MaybePromise<Sync, readonly Decision[]>;
  /** Gives `tokens` back to every limit, up to full. An absent bucket stays absent. */
  refund?(policy: Policy, key: string, tokens: number): MaybePromise<Sync, void>;
  /**
   * Takes `tokens`, at least 1, from every limit although they may not be there: a debt. What is spent may then pass the
   * capacity, up to twice of it; what passes that is not charged. Nobody is refused, and later calls wait for it to come back.
   */
  debit?(policy: Policy, key: string, tokens: number): MaybePromise<Sync, void>;
  /** Forgets the bucket, which makes it full. */
  reset?(policy: Policy, key: string): MaybePromise<Sync, void>;
  /** Lets go of what the store opened itself; never of a client that it was given. */
  close?(): Promise<void>;
}

/** `T` itself from a synchronous store, a promise of it from an asynchronous one, either when the type does not say which. */
export type MaybePromise<Sync extends boolean, T> = Sync extends true ? T : Promise<T>;

/** Tokens to take from one bucket. */
export interface Charge {
  readonly policy: Policy;
  readonly key: string;
  readonly cost: number;
}

/** Makes what a limiter asks instead of a store that can fail. A store carries it; each limiter over the store calls it once. */
export type Guard = (store: Store, setup: GuardSetup) => GuardedStore;

/** What a limiter hands to a {@link Guard}. */
export interface GuardSetup {
  /** The limiter's failure options. */
  readonly failure: FailureSettings;
  /** The clock of decisions that are made without the store. */
  readonly clock: Clock;
  /** Makes the memory store that decides while the store is unavailable. */
  readonly makeLocal: (clock: Clock) => SyncStore;
  /** Told once when the store becomes unavailable, and once when it is available again. */
  readonly onChange: (state: "unavailable" | "available", error: unknown) => void;
}

/** A store with its guard: it decides whatever the store does. */
export interface GuardedStore {
  /** The longest time in milliseconds that one call may take. */
  readonly timeoutMs: number;
  /**
   * The store's decision, or the one made in its place. At once from a synchronous store, and for a refusal that the store
   * recalls. Fails only for misuse, such as a clock that is not finite.
   */
  consume(policy: Policy, key: string, cost: number): Decision | Promise<Decision>;
  /** Runs another call to the store, within the timeout and unless the circuit breaker is open. Fails as the store does. */
  call<T>(send: () => T | Promise<T>): T | Promise<T>;
  /** The decision in place of the store that failed with `error`. */
  decideWithout(policy: Policy, key: string, cost: number, error: unknown): Decision;
  /** Where `decideWithout` took the tokens of `decision`; null for any other decision. */
  localChargeOf(decision: Decision): LocalCharge | null;
  /** Gives back what `decideWithout` took, as far as it has not refilled. Nothing for any other decision: what it took is unknown. */
  refundLocally(decision: Decision, key: string): void;
  /** Learns the store's time from a decision whose call was sent at `sentAt` of the monotonic clock. */
  learnTime(decision: Decision, sentAt: number): void;
  /** Milliseconds since the store made `decision`, or a little more; NaN while a server's time is unknown. */
  ageOf(decision: Decision): number;
}

/** Tokens that were taken in this process in the store's place. */
export interface LocalCharge {
  readonly store: SyncStore;
  /** The share of the limiter's policy that they were taken from. */
  readonly policy: Policy;
}
