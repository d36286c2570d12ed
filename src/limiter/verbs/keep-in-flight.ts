import { limiterChecks } from "#diagnostics";
import type { Decision } from "../../core/decision.js";
import type { Key } from "../../core/key.js";
import type { Policy } from "../../core/policy.js";
import { chargedBy } from "../../port/charged.js";
import { holdRulesOf, type HeldWork } from "../../port/kind-rules.js";
import { internalsOf, type PlainInternals } from "../internals.js";
import type { CombinedCharge } from "../charge.js";
import type { PlainLimiter } from "../limiter.js";

/** The parts of a limiter. */
interface Holder {
  readonly parts: readonly object[];
}

/**
 * Renews the tokens in flight that an allowed decision took, until it is settled. Returns whether there are any.
 * `policy` is that of the call; undefined for the limiter's own. A decision of a combination knows the policies of its
 * members. `life` tells whether the work goes on; without it, the work goes on until it is settled.
 */
export function keepInFlight(
  limiter: Holder, key: unknown, decision: Decision, policy: unknown, life?: HeldWork["life"],
): boolean {
  const by = chargedBy(decision);
  if (by === null || !Object.hasOwn(by, "charges")) {
    const [part] = limiter.parts as readonly [PlainLimiter];
    return keepOne(part, (policy ?? part.policy) as Policy, key as Key, decision, life);
  }
  const { charges, decisions } = by as CombinedCharge;
  return charges
    .map((made, i) => keepOne(made.limiter, made.policy, made.key, decisions[i] ?? decision, life))
    .some(Boolean);
}

function keepOne(limiter: PlainLimiter, policy: Policy, key: Key, decision: Decision, life: HeldWork["life"]): boolean {
  const holdRules = holdRulesOf(policy);
  if (holdRules === undefined || !decision.allowed || chargedBy(decision) === null) return false;
  if (limiterChecks) limiterChecks.markHandled(decision);
  const { guarded, store } = internalsOf(limiter) as PlainInternals;
  return holdRules.keep({ store, guarded, policy, key, decision, life });
}
