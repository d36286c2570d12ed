import { expected } from "../core/check.js";
import type { Key } from "../core/key.js";
import type { OnStoreError } from "../port/guard-options.js";
import type { PolicyOptions } from "../core/policy.js";
import type { Store } from "../port/store.js";
import type { MemoryStore } from "../stores/memory/memory.js";
import type { Observer } from "./observer.js";

/** The options of {@link createLimiter}. */
export interface LimiterOptions<S extends Store = MemoryStore> {
  /**
   * The limits of each key, such as `{ name: "interactive", capacity: 30, refill: perSecond(5) }`, or a policy of
   * `definePolicy`.
   */
  readonly policy: PolicyOptions;
  /** The store that keeps the buckets. Default: a new {@link MemoryStore} for this limiter. */
  readonly store?: S | undefined;
  /** The response to callers when the store fails. Default `"local"`. No effect on a store without a guard. */
  readonly onStoreError?: OnStoreError | undefined;
  /**
   * True: decide, count and report, but refuse nothing. See `decision.shadow`. Default: false. A function of the key
   * chooses for each caller, for a rollout that begins with one tenant or 5 % of the callers. It answers at once. If it
   * fails, the limit is enforced.
   */
  readonly shadow?: boolean | ((key: Key) => boolean) | undefined;
  /**
   * Receives every decision, and every change of the store between available and unavailable:
   * `createObserver((event) => …)`.
   */
  readonly observe?: Observer | undefined;
}

/** The names of all {@link LimiterOptions}. */
export const LIMITER_OPTIONS = [
  "policy", "store", "onStoreError", "shadow", "observe",
] as const satisfies readonly (keyof LimiterOptions)[];

/** Returns `onStoreError` with its default. Throws a RangeError for an unknown value. */
export function checkOnStoreError(onStoreError: OnStoreError = "local"): OnStoreError {
  if (["local", "allow", "unavailable"].includes(onStoreError)) return onStoreError;
  throw new RangeError(expected("onStoreError", '"local", "allow" or "unavailable"', onStoreError));
}
