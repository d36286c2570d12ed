import type { Decision } from "../core/decision.js";
import type { Limiter } from "./limiter.js";

/** An event that an {@link Observer} made by {@link createObserver} reports. */
export type LimiterEvent = DecisionEvent | StoreEvent;

/** A decision of `consume`. It does not contain the key. */
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
  /** The duration of the decision in milliseconds, over an asynchronous store. 0 for a remembered refusal. */
  readonly durationMs?: number | undefined;
  /** The limiter that decided. */
  readonly limiter: Limiter;
}

/** The store became unavailable, or available again. Each change is one event, however many requests saw it. */
export interface StoreEvent {
  readonly type: "store";
  /** The name of the limiter's policy. */
  readonly policy: string;
  readonly state: "unavailable" | "available";
  /** The last error of the store. */
  readonly error: unknown;
  /** The limiter that noticed the change. */
  readonly limiter: Limiter;
}

/**
 * Receives the decisions and outages of limiters. Make one with {@link createObserver}. It can serve any number of
 * limiters.
 */
export interface Observer {
  /**
   * Whether a decision would be reported. Called before each decision, because an event without a receiver is not made.
   */
  listens(): boolean;
  /** Reports a decision of `limiter`. `durationMs` is set over an asynchronous store. Must not throw. */
  decided(limiter: Limiter, decision: Decision, durationMs?: number): void;
  /** Reports that the store of `limiter` changed between available and unavailable. Must not throw. */
  storeChanged(limiter: Limiter, state: StoreEvent["state"], error: unknown): void;
}
