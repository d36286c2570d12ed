import { samePolicy, type Policy } from "../core/policy.js";
import { processWide } from "../platform.js";
import type { Store } from "../port/store.js";

// Beyond 1,000 names the oldest is forgotten. A warning has been given by then.
const MOST_CLAIMS = 1_000;

/** Throws for two policies of one name with different numbers on one store. */
export function checkClaim(store: Store, policy: Policy): void {
  const claims = processWide("claims", () => new WeakMap<Store, Map<string, Policy>>());
  const byName = claims.get(store) ?? new Map<string, Policy>();
  const other = byName.get(policy.name);
  if (other !== undefined && !samePolicy(other, policy)) {
    throw new RangeError(
      `Expected policy "${policy.name}" to have the same numbers in every limiter on one store, got others: give it another name`,
    );
  }
  byName.set(policy.name, policy);
  if (byName.size > MOST_CLAIMS) byName.delete(byName.keys().next().value as string);
  claims.set(store, byName);
}
