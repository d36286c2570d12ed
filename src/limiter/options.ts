import { expected, ownMembers, positiveInteger } from "../core/check.js";
import type { Clock } from "../core/clock.js";
import type { FailureOptions, FailureSettings } from "../port/failure-options.js";
import type { Policy, PolicyOptions } from "../core/policy.js";
import type { Store } from "../port/store.js";
import type { MemoryStore } from "../stores/memory/memory.js";
import type { Observer } from "./events.js";

/** The options of {@link createLimiter}. */
export interface LimiterOptions<S extends Store = MemoryStore> extends FailureOptions {
  /** The limits of each key, such as `{ name: "interactive", capacity: 30, refill: perSecond(5) }`. */
  readonly policy: PolicyOptions | Policy;
  /** The store that keeps the buckets. Default: a new {@link MemoryStore} for this limiter. */
  readonly store?: S | undefined;
  /**
   * The clock in milliseconds. The default store uses it, and so do local decisions in place of a store that reads its
   * server's clock. A limiter over any other store uses the clock of that store. Default: {@link monotonicClock}.
   */
  readonly clock?: Clock | undefined;
  /** True: decide, count and report, but refuse nothing. See `decision.shadow`. Default: false. */
  readonly shadow?: boolean | undefined;
  /**
   * Receives every decision, and every change of the store between available and unavailable:
   * `createObserver((event) => …)`.
   */
  readonly observe?: Observer | undefined;
}

/** The names of all {@link LimiterOptions}. */
export const LIMITER_OPTIONS = [
  "policy", "store", "clock", "onStoreError", "localShare", "processes", "storeTimeoutMs", "breaker", "shadow", "observe",
] as const satisfies readonly (keyof LimiterOptions)[];

/**
 * Returns the failure options with their defaults. Throws a RangeError or TypeError that names the wrong option, even
 * over a store that cannot fail.
 */
export function failureSettingsOf(options: FailureOptions): FailureSettings {
  const { onStoreError = "local", processes, storeTimeoutMs = 100, breaker = {} } = options;
  let { localShare = 0.5 } = options;
  if (processes !== undefined) {
    // In millionths, rounded down, so the shares of all processes add up to at most 1.
    localShare = Math.floor(1e6 / positiveInteger("processes", processes)) / 1e6;
  }
  if (!["local", "allow", "unavailable"].includes(onStoreError)) {
    throw new RangeError(expected("onStoreError", '"local", "allow" or "unavailable"', onStoreError));
  }
  if (!(localShare > 0 && localShare <= 1) || typeof localShare !== "number") {
    const WrongType = typeof localShare === "number" ? RangeError : TypeError;
    throw new WrongType(expected("localShare", "a number above 0 and at most 1", localShare));
  }
  if (storeTimeoutMs !== Infinity) positiveInteger("storeTimeoutMs", storeTimeoutMs);
  const { failures = 5, probeEveryMs = 1_000 } = ownMembers(breaker === false ? {} : breaker);
  positiveInteger("breaker.failures", failures);
  positiveInteger("breaker.probeEveryMs", probeEveryMs);
  return { onStoreError, localShare, storeTimeoutMs, breaker: breaker && { failures, probeEveryMs } };
}
