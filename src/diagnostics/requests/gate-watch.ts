import { memberOf } from "../../core/check.js";
import type { Decision } from "../../core/decision.js";
import { UNIDENTIFIED, type Key } from "../../core/key.js";
import type { Policy } from "../../core/policy.js";
import type { Store } from "../../port/store.js";
import { createAddressCheck, type HeaderReader } from "./addresses.js";
import { checkTwoReadings, createHeaderCheck } from "./forwarded.js";
import { createRequestCheck } from "./requests.js";
import { FIRST_CHECKED } from "./sampling.js";
import { warnOnce } from "../../warnings/warnings.js";

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
  /** Called with each request that is refused because it has no caller. */
  refused(request: Request): void;
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
  reader: HeaderReader<Request> & OrderCure,
): GateWatch<Request> | undefined {
  const checksOf = new Map<object, ReturnType<typeof addChecks>>();
  let fieldsLeft = FIRST_CHECKED;
  const effect = unidentified === "share" || unidentified === "skip" ? unidentified : "refuse";
  const checkIdentity = createIdentityCheck(effect, name, reader);
  return {
    caller: (caller) => checkIdentity(caller),
    refused: checkField,
    charged(request, { key, policy, limiter, decision }) {
      const checks = checksOf.get(limiter) ?? addChecks(limiter);
      for (let i = 0; i < checks.length; i++) checks[i]?.(request, key, policy.name);
      if (decision.reason === "limited") checkIdentity(key, true);
      if (key === UNIDENTIFIED) checkField(request);
    },
  };

  function checkField(request: Request): void {
    if (fieldsLeft-- > 0) checkTwoReadings(request, reader, name);
  }

  function addChecks(limiter: { readonly store: Store }): ReadonlyArray<(request: Request, key: Key, policy: string) => void> {
    const checks = [createRequestCheck(limiter.store), createAddressCheck(reader), createHeaderCheck(reader)];
    checksOf.set(limiter, checks);
    return checks;
  }
}

const FIRST_REQUESTS = 20;

/** What a framework says of its own when no request has a key. */
interface OrderCure {
  orderCure?(): string | undefined;
}

const MOUNT = "Mount the rate limit after authentication, or after the body parser if the key is in the body";

const EFFECTS = { share: "They share one bucket", refuse: "They get a 401", skip: "They are not limited" };

/**
 * Makes the check of one gate. It warns when all of the first 20 requests have no key, or when the bucket of requests
 * without a key refuses one of them. Call it with the caller of each request, and with `refused` for each refusal.
 */
function createIdentityCheck(
  unidentified: "share" | "refuse" | "skip", policy: string, reader: OrderCure,
): (caller: Key, refused?: boolean) => void {
  let left = FIRST_REQUESTS;
  const warn = (what: string): void =>
    warnOnce(
      "SLUICE_UNIDENTIFIED",
      `${what}: \`key\` returned nothing for them. ${EFFECTS[unidentified]}. ${memberOf(reader, "orderCure")?.() ?? MOUNT}`,
    );

  return (caller, refused = false) => {
    if (caller !== UNIDENTIFIED) return void (left = 0);
    if (refused) return warn(`The bucket of callers without a key is empty under policy "${policy}"`);
    if (left > 0 && --left === 0) warn(`All of the first ${FIRST_REQUESTS} requests under policy "${policy}" are unidentified`);
  };
}
