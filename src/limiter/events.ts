import type { Decision } from "../core/decision.js";
import type { Limiter } from "./limiter.js";

/** What an {@link Observer} made by {@link createObserver} reports. */
export type LimiterEvent = DecisionEvent | StoreEvent;

/** A decision of `consume`. Does not name the key. */
export interface DecisionEvent {
  readonly type: "decision";
  /** The policy's name. */
  readonly policy: string;
  /** What happened to the request; `"shadow_refused"` when it was allowed only because of `shadow: true`. */
  readonly outcome: "allowed" | "limited" | "cost_above_capacity" | "store_unavailable" | "shadow_refused";
  /** Why it was refused, or would have been refused without `shadow: true`; null otherwise. */
  readonly reason: Decision["reason"];
  /** True when the store failed and the decision was made without it. */
  readonly degraded: boolean;
  /** The cost in whole tokens. */
  readonly cost: number;
  /** Milliseconds that the decision took, over an asynchronous store; 0 for a remembered refusal. */
  readonly durationMs?: number | undefined;
  /** The limiter that decided. */
  readonly limiter: Limiter;
}

/** The store became unavailable, or available again: one event for each change, however many requests saw it. */
export interface StoreEvent {
  readonly type: "store";
  /** The name of the limiter's policy. */
  readonly policy: string;
  readonly state: "unavailable" | "available";
  /** The store's last failure. */
  readonly error: unknown;
  /** The limiter that noticed. */
  readonly limiter: Limiter;
}

/** Sees what limiters do. {@link createObserver} makes one, which serves any number of limiters. */
export interface Observer {
  /** Whether a decision would be reported. Asked before each decision: an event that nothing receives is not made. */
  listens(): boolean;
  /** `limiter` made a decision. `durationMs` is there over an asynchronous store. Must not throw. */
  decided(limiter: Limiter, decision: Decision, durationMs?: number): void;
  /** The store of `limiter` changed between available and unavailable. Must not throw. */
  storeChanged(limiter: Limiter, state: StoreEvent["state"], error: unknown): void;
}
