import { costsOf, exceptInFlight, mapCosts } from "../core/cost.js";
import type { Decision } from "../core/decision.js";
import { costAt, type Costs } from "../core/limit.js";
import type { Policy } from "../core/policy.js";
import type { DatedPolicy, HeldDecision } from "../core/rules.js";

/** The tokens in flight that a decision took, and 0 for each rate and quota. */
export function heldCosts(decision: HeldDecision, of: DatedPolicy): Costs {
  // The rules of limits know the members that they need, and these are a decision and its policy.
  const [made, policy] = [decision as Decision, of as Policy];
  const all = costsOf(made, policy);
  const others = exceptInFlight(policy, all, 0);
  return mapCosts(policy, all, (cost, i) => cost - costAt(others, i));
}
