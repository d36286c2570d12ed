import type { Decision } from "../core/decision.js";
import { encodeKey } from "../core/key.js";
import { answer, costOf, policyOf, power } from "./arguments.js";
import type { Limiter } from "./limiter.js";
import type { Parts } from "./internals.js";
import { tookNothing } from "./refund.js";
import { inShadow } from "./shadow.js";

/** `peek` of a limiter. */
export function peeker({ store, policy: own, ask, shadow }: Parts): Limiter["peek"] {
  return (key, asked) =>
    answer(store, () => {
      const peek = power(store, "peek");
      const [policy, encoded, cost] = [policyOf(asked, own), encodeKey(key), costOf(asked)];
      if (store.sync) return finish(peek.call(store, policy, encoded, cost) as Decision);
      return ask(async () => peek.call(store, policy, encoded, cost)).then(finish);
    });

  function finish(decision: Decision): Decision {
    return tookNothing(shadow ? inShadow(decision) : decision);
  }
}
