import { readings, type Decision } from "./decision.js";
import { makePolicy, type Policy } from "./policy.js";

/** Tokens to give back, and the limits to give them back to. */
export interface RefundPart {
  readonly policy: Policy;
  readonly tokens: number;
}

/**
 * The part of `tokens` that a decision under `policy` took `ageMs` ago and that has not refilled by itself yet, per
 * limit, rounded up. Limits with the same remainder are grouped. Limits that have refilled are left out. An unknown age
 * (NaN) counts as 0.
 *
 * Giving back what has refilled would mint tokens (law L1), and a short limit refills long before a long one. The
 * refill is computed as if nothing else was charged since, when most refills. So each call mints less than one token.
 */
export function refundable(decision: Decision, policy: Policy, tokens: number, ageMs: number): readonly RefundPart[] {
  const all = readings(decision);
  const lefts = policy.limits.map(({ name, unitsPerMs, unitsPerToken }) => {
    const resetMs = all.find(({ limit }) => limit === name)?.resetMs ?? 0;
    // `resetMs` is rounded up, so this is the least that can have been spent. At the instant itself nothing has
    // refilled.
    const units = (resetMs - 1 - ageMs) * unitsPerMs + 1;
    return ageMs > 0 ? Math.min(tokens, Math.ceil(units / unitsPerToken)) : resetMs > 0 ? tokens : 0;
  });
  return [...new Set(lefts)].filter((left) => left > 0).map((left) => {
    const limits = policy.limits.filter((_, i) => lefts[i] === left) as unknown as Policy["limits"];
    return { tokens: left, policy: limits.length === policy.limits.length ? policy : makePolicy(policy.name, limits) };
  });
}
