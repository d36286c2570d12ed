import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { Store, StoreObserver } from "../port/store.js";
import type { PlainLimiter } from "./limiter.js";

/** An event that an {@link Observer} made by {@link createObserver} reports. */
export type LimiterEvent = DecisionEvent | StoreEvent;

/** A decision of `consume`. It has no key, so its strings and numbers are safe as labels of metrics. */
export interface DecisionEvent {
  readonly type: "decision";
  /** The policy's name. */
  readonly policy: string;
  /** The result of the request. `"shadow_refused"`: it was allowed only because of `shadow: true`. */
  readonly outcome: "allowed" | "limited" | "cost_above_capacity" | "store_unavailable" | "shadow_refused";
  /** The reason of the refusal, also of one that `shadow: true` prevented. Null otherwise. */
  readonly reason: Decision["reason"];
  /** True when the store failed and the decision was made without it. */
  readonly degraded: boolean;
  /** The cost in whole tokens. */
  readonly cost: number;
  /** Whole tokens left of the limit that binds. */
  readonly remaining: number;
  /** The capacity of that limit. Infinity when the store failed and `onStoreError` is `"allow"`. */
  readonly capacity: number;
  /** The duration of the decision in milliseconds, over an asynchronous store. 0 for a remembered refusal. */
  readonly durationMs?: number | undefined;
  /** The limiter that decided. Compare it with your limiter: `event.limiter === limiter`. */
  readonly limiter: Pick<PlainLimiter, "policy" | "store">;
}

/** A store became unavailable, or available again. One event for each change, however many limiters saw it. */
export interface StoreEvent {
  readonly type: "store";
  /** The store of the observer's limiters. Compare it with your store: `event.store === store`. */
  readonly store: Store;
  readonly state: "unavailable" | "available";
  /** The last error of the store. */
  readonly error: unknown;
}

/**
 * Receives the decisions and outages of limiters. Make one with {@link createObserver}. It can serve any number of
 * limiters.
 */
export interface Observer extends StoreObserver {
  /**
   * Whether a decision would be reported. Called before each decision, because an event without a receiver is not made.
   */
  listens(): boolean;
  /** Reports a decision of `limiter` on `key`. `durationMs` is set over an asynchronous store. Must not throw. */
  decided(limiter: Pick<PlainLimiter, "policy" | "store">, decision: Decision, key: Key, durationMs?: number): void;
}
