import { bindsMore, readings, type Decision } from "../../core/decision.js";
import type { Charges } from "../charge.js";
import type { CombinedDecision } from "./combination.js";
import type { CombinationMember } from "./members.js";

/** The position of the decision that binds: of those that are enforced, or of all if none is. -1 for none. */
export function bindingPart(decisions: ReadonlyArray<Decision | null>, charges: Charges): number {
  const asked = [...decisions.keys()].filter((i) => decisions[i] !== null);
  const enforced = asked.filter((i) => charges[i]?.shadow !== true);
  const strictest = (a: number, b: number): number => (bindsMore(decisions[b] as Decision, decisions[a] as Decision) ? b : a);
  return (enforced.length > 0 ? enforced : asked).reduce((a, b) => (a < 0 ? b : strictest(a, b)), -1);
}

/** The decision of a combination from those of its parts. Null stands for a part that was not asked. */
export function decisionOfParts(
  members: readonly CombinationMember[], parts: ReadonlyArray<Decision | null>, charges: Charges,
): Decision {
  const position = bindingPart(parts, charges);
  const binding = parts[position] ?? withoutCharge(members[0] as CombinationMember);
  const asked = parts.filter((part) => part !== null);
  // One refusal is enough, so only its store matters. An allowed decision needs all stores.
  const failed = binding.allowed ? asked.find(({ degraded }) => degraded) : undefined;
  const failure = failed === undefined ? {} : { degraded: true, error: failed.error };
  let start = 0;
  const decisions = members.map(({ name, internals, size }) => {
    const own = parts.slice(start, start + size);
    const ownCharges = charges.slice(start, start + size);
    start += size;
    return [name, own.every((part) => part === null) ? null : internals.decisionOf(own, ownCharges)] as const;
  });
  const combined = { ...binding, ...failure, limits: asked.flatMap(readings), decisions: Object.fromEntries(decisions) };
  return combined as CombinedDecision;
}

/** The decision of a member that has no limit in this call. */
function withoutCharge({ internals, size }: CombinationMember): Decision {
  const none = Array<null>(size).fill(null);
  return internals.decisionOf(none, none);
}
