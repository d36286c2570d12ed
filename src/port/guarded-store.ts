import type { Clock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import type { Costs } from "../core/limit.js";
import type { Policy } from "../core/policy.js";
import type { StoreAnswer, StoreCall } from "../core/records.js";
import type { OnStoreError } from "./guard-options.js";
import { callOf, type Guard, type Store, type StoreObserver, type SyncStore } from "./store.js";

/** The inside of a {@link Guard}. */
export interface OpenGuard extends Guard {
  /** Returns what a limiter asks in the place of `store`. Each limiter calls it once. */
  protect(store: Store, limiter: GuardSetup): GuardedStore;
}

/** The inside of a guard that `guard` of `sluice/store` made. Undefined for anything else. */
export function openGuard(guard: Guard | undefined): OpenGuard | undefined {
  return typeof (guard as Partial<OpenGuard> | undefined)?.protect === "function" ? (guard as OpenGuard) : undefined;
}

/** What a {@link Guard} needs to know of a limiter. */
export interface GuardSetup {
  /** What the limiter's callers see when the store fails. */
  readonly onStoreError: OnStoreError;
  /** The limiter's own policy. Warnings name the first one of a store. */
  readonly policy: Policy;
  /** Told once of each outage and of its end, however many limiters it serves. Null when the limiter has none. */
  readonly observer: StoreObserver | null;
  /** Makes the memory store that decides while the store is unavailable. */
  readonly makeLocal: (clock: Clock) => SyncStore;
}

/** A store with its guard: it decides even if the store fails. */
export interface GuardedStore {
  /** The longest time in milliseconds that one call may take. */
  readonly timeoutMs: number;
  /**
   * The store's decision, or the one made in its place, marked as charged if it was allowed. At once from a synchronous
   * store, and for a refusal that the store recalls. Fails only for misuse, such as a clock that is not finite.
   */
  consume(policy: Policy, key: string, costs: Costs): Decision | Promise<Decision>;
  /** Asks the store, within the timeout and unless the circuit breaker is open. Fails as the store does. */
  ask(call: StoreCall, options?: AskOptions): readonly StoreAnswer[] | Promise<readonly StoreAnswer[]>;
  /** The decision in place of the store that failed with `error`, marked as charged if it was allowed. */
  decideWithout(policy: Policy, key: string, costs: Costs, error: unknown): Decision;
  /** Takes what the store granted from the local share, too, if its caller has used a part of it. */
  granted(policy: Policy, key: string, costs: Costs, decision: Decision): void;
  /** What `decideWithout` or `granted` took in this process for `decision`; null if they took nothing. */
  localChargeOf(decision: Decision): LocalCharge | null;
  /** The present instant of the store's clock, or a little later; NaN while a server's time is unknown. */
  now(): number;
}

/** How a {@link GuardedStore} asks. */
export interface AskOptions {
  /** The library makes the call by itself, such as a renewal: its failure opens no circuit. */
  readonly inBackground?: boolean | undefined;
  /** Runs when the circuit breaker is open: only then is it certain that the store did nothing. */
  readonly notAsked?: (() => void) | undefined;
  /** Receives answers that came after the timeout. */
  readonly late?: ((answers: readonly StoreAnswer[]) => void) | undefined;
}

/** The decision of the store's `peek`. */
export function peekGuarded(guarded: GuardedStore, policy: Policy, key: string, costs: Costs): Decision | Promise<Decision> {
  const answers = guarded.ask(callOf("peek", policy, key, costs));
  return answers instanceof Promise ? answers.then(([made]) => made as Decision) : (answers[0] as Decision);
}

/** Tokens that were taken in this process. */
export interface LocalCharge {
  readonly store: SyncStore;
  /** The local share of the limiter's policy that they were taken from. */
  readonly policy: Policy;
  /** Its readings have the tokens that were taken. */
  readonly decision: Decision;
}
