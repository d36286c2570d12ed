import { LONGEST_BLOCK_MS } from "../core/records.js";
import { expected, positiveInteger } from "../core/check.js";
import { parseTokens } from "../core/cost.js";
import { encodeKey } from "../core/key.js";
import { bucketId } from "../core/policy.js";
import { policyOf, requireMethod, throwOrReject } from "./arguments.js";
import type { Internals } from "./internals.js";
import type { Limiter } from "./limiter.js";

/** Makes the method `debit` of a limiter. */
export function createDebit({ store, policy: own, guarded }: Internals): Limiter["debit"] {
  return (key, tokens, asked) =>
    throwOrReject(store, () => {
      const policy = policyOf(asked, own);
      const encoded = encodeKey(key);
      const adjust = requireMethod(store, "adjust");
      const debt = parseTokens(policy, typeof tokens === "number" ? positiveInteger("tokens", tokens) : tokens, "tokens");
      const done = guarded.call([bucketId(policy, encoded)], () => adjust.call(store, policy, encoded, debt));
      return done instanceof Promise ? done.then(check) : check(done);

      function check(taken: boolean): void {
        if (!taken) throw new RangeError(`${expected("tokens", "a debt of at most 2^53 - 1 units of each limit", tokens)}. Nothing was taken`);
      }
    });
}

/** Makes the method `block` of a limiter. */
export function createBlock({ store, policy: own, guarded }: Internals): Limiter["block"] {
  return (key, forMs, asked) =>
    throwOrReject(store, () => {
      const policy = policyOf(asked, own);
      const encoded = encodeKey(key);
      const block = requireMethod(store, "block");
      if (positiveInteger("forMs", forMs) > LONGEST_BLOCK_MS) throw new RangeError(expected("forMs", `at most ${LONGEST_BLOCK_MS}`, forMs));
      return guarded.call([bucketId(policy, encoded)], () => block.call(store, policy, encoded, forMs));
    });
}
