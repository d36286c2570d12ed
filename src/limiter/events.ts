import type { Decision } from "../core/decision.js";
import type { Policy } from "../core/policy.js";
import type { Limiter } from "./limiter.js";
import { show } from "../core/check.js";
import { builtin } from "../diagnostics/platform.js";
import { warnOnce } from "../diagnostics/warnings.js";

/** What a limiter reports to `observe`, and on the channels `sluice:decision` and `sluice:store` of `node:diagnostics_channel`. */
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

/** Reports what a limiter does to its observer and to diagnostics channels. */
export interface Reporter {
  /** Whether a decision would be reported. Ask first: an event that no observer sees is not made. */
  listens(type?: LimiterEvent["type"]): boolean;
  decided(decision: Decision, durationMs?: number): void;
  storeChanged(state: StoreEvent["state"], error: unknown): void;
}

/** Makes a reporter. `limiterOf` is called when an event is made. */
export function createReporter(observe: ((event: LimiterEvent) => void) | undefined, policy: Policy, limiterOf: () => Limiter): Reporter {
  const channels = { decision: channelOf("decision"), store: channelOf("store") };
  const listens = (type: LimiterEvent["type"] = "decision"): boolean => observe !== undefined || channels[type]?.hasSubscribers === true;

  return {
    listens,
    decided(decision: Decision & { readonly shadow?: Decision }, durationMs) {
      const { shadow, policy: name, degraded, cost } = decision;
      const reason = shadow?.reason ?? decision.reason;
      const outcome = shadow !== undefined ? "shadow_refused" : (reason ?? "allowed");
      const event = { type: "decision", policy: name, outcome, reason, degraded, cost, limiter: limiterOf() } as const;
      emit(durationMs === undefined ? event : { ...event, durationMs });
    },
    storeChanged(state, error) {
      if (listens("store")) emit({ type: "store", policy: policy.name, state, error, limiter: limiterOf() });
    },
  };

  function emit(event: LimiterEvent): void {
    const channel = channels[event.type];
    if (channel?.hasSubscribers === true) channel.publish(event);
    try {
      const returned = observe?.(event) as PromiseLike<unknown> | null | undefined;
      // An asynchronous observer: an unhandled rejection would end the process.
      if (typeof returned?.then === "function") returned.then(undefined, observerFailed);
    } catch (error) {
      observerFailed(error);
    }
  }
}

function observerFailed(error: unknown): void {
  const cause = error instanceof Error ? (error.stack ?? error.message) : show(error);
  warnOnce("SLUICE_OBSERVER_FAILED", "A limiter's `observe` threw. This error and all later ones are dropped", cause);
}

interface Channel {
  readonly hasSubscribers: boolean;
  publish(event: LimiterEvent): void;
}

function channelOf(type: LimiterEvent["type"]): Channel | undefined {
  return builtin<{ channel(name: string): Channel }>("node:diagnostics_channel")?.channel(`sluice:${type}`);
}
