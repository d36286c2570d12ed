import type { Policy } from "../../core/policy.js";

/** What `make` makes of a policy, made once for each. Most servers have one policy, so the last one is found at a glance. */
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
