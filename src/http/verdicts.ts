import { createIdentityCheck, createRequestCheck } from "#diagnostics";
import type { Decision } from "../core/decision.js";
import { expected } from "../core/check.js";
import { UNIDENTIFIED, type Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import { isShadow } from "../limiter/internals.js";
import type { Limiter } from "../limiter/limiter.js";
import { createAddressCheck } from "./address-check.js";
import { rememberDecision } from "./decisions.js";
import { NONE, type FieldList } from "./headers/field.js";
import { createHeaderWriter, DEFAULT_STYLES } from "./headers/writer.js";
import type { CheckedOptions } from "./options/check-options.js";
import type { RequestReader } from "./reader.js";
import { createRefusals } from "./refusal/refusal.js";
import { runAside } from "./user-functions.js";
import { SKIP, type Outcome, type Pass, type Verdict } from "./verdict.js";

/** Turns what is known of a request into a verdict. */
export interface Verdicts<Request> {
  /** Throws a RangeError for a policy with numbers that the header fields cannot express. */
  checkPolicy(policy: Policy): void;
  /** Warns when the first requests of the gate are all unidentified. */
  checkIdentity(caller: Key): void;
  /** The verdict on a request that the limiter decided about. */
  onDecision(request: Request, caller: Key, policy: Policy, decision: Decision): Verdict | Promise<Verdict>;
  /** The verdict on a request without a key, when `unidentified` is `"refuse"`. */
  onMissingKey(request: Request): Verdict | Promise<Verdict>;
}

/** Makes the {@link Verdicts} of one gate. The options are checked already, apart from `headers`. */
export function createVerdicts<Request, Rest extends readonly unknown[]>(
  options: CheckedOptions<Request, Rest>,
  reader: RequestReader<Request>,
  limiter: Limiter,
): Verdicts<Request> {
  const { onDecision, refundWhen, partitionKey, unidentified = "share" } = options;
  const wallClock = checkedClock(options.wallClock ?? Date.now);
  const writer = createHeaderWriter(options.headers ?? DEFAULT_STYLES, wallClock);
  const refusals = createRefusals(options, wallClock, writer.namesToExpose);
  const shadow = isShadow(limiter);
  const checkRequest = createRequestCheck(limiter.store ?? limiter);
  const checkIdentity = createIdentityCheck(unidentified, limiter.policy.name);
  const checkAddress = createAddressCheck(reader);

  return {
    checkPolicy: writer.check,
    checkIdentity,
    onMissingKey: (request) => (shadow ? SKIP : refusals.forMissingKey({ request, crossOrigin: isCrossOrigin(request) })),
    onDecision(request, caller, policy, decision) {
      checkRequest(request, caller, policy.name);
      checkAddress(request, caller, policy.name);
      if (decision.reason === "limited") checkIdentity(caller, true);
      // In shadow mode clients must not adapt to numbers that are not enforced.
      const own = shadow ? NONE : writer.write(policy, decision, caller === UNIDENTIFIED ? undefined : partitionKey?.(caller));
      const fields = rememberDecision(request, writer, decision, own);
      const crossOrigin = isCrossOrigin(request);
      const verdict = decision.allowed
        ? pass(request, caller, policy, decision, fields, crossOrigin)
        : refusals.forDecision({ request, crossOrigin }, policy, decision, fields);
      // After the verdict, which it must not change.
      if (onDecision !== undefined) void runAside("onDecision", () => onDecision(decision, request));
      return verdict;
    },
  };

  function pass(request: Request, caller: Key, policy: Policy, decision: Decision, fields: FieldList, crossOrigin: boolean): Pass {
    const settle = refundWhen === undefined ? null : (outcome: Outcome) => refund(request, caller, policy, decision, outcome);
    return { outcome: "pass", fields, expose: crossOrigin ? writer.namesToExpose(fields) : NONE, decision, settle };
  }

  // The limiter refunds a decision once. An error here has no request left to fail, so the tokens stay spent.
  async function refund(request: Request, caller: Key, policy: Policy, decision: Decision, outcome: Outcome): Promise<void> {
    if ((await runAside("refundWhen", () => refundWhen?.(outcome, request))) !== true) return;
    try {
      await limiter.refund(caller, decision, { policy });
    } catch {
      return;
    }
  }

  function isCrossOrigin(request: Request): boolean {
    return (reader.header(request, "origin") ?? null) !== null;
  }
}

function checkedClock(clock: () => number): () => number {
  return () => {
    const now = clock();
    if (!Number.isFinite(now)) throw new RangeError(expected("wallClock()", "a finite number of milliseconds", now));
    return now;
  };
}
