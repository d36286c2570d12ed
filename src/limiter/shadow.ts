import type { Decision } from "../core/decision.js";
import { tookNothing } from "./refund.js";

/** The decision as a limiter with `shadow: true` hands it out: a refusal is let through, and goes with it. */
export function inShadow(decision: Decision): Decision {
  if (decision.allowed) return decision;
  return tookNothing({ ...decision, allowed: true, reason: null, retryAfterMs: 0, shadow: decision });
}
