import { expected, positiveInteger } from "../core/check.js";
import { mapCosts, parseTokens, type Cost } from "../core/cost.js";
import type { Costs } from "../core/limit.js";
import type { Decision } from "../core/decision.js";
import { encodeKey } from "../core/key.js";
import { bucketId, type Policy } from "../core/policy.js";
import { processWide } from "../platform.js";
import { costsOf, refundable } from "../core/refundable.js";
import type { Store } from "../port/store.js";
import { policyOf, requireMethod, throwOrReject } from "./arguments.js";
import type { Internals } from "./internals.js";
import type { Limiter } from "./limiter.js";

// Decisions with nothing to refund: they took nothing, or were refunded.
const settled = (): WeakSet<Decision> => processWide("settled", () => new WeakSet<Decision>());

/** Marks a decision that took nothing. */
export function tookNothing(decision: Decision): Decision {
  settled().add(decision);
  return decision;
}

/** Makes the method `refund` of a limiter. */
export function createRefund({ store, policy: own, guarded }: Internals): Limiter["refund"] {
  return (key, what, asked) =>
    throwOrReject(store, () => {
      const policy = policyOf(asked, own);
      const encoded = encodeKey(key);
      requireMethod(store, "adjust");
      const buckets = [bucketId(policy, encoded)];
      if (!isDecisionLike(what)) {
        if (typeof what !== "number" && (typeof what !== "object" || what === null)) throw new TypeError(expected("what", "a decision or tokens", what));
        const tokens = parseTokens(policy, typeof what === "number" ? positiveInteger("tokens", what) : what, "tokens");
        return guarded.call(buckets, () => giveBack(store, policy, encoded, tokens));
      }
      if (what.policy !== policy.name) throw new TypeError(expected("decision.policy", `"${policy.name}"`, what.policy));
      if (!what.allowed || settled().has(what)) return;
      const costs = costsOf(what, policy);
      if (costs === 0) return;
      settled().add(what);
      if (what.degraded) return guarded.refundLocally(what, encoded);
      const tokens = refundable(what, policy, costs, guarded.ageOf(what));
      if (tokens === 0) return;
      // After any other failure the store may have made the refund, so only this one may be repeated.
      return guarded.call(buckets, () => giveBack(store, policy, encoded, tokens), () => void settled().delete(what));
    });
}

// `what` may also be costs by name, and a limit may have the name `allowed`.
function isDecisionLike(what: Decision | Cost): what is Decision {
  return typeof (Object(what) as Partial<Decision>).allowed === "boolean";
}

/** Returns tokens to `store`. */
function giveBack(store: Store, policy: Policy, key: string, tokens: Costs): void | Promise<void> {
  const done = requireMethod(store, "adjust").call(store, policy, key, mapCosts(policy, tokens, (each) => 0 - each));
  if (done instanceof Promise) return done.then(() => undefined);
}
