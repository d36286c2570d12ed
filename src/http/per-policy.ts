import type { Policy } from "../core/policy.js";

/** What \`make\` makes of a policy, made once for each. Most servers have one policy, so the last one is found at a glance. */
export function perPolicy<T>(make: (policy: Policy) => T): (policy: Policy) => T {
  const made = new WeakMap<Policy, { readonly value: T }>();
  let last: Policy | null = null;
  let value: T;
  return (policy) => {
    if (policy === last) return value;
    let known = made.get(policy);
    if (known === undefined) made.set(policy, (known = { value: make(policy) }));
    last = policy;
    return (value = known.value);
  };
}
