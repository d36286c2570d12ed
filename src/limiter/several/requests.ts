import { UNIDENTIFIED } from "../../core/key.js";
import type { Decision } from "../../core/decision.js";
import type { AbortSignalLike } from "../../platform.js";
import type { Charges } from "../charge.js";
import type { LimiterInternals } from "../internals.js";
import { thenOne } from "../now-or-later.js";
import { bindingPart } from "./charge-all.js";

/**
 * Makes what a gate uses of a combination, or of a limiter that `waits`. `decide` takes all charges or none, and tells
 * the observers. Its signal cancels a wait.
 */
export function createRequests(
  limiter: LimiterInternals, decide: (charges: Charges, signal?: AbortSignalLike) => Decision | Promise<Decision>, waits: boolean,
): Required<Pick<LimiterInternals, "callersBy" | "take">> {
  return {
    callersBy: (callerOf) => (keys) => {
      let isRefused = false;
      const callers = limiter.mapKey(keys, (key, part) => {
        const caller = callerOf(key, part);
        isRefused ||= caller === null;
        return caller ?? UNIDENTIFIED;
      });
      if (!isRefused) return callers;
      // Throws for keys of a wrong form, so that a wrong name is not mistaken for a missing key.
      limiter.charges(callers, undefined);
      return null;
    },
    take(key, asked, prepare, onDisconnect) {
      const charges = limiter.charges(key, asked);
      if (charges.every((charge) => charge === null)) return { decision: limiter.decisionOf(charges, charges), charges: [] };
      const prepared = charges.map((charge) => charge && prepare(charge));
      const decided = waits ? hold((signal) => decide(charges, signal), onDisconnect) : decide(charges);
      return thenOne(decided, (decision) => {
        if (decision === null) return null;
        const decisions = limiter.partsOf(decision);
        const binding = bindingPart(decisions, charges);
        const taken = decisions.flatMap((part, i) => {
          const charge = charges[i];
          const own = prepared[i];
          if (part === null || !charge || !own) return [];
          const ofName = decisions.map((each, j) => (charges[j]?.policy.name === charge.policy.name ? each : null));
          const bindsItsName = i === bindingPart(ofName, charges);
          return [{ ...own, decision: part, binds: i === binding, bindsItsName, shadow: charge.shadow }];
        });
        return { decision, charges: taken };
      });
    },
  };
}

/** Waits for the tokens. Resolves to null when the client disconnected. */
async function hold(
  decide: (signal: AbortSignalLike) => Decision | Promise<Decision>,
  onDisconnect: (listener: () => void) => (() => void) | undefined,
): Promise<Decision | null> {
  const disconnected = new AbortController();
  const release = onDisconnect(() => disconnected.abort());
  try {
    return await decide(disconnected.signal);
  } catch (error) {
    if (!disconnected.signal.aborted) throw error;
    return null;
  } finally {
    release?.();
  }
}
