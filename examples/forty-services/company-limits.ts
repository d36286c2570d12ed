/**
 * What a company's own package adds to sluice, so that forty services limit in one way: one kind of key, one store, one
 * prefix for each service, the same answers and the same metrics. A service brings its name and its policies.
 */
import type { Request } from "express";
import { definePolicy, type Observer, type Policy, type PolicyOptions, type Store } from "sluice";
import { rateLimit } from "sluice/express";

/** The policies of one service, as JSON. The member `shadow` is ours: it tries a policy and refuses no one. */
export type PolicyFile = Readonly<Record<string, Omit<PolicyOptions, "name"> & { readonly shadow?: boolean }>>;

export interface CompanyOptions {
  /** The service, such as "mail". Its policies are named after it, such as "mail.interactive". */
  readonly service: string;
  readonly policies: PolicyFile;
  readonly store: Store;
  /** The caller, as the company's sign-in verified it. */
  readonly userOf: (request: Request) => string | undefined;
  readonly observe: Observer;
}

/** Returns the middleware of a policy by its name: `limits("interactive")`. Throws for a mistake in the file. */
export function companyLimits({ service, policies, store, userOf, observe }: CompanyOptions) {
  if (!/^[a-z][a-z0-9-]*$/.test(service)) throw new RangeError(`Expected a service in lower case, such as "mail", got ${service}`);
  const checked = new Map(Object.entries(policies).map(([name, { shadow, ...numbers }]) => [name, { policy: policyOf(service, name, numbers), shadow: shadow ?? false }]));
  const limit = rateLimit.with({ store, observe, key: (request) => ["user", userOf(request)], unidentified: "refuse" });

  return (name: string) => {
    const found = checked.get(name);
    if (found === undefined) throw new RangeError(`Expected one of the policies ${[...checked.keys()].join(", ")}, got ${name}`);
    return limit(found);
  };
}

function policyOf(service: string, name: string, numbers: Omit<PolicyOptions, "name">): Policy {
  return definePolicy({ ...numbers, name: `${service}.${name}` } as PolicyOptions);
}
