import type { Decision } from "../core/decision.js";
import { expected, positiveInteger } from "../core/errors.js";
import { encodeKey } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { Store } from "../core/store.js";
import { answer, policyOf, power } from "./asked.js";
import type { Limiter } from "./limiter.js";

// Decisions with nothing to give back (any more): what was peeked, and what was refunded by whichever limiter.
const settled = new WeakSet<Decision>();

/** Marks a decision that took nothing. */
export function tookNothing(decision: Decision): Decision {
  settled.add(decision);
  return decision;
}

/** `refund` of a limiter. */
export function refunder(store: Store, fallback: Policy): Limiter["refund"] {
  return (key, what, asked) =>
    answer(store, () => {
      const policy = policyOf(asked, fallback);
      const refund = power(store, "refund");
      const encoded = encodeKey(key);
      if (typeof what === "number") return refund.call(store, policy, encoded, positiveInteger("tokens", what));
      if (typeof what !== "object" || what === null) {
        throw new TypeError(expected("what", "a decision or a number of tokens", what));
      }
      if (what.policy !== policy.name) throw new TypeError(expected("decision.policy", `"${policy.name}"`, what.policy));
      if (!what.allowed || what.degraded || what.cost === 0 || settled.has(what)) return;
      settled.add(what);
      return refund.call(store, policy, encoded, what.cost);
    });
}
