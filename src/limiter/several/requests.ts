import { UNIDENTIFIED } from "../../core/key.js";
import type { Decision } from "../../core/decision.js";
import type { AbortSignalLike } from "../../platform.js";
import type { Charges } from "../charge.js";
import type { Requests } from "../internals.js";
import { thenOne } from "../now-or-later.js";
import type { LimiterParts } from "../parts.js";
import { bindingPart } from "./decision-of-parts.js";

/** Takes all charges or none, and tells the observers. `signal` cancels a wait. */
export type TakeCharges = (charges: Charges, signal?: AbortSignalLike) => Decision | Promise<Decision>;

/** Makes the {@link Requests} of a combination, or of a limiter that `waits`. */
export function createRequests(limiter: LimiterParts, take: TakeCharges, waits: boolean): Requests {
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
    costs: (cost) => limiter.spread("cost", cost),
    take(key, asked, prepare, onDisconnect) {
      const charges = limiter.charges(key, asked);
      if (charges.every((charge) => charge === null)) return "unlimited";
      const prepared = charges.map((charge) => charge && prepare(charge));
      return thenOne(waits ? hold(take, charges, onDisconnect) : take(charges), (decision) => {
        if (decision === null) return "disconnected";
        const decisions = limiter.partsOf(decision);
        const binding = bindingPart(decisions, charges);
        const parts = decisions.flatMap((part, i) => {
          const charge = charges[i];
          if (part === null || !charge || !prepared[i]) return [];
          const ofName = decisions.map((each, j) => (charges[j]?.policy.name === charge.policy.name ? each : null));
          const bindsItsName = i === bindingPart(ofName, charges);
          return [{ ...prepared[i], decision: part, binds: i === binding, bindsItsName, shadow: charge.shadow }];
        });
        return { decision, parts };
      });
    },
  };
}

/** Waits for the tokens. Resolves to null when the client disconnected. */
async function hold(
  take: TakeCharges, charges: Charges, onDisconnect: Parameters<Requests["take"]>[3],
): Promise<Decision | null> {
  const disconnected = new AbortController();
  const release = onDisconnect(() => disconnected.abort());
  try {
    return await take(charges, disconnected.signal);
  } catch (error) {
    if (!disconnected.signal.aborted) throw error;
    return null;
  } finally {
    release?.();
  }
}
