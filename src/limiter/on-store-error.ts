import { monotonicClock, readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import { expected } from "../core/errors.js";
import type { Policy } from "../core/policy.js";

/**
 * What the caller sees when the store fails: `"allow"` lets everybody through, `"unavailable"` (the default) refuses with
 * the reason `"store_unavailable"`, which HTTP says as 503. Neither is ever a 429: that would claim a healthy service.
 */
export type OnStoreError = "allow" | "unavailable";

// Long enough that callers do not make an outage worse, short enough that they are back soon after it.
const RETRY_AFTER_MS = 1_000;

/** Returns the choice, or the default when there is none. Throws a RangeError for any other. */
export function checkOnStoreError(choice: OnStoreError | undefined): OnStoreError {
  if (choice === undefined) return "unavailable";
  if (choice !== "allow" && choice !== "unavailable") throw new RangeError(expected("onStoreError", '"allow" or "unavailable"', choice));
  return choice;
}

/** The decision for a request whose store failed with `error`. Nothing is known, so nothing is promised but a polite wait. */
export function decideWithoutStore(choice: OnStoreError, policy: Policy, cost: number, error: unknown): Decision {
  const [{ name: limit, capacity }] = policy.limits;
  const facts = { policy: policy.name, limit, cost, capacity, remaining: 0, nextTokenMs: 0, resetMs: 0, limits: null, at: readClock(monotonicClock), degraded: true, error };
  // That much is known without the store: waiting would not help, and nothing asks for nothing.
  if (cost > policy.maxCost) return { allowed: false, reason: "cost_above_capacity", ...facts, retryAfterMs: Infinity };
  return choice === "allow" || cost === 0
    ? { allowed: true, reason: null, ...facts, retryAfterMs: 0 }
    : { allowed: false, reason: "store_unavailable", ...facts, retryAfterMs: RETRY_AFTER_MS };
}
