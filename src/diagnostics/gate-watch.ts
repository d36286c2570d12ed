import type { Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { Store } from "../port/store.js";
import { createAddressCheck, type HeaderReader } from "./addresses.js";
import { createIdentityCheck } from "./identity.js";
import { createRequestCheck } from "./requests.js";

/** Watches the requests of one gate for keys that look like mistakes. */
export interface GateWatch<Request> {
  /** Called with the caller of each request. */
  caller(caller: Key): void;
  /** Called with each key that was charged. */
  charged(request: Request, key: Key, policy: Policy, isLimited: boolean): void;
}

/** Makes the {@link GateWatch} of one gate, whose option `unidentified` may be a function that refuses. */
export function createGateWatch<Request>(
  unidentified: unknown,
  { store, policy: { name } }: { readonly store: Store; readonly policy: Policy },
  reader: HeaderReader<Request>,
): GateWatch<Request> | undefined {
  const checkRequest = createRequestCheck(store);
  const checkAddress = createAddressCheck(reader);
  const checkIdentity = createIdentityCheck(unidentified === "share" || unidentified === "skip" ? unidentified : "refuse", name);
  return {
    caller: (caller) => checkIdentity(caller),
    charged(request, key, policy, isLimited) {
      checkRequest(request, key, policy.name);
      checkAddress(request, key, policy.name);
      if (isLimited) checkIdentity(key, true);
    },
  };
}
