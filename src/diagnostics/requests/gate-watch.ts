import type { Decision } from "../../core/decision.js";
import type { Key } from "../../core/key.js";
import type { Policy } from "../../core/policy.js";
import type { Store } from "../../port/store.js";
import { createAddressCheck, type HeaderReader } from "./addresses.js";
import { createIdentityCheck } from "./identity.js";
import { createHeaderCheck } from "./forwarded.js";
import { createRequestCheck } from "./requests.js";

/** What was charged: a key, under a policy. */
interface Charged {
  readonly key: Key;
  readonly policy: Policy;
  readonly limiter: { readonly store: Store };
  readonly decision: Decision;
}

/** Watches the requests of one gate for keys that look like mistakes. */
export interface GateWatch<Request> {
  /** Called with the caller of each request. */
  caller(caller: Key): void;
  /** Called for each limiter that was charged, also for one that no header field shows. */
  charged(request: Request, charged: Charged): void;
}

/**
 * Makes the {@link GateWatch} of one gate. Its option `unidentified` may be a function that refuses. Warnings of
 * callers without a key name the policy given here.
 */
export function createGateWatch<Request>(
  unidentified: unknown,
  { policy: { name } }: { readonly policy: Policy },
  reader: HeaderReader<Request>,
): GateWatch<Request> | undefined {
  const checksOf = new Map<object, ReadonlyArray<(request: Request, key: Key, policy: string) => void>>();
  const checkIdentity = createIdentityCheck(unidentified === "share" || unidentified === "skip" ? unidentified : "refuse", name);
  return {
    caller: (caller) => checkIdentity(caller),
    charged(request, { key, policy, limiter, decision }) {
      const { store } = limiter;
      const checks = checksOf.get(limiter) ?? [createRequestCheck(store), createAddressCheck(reader), createHeaderCheck(reader)];
      checksOf.set(limiter, checks);
      for (const check of checks) check(request, key, policy.name);
      if (decision.reason === "limited") checkIdentity(key, true);
    },
  };
}
