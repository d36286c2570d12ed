import { limiterChecks } from "#diagnostics";
import { readClock, type Clock } from "../../core/clock.js";
import { costsOf, exceptInFlight, mapCosts } from "../../core/cost.js";
import { encodeKey, type Key } from "../../core/key.js";
import type { Decision } from "../../core/decision.js";
import { bucketId, type Policy } from "../../core/policy.js";
import type { Origin } from "../../core/model.js";
import { isUnlimited } from "../unlimited.js";
import { chargedBy, checkChargedKey, isCharged, markCharged, tierOf } from "../../port/charged.js";
import { holdRulesOf } from "../../port/kind-rules.js";
import { callOf } from "../../port/store.js";
import { chosenPolicy, requireVerb, tokensOf } from "../arguments.js";
import type { Thunk, GateLimiter, LimiterInternals, PlainInternals } from "../internals.js";
import { orElse, thenOne } from "../now-or-later.js";
import { correction, refundableUntil } from "./refundable.js";
import { tellReturned } from "./returned.js";
import { tellFailed } from "./tell-failed.js";

const settleNothing: Thunk<boolean> = () => false;

/**
 * Makes the verb `settle` of a limiter. It checks its arguments, and returns what is left to do. `tell` is called when
 * the tokens of a bucket may have come back.
 */
export function createSettle(
  base: Pick<PlainInternals, "store" | "policy" | "guarded" | "observer">, limiterOf: () => GateLimiter, tell = tellReturned,
): LimiterInternals["settle"] {
  const { store, guarded, observer } = base;
  return (key, decision, actual, options, isRelease) => {
    const named = chosenPolicy(options, base);
    const encoded = encodeKey(key as Key);
    // The one that was charged, whichever the caller names: its tier may have changed since.
    const charged = tierOf(decision) ?? (decision.policy === base.policy.name ? base.policy : named);
    const isOurs = decision.allowed && decision.policy === (charged as Policy).name && isCharged(decision, store);
    const chosen = isOurs ? charged : named;
    if (isUnlimited(chosen)) return settleNothing;
    const policy: Policy = chosen;
    requireVerb(store, "adjust");
    if (isOurs) checkChargedKey(decision, encoded, key);
    const taken = isOurs ? costsOf(decision, policy) : policy.ownCosts;
    const given = tokensOf(policy, actual, taken);
    let by: object | null = null;
    let used = given;
    return isOurs ? settle : settleNothing;

    function settle(isInBackground = false): boolean | Promise<boolean> {
      // Checked again, because another call may have settled it since.
      if (!isCharged(decision, store)) return false;
      by = chargedBy(decision);
      // Work that is done holds nothing, whatever it cost. Tokens in flight that were given back stay as they are.
      if (policy.inFlight) used = exceptInFlight(policy, given, by === store ? 0 : taken);
      // Marked first, because a failure below must not allow a second settlement.
      markCharged(decision, isRelease ? { withoutHeld: store } : null);
      if (limiterChecks) limiterChecks.markHandled(decision);
      return make(isInBackground);
    }

    function make(isInBackground: boolean): boolean | Promise<boolean> {
      return thenOne(takenFrom(decision, policy), (from) =>
        decision.degraded ? told(settleLocally(from)) : settleInStore(from, isInBackground));
    }

    function settleInStore(from: Origin, isInBackground: boolean): boolean | Promise<boolean> {
      const changes = correction(decision, policy, taken, used, guarded.now() - decision.at);
      // A change of 0 needs no call, and so says nothing about the store.
      if (changes === 0) return true;
      const origin = { at: from.at, heldAt: from.heldAt, since: refundableUntil(decision, policy, changes) };
      const failed = (error: unknown): void => tellFailed(observer, limiterOf(), { policy, key: key as Key, changes }, error);
      let isKept = false;
      // After any other failure the store may have made the change, so only this one may be repeated.
      const notAsked = (): void => {
        // What a release gives back stays its own: a settlement that is made before leaves it alone.
        if (!isRelease) markCharged(decision, by);
        // Tokens in flight would come back late, so this settlement is made again when the store is available.
        isKept = holdRulesOf(policy)?.later(isRelease ? make : settle, store, failed) ?? false;
      };
      const call = callOf("adjust", policy, encoded, changes, { from: origin });
      const made = orElse(() => guarded.ask(call, { inBackground: isInBackground, notAsked }), (error) => {
        if (!isKept) failed(error);
        throw error;
      });
      return told(thenOne(made, ([done]) => (settleLocally(from), done as boolean)));
    }

    function settleLocally(from: Origin): boolean {
      const charge = guarded.localChargeOf(decision);
      // Nothing was taken if `onStoreError: "allow"` let the call through.
      if (charge === null) return false;
      const { store: local, policy: share, decision: made } = charge;
      const changes = correction(made, share, costsOf(made, share), used, readClock(local.clock as Clock) - made.at);
      // Of a decision of the store, what was used beyond that was not taken here.
      const own = decision.degraded ? changes : mapCosts(share, changes, (change) => Math.min(0, change));
      return local.ask(callOf("adjust", share, encoded, own, { from }))[0] as boolean;
    }

    function told(settled: boolean | Promise<boolean>): boolean | Promise<boolean> {
      return thenOne(settled, (done) => {
        if (done) tell(store, bucketId(policy, encoded));
        return done;
      });
    }
  };
}

// When the tokens were taken: at the instant of the decision, unless tokens in flight were renewed since. The work is
// done, so they are not renewed again, also if this settlement fails.
function takenFrom(decision: Decision, policy: Policy): Origin | Promise<Origin> {
  return holdRulesOf(policy)?.stop(decision) ?? { at: decision.at, heldAt: decision.at };
}
