import { createIdentityCheck, createRequestCheck } from "#diagnostics";
import { bindsMore, type Decision } from "../core/decision.js";
import { expected } from "../core/check.js";
import { UNIDENTIFIED, type Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import { isShadow } from "../limiter/internals.js";
import type { Limiter } from "../limiter/limiter.js";
import { createAddressCheck } from "./address-check.js";
import { rememberDecision } from "./decisions.js";
import { NONE, type FieldList } from "./headers/field.js";
import { stackFields, unionOfFields } from "./headers/stacked-fields.js";
import { createHeaderWriter, DEFAULT_STYLES } from "./headers/writer.js";
import type { CheckedOptions } from "./options/check-options.js";
import type { RequestReader } from "./reader.js";
import { createRefusals } from "./refusal/refusal.js";
import { runAside } from "./user-functions.js";
import { SKIP, type Outcome, type Pass, type Verdict } from "./verdict.js";

/** A decision about a request, and what it is about. */
export interface Judged {
  readonly caller: Key;
  readonly policy: Policy;
  readonly limiter: Limiter;
  readonly decision: Decision;
}

/** Turns what is known of a request into a verdict. */
export interface Verdicts<Request> {
  /** Throws a RangeError for a policy with numbers that the header fields cannot express. */
  checkPolicy(policy: Policy): void;
  /** Warns when the first requests of the gate are all unidentified. */
  checkIdentity(caller: Key): void;
  /** The verdict on a request that the limiter decided about. */
  onDecision(request: Request, caller: Key, policy: Policy, decision: Decision): Verdict | Promise<Verdict>;
  /** The one verdict on a request with several charges, by the decision that binds. At least one. */
  onDecisions(request: Request, judged: readonly Judged[]): Verdict | Promise<Verdict>;
  /** The verdict on a request without a key, when `unidentified` is `"refuse"`. */
  onMissingKey(request: Request): Verdict | Promise<Verdict>;
  /** The verdict on a request whose tier is `"blocked"`. */
  onBlocked(request: Request): Verdict | Promise<Verdict>;
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
    onBlocked: (request) => (shadow ? SKIP : refusals.forBlocked({ request, crossOrigin: isCrossOrigin(request) })),
    onDecision(request, caller, policy, decision) {
      const fields = rememberDecision(request, writer, decision, fieldsOf(request, caller, policy, decision));
      const crossOrigin = isCrossOrigin(request);
      const verdict = decision.allowed
        ? pass(decision, fields, crossOrigin, refundWhen === undefined ? null : (outcome) => settle(request, outcome, () => refund(limiter, caller, policy, decision)))
        : refusals.forDecision({ request, crossOrigin }, [policy, decision], decision, fields);
      report(decision, request);
      return verdict;
    },
    onDecisions(request, judged) {
      const binding = judged.reduce((a, b) => (bindsMore(b.decision, a.decision) ? b : a));
      const { decision } = binding;
      // The binding one is last, because its own is what the fields with one value show.
      const own = [...judged.filter((each) => each !== binding), binding]
        .map((each) => fieldsOf(request, each.caller, each.policy, each.decision))
        .reduce((before, last) => unionOfFields(before, stackFields(before, last, false, !decision.allowed)));
      const fields = rememberDecision(request, writer, decision, own);
      const crossOrigin = isCrossOrigin(request);
      const refundAll = (): Promise<unknown> => Promise.all(judged.map((each) => refund(each.limiter, each.caller, each.policy, each.decision)));
      const verdict = decision.allowed
        ? pass(decision, fields, crossOrigin, refundWhen === undefined ? null : (outcome) => settle(request, outcome, refundAll))
        : refusals.forDecision({ request, crossOrigin }, judged.flatMap((each) => [each.policy, each.decision]), decision, fields);
      report(decision, request);
      return verdict;
    },
  };

  function fieldsOf(request: Request, caller: Key, policy: Policy, decision: Decision): FieldList {
    checkRequest(request, caller, policy.name);
    checkAddress(request, caller, policy.name);
    if (decision.reason === "limited") checkIdentity(caller, true);
    // In shadow mode clients must not adapt to numbers that are not enforced.
    return shadow ? NONE : writer.write(policy, decision, caller === UNIDENTIFIED ? undefined : partitionKey?.(caller));
  }

  function pass(decision: Decision, fields: FieldList, crossOrigin: boolean, onOutcome: Pass["settle"]): Pass {
    return { outcome: "pass", fields, expose: crossOrigin ? writer.namesToExpose(fields) : NONE, decision, settle: onOutcome };
  }

  // After the verdict, which it must not change.
  function report(decision: Decision, request: Request): void {
    if (onDecision !== undefined) void runAside("onDecision", () => onDecision(decision, request));
  }

  async function settle(request: Request, outcome: Outcome, giveBack: () => Promise<unknown>): Promise<void> {
    if ((await runAside("refundWhen", () => refundWhen?.(outcome, request))) === true) await giveBack();
  }

  // The limiter refunds a decision once. An error here has no request left to fail, so the tokens stay spent.
  async function refund(of: Limiter, caller: Key, policy: Policy, decision: Decision): Promise<void> {
    try {
      await of.refund(caller, decision, { policy });
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
