import { readings, type Decision } from "../../core/decision.js";
import type { Charges } from "../charge.js";
import { bindingPart } from "../several/decision-of-parts.js";
import type { DecisionParts, QueueRules } from "./queue-state.js";

/**
 * The refusal of a caller whose tokens come in `waitMs`, behind those of the callers before it. `parts` has the
 * decision on each charge. The part that binds refuses, and names the wait.
 */
export function refusalBehind(rules: QueueRules, charges: Charges, parts: DecisionParts, waitMs: number): Decision {
  const binding = bindingPart(parts, charges);
  return rules.decisionOf(parts.map((part, i) => (i === binding ? refused(part as Decision, waitMs) : part)), charges);
}

function refused(decision: Decision, waitMs: number): Decision {
  const retryAfterMs = Math.max(1, decision.retryAfterMs, Math.ceil(waitMs));
  const reason = decision.reason ?? (decision.degraded ? "store_unavailable" : "limited");
  const told = readings(decision).map((reading) => (reading.limit === decision.limit ? { ...reading, retryAfterMs } : reading));
  return { ...decision, allowed: false, reason, retryAfterMs, limits: decision.limits && told };
}
