import { expected } from "../core/check.js";
import { shownKey, type Key } from "../core/key.js";
import { builtin } from "../platform.js";
import { textOf, warnOnce } from "../warnings/warnings.js";
import type { Decision } from "../core/decision.js";
import { overloadOf } from "../port/overload.js";
import type { Store, StoreObserver } from "../port/store.js";
import type { PlainLimiter } from "./limiter.js";

/** An event that an {@link Observer} made by {@link createObserver} reports. */
export type LimiterEvent = DecisionEvent | StoreEvent | SettlementEvent;

/** A decision of `consume`. It has no key, so its strings and numbers are safe as labels of metrics. */
export interface DecisionEvent {
  readonly type: "decision";
  /** The policy's name. */
  readonly policy: string;
  /**
   * The result of the request. `"shadow_refused"`: it was allowed only because of `shadow: true`. `"overloaded"`: a
   * limit of the whole service refused it, with the reason `"limited"`.
   */
  readonly outcome: "allowed" | "limited" | "overloaded" | "cost_above_capacity" | "store_unavailable" | "shadow_refused";
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
 * A settlement or refund failed, or may have been lost. The limiter does not make it again. It has no key.
 */
export interface SettlementEvent {
  readonly type: "settlement";
  /** The name of the policy that was charged. */
  readonly policy: string;
  /** For each limit by its name, the tokens that it was to take, or below 0 to give back. */
  readonly changes: Readonly<Record<string, number>>;
  /** Why it failed. After any error but `"ERR_STORE_OPEN"` the store may have made it. */
  readonly error: unknown;
  /** The limiter that was settled. Compare it with your limiter: `event.limiter === limiter`. */
  readonly limiter: Pick<PlainLimiter, "policy" | "store">;
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
  /**
   * Reports a settlement of `limiter` on `key` that failed with `error`. `policy` is the name of the one that was
   * charged. Must not throw.
   */
  settlementFailed?(
    limiter: Pick<PlainLimiter, "policy" | "store">, policy: string, changes: SettlementEvent["changes"], error: unknown,
    key: Key,
  ): void;
}

/**
 * Makes an observer for the option `observe`. It reports decisions, outages and settlements that failed to `listener`,
 * and on the channels `sluice:decision`, `sluice:store` and `sluice:settlement` of `node:diagnostics_channel`. Without
 * a listener it uses the channels only.
 *
 * An event never contains a key, and channels publish events alone. The listener gets the key of a decision or a
 * settlement as an argument of its own; null for a caller that is not identified, and for an outage. Decisions do not
 * wait for the listener. When the listener throws or rejects, the error is dropped with one warning,
 * `SLUICE_FUNCTION_FAILED`. Throws a TypeError for a listener that is not a function.
 * @example
 * const observe = createObserver((event) => event.type === "store" && console.log(event.state, event.error));
 * const limiter = createLimiter({ policy: { capacity: 30, refill: perSecond(5) }, observe });
 */
export function createObserver(listener?: (event: LimiterEvent, key: Key | null) => void): Observer {
  if (listener !== undefined && typeof listener !== "function") throw new TypeError(expected("listener", "a function", listener));
  const channels = { decision: channelOf("decision"), store: channelOf("store"), settlement: channelOf("settlement") };
  const listens = (type: LimiterEvent["type"]): boolean => listener !== undefined || channels[type]?.hasSubscribers === true;

  return {
    listens: () => listens("decision"),
    decided(limiter, decision, key, durationMs) {
      const { policy, cost, remaining, capacity, degraded } = decision;
      const refusal = !decision.allowed ? decision : Object.hasOwn(decision, "shadow") ? decision.shadow : undefined;
      const reason = refusal?.reason ?? null;
      const refused = reason === "limited" && overloadOf(limiter) ? "overloaded" : reason;
      const outcome = refused === null ? "allowed" : decision.allowed ? "shadow_refused" : refused;
      const event = { type: "decision", policy, outcome, reason, degraded, cost, remaining, capacity, limiter } as const;
      emit(durationMs === undefined ? event : { ...event, durationMs }, shownKey(key) as Key | null);
    },
    settlementFailed(limiter, policy, changes, error, key) {
      emit({ type: "settlement", policy, changes, error, limiter }, shownKey(key) as Key | null);
    },
    storeChanged(store, state, error) {
      if (!listens("store")) return false;
      emit({ type: "store", store, state, error }, null);
      return true;
    },
  };

  function emit(event: LimiterEvent, key: Key | null): void {
    const channel = channels[event.type];
    if (channel?.hasSubscribers === true) channel.publish(event);
    try {
      const returned = listener?.(event, key) as PromiseLike<unknown> | null | undefined;
      // An unhandled rejection of an asynchronous listener would end the process.
      if (typeof returned?.then === "function") returned.then(undefined, listenerFailed);
    } catch (error) {
      listenerFailed(error);
    }
  }
}

function listenerFailed(error: unknown): void {
  warnOnce(
    "SLUICE_FUNCTION_FAILED", "A listener of `createObserver` threw. This error and all later ones are dropped",
    textOf(error),
  );
}

interface Channel {
  readonly hasSubscribers: boolean;
  publish(event: LimiterEvent): void;
}

function channelOf(type: LimiterEvent["type"]): Channel | undefined {
  return builtin<{ channel(name: string): Channel }>("node:diagnostics_channel")?.channel(`sluice:${type}`);
}
