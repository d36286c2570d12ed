import { ownMembers } from "../../core/check.js";
import type { GateLimiter } from "../../limiter/internals.js";

/** The options that tell it. */
interface WatchingOptions {
  readonly actualCost?: unknown;
  readonly limiter?: unknown;
  readonly policy?: unknown;
}

/** The part of a policy, or of its options, with its limits. */
interface Limits {
  readonly returns?: unknown;
  readonly limits?: ReadonlyArray<{ readonly returns?: unknown }>;
}

/**
 * Whether a gate with these options needs to know of clients that leave: it waits, settles, or may take tokens in
 * flight. A function may return any policy.
 */
export function watchesClient(options: WatchingOptions): boolean {
  const { actualCost, limiter, policy } = ownMembers(options);
  if (actualCost !== undefined || typeof policy === "function") return true;
  if (limiter === undefined) return mayHold(policy as Limits);
  const { waits, parts } = limiter as GateLimiter;
  return waits || parts.some((part) => mayHold(part.policy));
}

function mayHold(policy: Limits): boolean {
  const { returns, limits = [] } = ownMembers(policy);
  return returns !== undefined || limits.some((limit) => ownMembers(limit).returns !== undefined);
}
