import { ownMembers } from "../../core/check.js";
import type { Returns } from "../../core/model.js";
import type { GateLimiter } from "../../limiter/internals.js";

/** The options that tell it. */
interface WatchingOptions {
  readonly actualCost?: unknown;
  readonly limiter?: unknown;
  readonly policy?: unknown;
}

/** What a limit may have that holds tokens while work is under way. */
interface Returning {
  readonly returns?: Partial<Returns> | undefined;
}

/** The part of a policy, or of its options, with its limits. */
interface Limits extends Returning {
  readonly limits?: readonly Returning[];
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
  const own = ownMembers(policy);
  return [own, ...(own.limits ?? []).map(ownMembers)].some(({ returns }) => returns?.kindCode?.kind.isInFlight);
}
