import { expected, positiveInteger } from "../core/check.js";
import type { Decision } from "../core/decision.js";
import { bucketId, encodeKey } from "../core/key.js";
import { processWide } from "../core/process-wide.js";
import { refundable, type RefundPart } from "../core/refundable.js";
import type { Store } from "../core/store.js";
import { policyOf, requireMethod, throwOrReject } from "./arguments.js";
import type { Internals } from "./internals.js";
import type { Limiter } from "./limiter.js";

// Decisions with nothing to give back: they took nothing, or were refunded.
const settled = (): WeakSet<Decision> => processWide("settled", () => new WeakSet<Decision>());

/** Marks a decision that took nothing. */
export function tookNothing(decision: Decision): Decision {
  settled().add(decision);
  return decision;
}

/** `refund` of a limiter. */
export function createRefund({ store, policy: own, guarded }: Internals): Limiter["refund"] {
  return (key, what, asked) =>
    throwOrReject(store, () => {
      const policy = policyOf(asked, own);
      const encoded = encodeKey(key);
      requireMethod(store, "refund");
      const buckets = [bucketId(policy, encoded)];
      if (typeof what === "number") {
        const tokens = positiveInteger("tokens", what);
        return guarded.call(buckets, () => refundParts(store, [{ policy, tokens }], encoded));
      }
      if (typeof what !== "object" || what === null) {
        throw new TypeError(expected("what", "a decision or a number of tokens", what));
      }
      if (what.policy !== policy.name) throw new TypeError(expected("decision.policy", `"${policy.name}"`, what.policy));
      if (!what.allowed || what.cost === 0 || settled().has(what)) return;
      settled().add(what);
      if (what.degraded) return guarded.refundLocally(what, encoded);
      const parts = refundable(what, policy, what.cost, guarded.ageOf(what));
      if (parts.length === 0) return;
      // A call that failed otherwise may have been carried out, so only this one may be repeated.
      return guarded.call(buckets, () => refundParts(store, parts, encoded), () => void settled().delete(what));
    });
}

/** Gives back each part's tokens at `store`. */
export function refundParts(store: Store, parts: readonly RefundPart[], key: string): void | Promise<void> {
  const refund = requireMethod(store, "refund");
  const done = parts.map(({ policy, tokens }) => refund.call(store, policy, key, tokens));
  if (!store.sync) return Promise.all(done as readonly Promise<void>[]).then(() => undefined);
}
