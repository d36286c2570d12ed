import type { Clock } from "../core/clock.js";
import { checkOptions, expected, positiveInteger } from "../core/check.js";
import type { Policy, PolicyOptions } from "../core/policy.js";
import type { Store } from "../core/store.js";
import type { MemoryStore } from "../stores/memory/memory.js";
import type { BreakerOptions } from "../guard/circuit-breaker.js";
import type { LimiterEvent } from "./events.js";
import type { OnStoreError } from "../guard/fallback.js";

/** What a limiter is made of. */
export interface LimiterOptions<S extends Store = MemoryStore> extends Behaviour {
  /** The limits that each key must satisfy. */
  readonly policy: PolicyOptions | Policy;
  /** Where the buckets live. Default: a {@link MemoryStore} of the limiter's own. */
  readonly store?: S | undefined;
  /** The clock of the default store, and of local decisions in place of a store that goes by its server's. Any other store brings its own. */
  readonly clock?: Clock | undefined;
}

/** What a limiter does beside deciding, above all when its store fails. */
export interface Behaviour {
  /** What the caller sees when the store fails. Default `"local"`. */
  readonly onStoreError?: OnStoreError | undefined;
  /** The share of each limit that one process gives out by itself with `"local"`: above 0, at most 1, in millionths. Default 0.5. */
  readonly localShare?: number | undefined;
  /**
   * Milliseconds to wait for an asynchronous store: a positive integer, or Infinity to wait for ever. Default 100. A call
   * that is given up may have taken the tokens; it is never made again.
   */
  readonly storeTimeoutMs?: number | undefined;
  /** When to stop asking an asynchronous store that fails; false to never stop. Default `{ failures: 5, probeEveryMs: 1000 }`. */
  readonly breaker?: false | BreakerOptions | undefined;
  /** True to decide, count and report, but refuse nothing: see `decision.shadow`. Default false. */
  readonly shadow?: boolean | undefined;
  /** Sees every decision, and the store going away and coming back; never a key. What it throws is dropped, with one warning. */
  readonly observe?: ((event: LimiterEvent) => void) | undefined;
}

/** The names of a {@link Behaviour}. */
const BEHAVIOUR = ["onStoreError", "localShare", "storeTimeoutMs", "breaker", "shadow", "observe"] as const;

/** The names of everything that makes a limiter, which is all that a given one has already. */
export const LIMITER_OPTIONS = ["policy", "store", "clock", ...BEHAVIOUR] as const;

/** Throws a TypeError for options that are none, or for the first whose name is unknown. */
export function checkLimiterOptions(options: object): void {
  checkOptions(options, LIMITER_OPTIONS, "an object with a `policy`");
}

/** The time that a call to the store may take. Throws a RangeError or TypeError when it is none. */
export function timeoutOf({ storeTimeoutMs = 100 }: Behaviour): number {
  return storeTimeoutMs === Infinity ? storeTimeoutMs : positiveInteger("storeTimeoutMs", storeTimeoutMs);
}

/** Whether refusals are to be let through. Throws a TypeError for anything but true or false. */
export function shadowOf({ shadow = false, observe }: Behaviour): boolean {
  if (typeof shadow !== "boolean") throw new TypeError(expected("shadow", "true or false", shadow));
  if (observe !== undefined && typeof observe !== "function") throw new TypeError(expected("observe", "a function", observe));
  return shadow;
}
