import { monotonicClock, readClock } from "../core/clock.js";
import type { Allowed } from "../core/decision.js";
import type { Policy } from "../core/policy.js";
import type { Store } from "../port/store.js";

/** The type of {@link unlimited}. */
export interface Unlimited {
  /** No value has this member. It keeps other objects from being taken for `unlimited`. */
  readonly "~unlimited": never;
}

const unlimitedBrand = (): symbol => Symbol.for("sluice.unlimited");

/**
 * No limit, as a policy or as the key of one member of a combination. Nothing is charged, and the decision is allowed.
 *
 * Return it from a `policy` function for a plan without a limit. `null` and `undefined` never mean "no limit".
 * @example
 * const PLANS = { free: definePolicy({ name: "api", capacity: 60, refill: perMinute(60) }), partner: unlimited };
 */
// Its member has a symbol as its name, because no JSON that a client sends can have one.
export const unlimited: Unlimited = Object.freeze({ [unlimitedBrand()]: true }) as unknown as Unlimited;

/** Whether `value` is {@link unlimited}, of this copy of the package or of another. */
export function isUnlimited(value: unknown): value is Unlimited {
  return typeof value === "object" && value !== null && unlimitedBrand() in value;
}

/** The decision on a call that charged nothing, because it has no limit. */
export function withoutLimit({
  policy: { name: policy }, store: { clock },
}: {
  readonly policy: Policy;
  readonly store: Store;
}): Allowed {
  const at = readClock(clock === "server" ? monotonicClock : clock);
  return {
    allowed: true, reason: null, policy, limit: "", cost: 0, capacity: Infinity, remaining: Infinity,
    retryAfterMs: 0, nextTokenMs: 0, resetMs: 0, limits: [], at, degraded: false,
  };
}
