import type { Decision } from "../core/decision.js";
import { expected, positiveInteger } from "../core/check.js";
import { encodeKey } from "../core/key.js";
import { answer, policyOf, power } from "./arguments.js";
import { StoreUnavailableError } from "../guard/errors.js";
import type { Fallback } from "../guard/fallback.js";
import type { Limiter } from "./limiter.js";
import type { Parts } from "./internals.js";
import { refundable, type Refundable } from "../core/refundable.js";

// Decisions with nothing to give back (any more): what was peeked, and what was refunded by whichever limiter.
const settled = new WeakSet<Decision>();

/** Marks a decision that took nothing. */
export function tookNothing(decision: Decision): Decision {
  settled.add(decision);
  return decision;
}

/** `refund` of a limiter. */
export function refunder({ store, policy: own, ask, age }: Parts, fallback: Fallback): Limiter["refund"] {
  return (key, what, asked) =>
    answer(store, () => {
      const policy = policyOf(asked, own);
      const encoded = encodeKey(key);
      power(store, "refund");
      if (typeof what === "number") return give([{ policy, tokens: positiveInteger("tokens", what) }], encoded);
      if (typeof what !== "object" || what === null) {
        throw new TypeError(expected("what", "a decision or a number of tokens", what));
      }
      if (what.policy !== policy.name) throw new TypeError(expected("decision.policy", `"${policy.name}"`, what.policy));
      if (!what.allowed || what.cost === 0 || settled.has(what)) return;
      settled.add(what);
      if (what.degraded) return fallback.refund(encoded, what);
      const due = refundable(what, policy, what.cost, age.of(what));
      if (due.length === 0) return;
      const given = give(due, encoded);
      return given instanceof Promise ? given.catch((error: unknown) => failed(what, error)) : given;
    });

  function give(due: readonly Refundable[], key: string): void | Promise<void> {
    const refund = power(store, "refund");
    const moves = due.map(({ policy, tokens }) => () => refund.call(store, policy, key, tokens));
    if (store.sync) return moves.forEach((move) => void move());
    return ask(async () => void (await Promise.all(moves.map(async (move) => move()))));
  }
}

// Where the store was not even asked, the refund may be tried again. A call that failed otherwise may have been carried out.
function failed(decision: Decision, error: unknown): never {
  if (error instanceof StoreUnavailableError && error.code === "ERR_STORE_OPEN") settled.delete(decision);
  throw error;
}
