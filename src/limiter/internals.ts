import type { Decision } from "../core/decision.js";
import { expected } from "../core/check.js";
import type { Policy } from "../core/policy.js";
import type { Store } from "../core/store.js";
import type { Age } from "../guard/server-clock.js";
import type { Breaker } from "../guard/circuit-breaker.js";
import type { Reporter } from "./events.js";
import type { Ask } from "../guard/call.js";
import type { Limiter } from "./limiter.js";
import type { Charged } from "../guard/fallback.js";

/** What a limiter is made of, for what is built on limiters in this package. */
export interface Parts {
  /** The limiter's own policy. */
  readonly policy: Policy;
  /** Where its buckets live. */
  readonly store: Store;
  /** Asks an asynchronous store as the limiter itself does: within the deadline, and not while the store is away. Rejects with what it failed with. */
  readonly ask: Ask;
  /** The longest that a call to it may take. */
  readonly timeoutMs: number;
  /** Told of every call to a synchronous store; an asynchronous one's is told by `ask`. */
  readonly breaker: Breaker;
  /** The decision of `onStoreError`, for a call that the store failed with `error`. `key` is encoded. */
  readonly decideWithout: (policy: Policy, key: string, cost: number, error: unknown) => Decision;
  /** Where a degraded decision took its tokens; null where it took none. */
  readonly localCharge: (decision: Decision) => Charged | null;
  /** How old the store's decisions are. */
  readonly age: Age;
  /** Whether it refuses nothing. */
  readonly shadow: boolean;
  /** Tells those who listen. */
  readonly reporter: Reporter;
}

const kept = new WeakMap<object, Parts>();

/** Keeps the parts of a limiter that was just made. */
export function keepParts(limiter: Limiter, parts: Parts): void {
  kept.set(limiter, parts);
}

/** The parts of a limiter. Throws a TypeError for what createLimiter did not make. */
export function partsOf(limiter: Limiter): Parts {
  const parts = kept.get(Object(limiter));
  if (parts === undefined) throw new TypeError(expected("limiter", "made by createLimiter", limiter));
  return parts;
}

/** The longest that a call to the limiter's store may take. Infinity for what createLimiter did not make. */
export function storeTimeoutOf(limiter: Limiter): number {
  return kept.get(limiter)?.timeoutMs ?? Infinity;
}

/** Whether a limiter refuses nothing. What createLimiter did not make may refuse. */
export function isShadow(limiter: Limiter): boolean {
  return kept.get(limiter)?.shadow ?? false;
}
