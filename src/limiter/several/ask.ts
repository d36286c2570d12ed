import { limiterChecks } from "#diagnostics";
import type { Decision } from "../../core/decision.js";
import { chargedBy, markCharged } from "../../port/charged.js";
import type { Charges, CombinedCharge, LimiterCharge } from "../charge.js";
import { plainInternalsOf, type Internals } from "../internals.js";
import type { Observer } from "../observer.js";
import { giveBack } from "../parts.js";
import { startAll, thenOne } from "../now-or-later.js";
import { byBucket, chargeAll, decisionsOfParts } from "./charge-all.js";
import { bindingPart } from "./decision-of-parts.js";

/** Makes `ask`, `tell` and `giveBack` of a combination. */
export function createAsk(self: () => Internals): Pick<Internals, "ask" | "tell" | "giveBack"> {
  const log = limiterChecks ? limiterChecks.createDecisionLog() : null;
  return {
    ask(charges) {
      const buckets = byBucket(charges);
      return thenOne(chargeAll(buckets), (decisions) => {
        const decision = self().decisionOf(decisionsOfParts(charges.length, buckets, decisions), charges);
        const made: CombinedCharge = { by: self(), charges: buckets, decisions };
        return decision.allowed ? markCharged(decision, made) : decision;
      });
    },
    tell(charges, decision, durationMs) {
      const parts = self().partsOf(decision);
      if (log !== null) charges.forEach((charge, i) => charge && parts[i] && log(charge.key, parts[i]));
      tellObservers(charges, parts, durationMs);
    },
    giveBack(_charges, decision) {
      const { charges, decisions } = chargedBy(decision) as CombinedCharge;
      markCharged(decision, null);
      const returns = charges.map((charge, i) => () => giveBack(charge, decisions[i] as Decision));
      return startAll<void, void>(returns, () => undefined);
    },
  };
}

/**
 * Tells each observer once, of the decision that binds. Members in shadow mode are counted apart, so each of them tells
 * its own.
 */
function tellObservers(charges: Charges, parts: ReadonlyArray<Decision | null>, durationMs: number | undefined): void {
  const binding = bindingPart(parts, charges);
  const told = new Map<Observer, Set<Decision>>();
  charges.forEach((charge, i) => {
    const observer = charge && plainInternalsOf(charge.limiter).observer;
    if (!charge || !observer?.listens()) return;
    const part = charge.shadow && parts[i] ? i : binding;
    const decision = parts[part] as Decision;
    const known = told.get(observer) ?? new Set();
    // Members on one bucket share a decision.
    const { limiter, key } = charges[part] as LimiterCharge;
    if (!known.has(decision)) observer.decided(limiter, decision, key, durationMs);
    told.set(observer, known.add(decision));
  });
}
