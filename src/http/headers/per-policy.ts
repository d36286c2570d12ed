import type { Policy } from "../../core/policy.js";

/**
 * Returns `make` with a cache: it is called once for each policy. The last policy is compared first, because most gates
 * have only one.
 */
export function perPolicy<T>(make: (policy: Policy) => T): (policy: Policy) => T {
  const made = new WeakMap<Policy, T>();
  let last: Policy;
  let value: T;
  return (policy) => {
    if (policy !== last) {
      if (!made.has(policy)) made.set(policy, make(policy));
      value = made.get(policy) as T;
      last = policy;
    }
    return value;
  };
}
