import type { Decision } from "../core/decision.js";
import type { Policy } from "../core/policy.js";
import type { Limiter } from "./limiter.js";
import { show } from "../core/check.js";
import { builtin } from "../diagnostics/platform.js";
import { warnOnce } from "../diagnostics/warnings.js";

/** What a limiter reports: to `observe`, and on the channels of `node:diagnostics_channel` named `sluice:decision` and `sluice:store`. */
export type LimiterEvent = DecisionEvent | StoreEvent;

/** One decision, of `consume` alone. Who was decided about is not told. */
export interface DecisionEvent {
  readonly type: "decision";
  /** The policy's name. */
  readonly policy: string;
  /** What became of the request; `"shadow_refused"` when only `shadow: true` let it through. */
  readonly outcome: "allowed" | "limited" | "cost_above_capacity" | "store_unavailable" | "shadow_refused";
  /** Why it was refused, or would have been but for `shadow: true`; null when it was not. */
  readonly reason: Decision["reason"];
  /** True when the store failed and something else decided. */
  readonly degraded: boolean;
  /** Whole tokens that were asked for. */
  readonly cost: number;
  /** Milliseconds that the decision took, with an asynchronous store; 0 for a denial that was remembered. */
  readonly durationMs?: number;
  /** Which limiter decided. */
  readonly limiter: Limiter;
}

/** A store that is gone, or back: once for each change, however many requests saw it. */
export interface StoreEvent {
  readonly type: "store";
  /** The name of the limiter's policy. */
  readonly policy: string;
  readonly state: "unavailable" | "available";
  /** What the store failed with last. */
  readonly error: unknown;
  /** Which limiter noticed. */
  readonly limiter: Limiter;
}

/** Reports what a limiter does, to whoever listens. */
export interface Reporter {
  /** Whether anybody listens to decisions. To be asked first: nothing is made for nobody. */
  listens(): boolean;
  decided(decision: Decision, durationMs?: number): void;
  storeChanged(state: "unavailable" | "available", error: unknown): void;
}

/** Makes a reporter. `limiterOf` is asked when the first event is made. */
export function createReporter(observe: ((event: LimiterEvent) => void) | undefined, policy: Policy, limiterOf: () => Limiter): Reporter {
  const decisions = channel("sluice:decision");
  const stores = channel("sluice:store");

  return {
    listens: () => observe !== undefined || decisions?.hasSubscribers === true,
    decided(decision, durationMs) {
      const reason = (decision.allowed ? decision.shadow : decision)?.reason ?? null;
      const outcome = decision.allowed ? (reason === null ? "allowed" : "shadow_refused") : decision.reason;
      const { policy: name, degraded, cost } = decision;
      const event = { type: "decision", policy: name, outcome, reason, degraded, cost, limiter: limiterOf() } as const;
      tell(durationMs === undefined ? event : { ...event, durationMs }, decisions);
    },
    storeChanged(state, error) {
      if (observe === undefined && stores?.hasSubscribers !== true) return;
      tell({ type: "store", policy: policy.name, state, error, limiter: limiterOf() }, stores);
    },
  };

  function tell(event: LimiterEvent, to: Channel | undefined): void {
    if (to?.hasSubscribers === true) to.publish(event);
    try {
      const returned = observe?.(event) as PromiseLike<unknown> | null | undefined;
      // From an asynchronous function, whose rejection would be nobody's and end the process.
      if (typeof returned?.then === "function") returned.then(undefined, observerFailed);
    } catch (error) {
      observerFailed(error);
    }
  }
}

function observerFailed(error: unknown): void {
  const cause = error instanceof Error ? (error.stack ?? error.message) : show(error);
  warnOnce("SLUICE_OBSERVER_FAILED", "A limiter's `observe` threw; what it throws is dropped, now and from here on", cause);
}

interface Channel {
  readonly hasSubscribers: boolean;
  publish(event: LimiterEvent): void;
}

function channel(name: string): Channel | undefined {
  return builtin<{ channel(name: string): Channel }>("node:diagnostics_channel")?.channel(name);
}
