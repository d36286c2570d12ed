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
import { addFields } from "./headers/stacked-fields.js";
import { createHeaderWriter, DEFAULT_STYLES } from "./headers/writer.js";
import type { CheckedOptions } from "./options/check-options.js";
import type { RequestReader } from "./reader.js";
import { createRefusals } from "./refusal/refusal.js";
import { runAside } from "./user-functions.js";
import { SKIP, type Outcome, type Pass, type Verdict } from "./verdict.js";

/** A decision about a request, with its limiter, key and policy. */
export interface Judged {
  readonly caller: Key;
  readonly policy: Policy;
  readonly limiter: Limiter;
  readonly decision: Decision;
}

/** The reason why a request was not charged. */
export type Unpaid = "skip" | "unidentified" | "blocked" | "disconnected";

/** Turns decisions about a request into a verdict. */
export interface Verdicts<Request> {
  /** Throws a RangeError for a policy with numbers that the header fields cannot express. */
  checkPolicy(policy: Policy): void;
  /** Warns when the first requests of the gate are all unidentified. */
  checkIdentity(caller: Key): void;
  /** The verdict on a request with one charge. */
  onDecision(request: Request, judged: Judged): Verdict | Promise<Verdict>;
  /**
   * Returns the one verdict on a request with several charges, by the decision that binds. `judged` has at least one
   * entry.
   */
  onDecisions(request: Request, judged: readonly Judged[]): Verdict | Promise<Verdict>;
  /** The verdict on a request that was not charged. */
  onUnpaid(request: Request, why: Unpaid): Verdict | Promise<Verdict>;
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
    onUnpaid(request, why) {
      if (why === "skip" || shadow) return SKIP;
      const to = { request, crossOrigin: isCrossOrigin(request) };
      return why === "unidentified" ? refusals.forMissingKey(to) : refusals.forUnpaid(to, why);
    },
    onDecision: (request, judged) => verdictBy(request, judged, null, fieldsOf(request, judged)),
    onDecisions(request, judged) {
      const binding = judged.reduce(strictestOf);
      let own = fieldsOf(request, binding);
      for (const each of strictestOfEachName(judged, binding)) if (each !== binding) own = addFields(fieldsOf(request, each), own, !binding.decision.allowed);
      return verdictBy(request, binding, judged, own);
    },
  };

  // `all` is null for one charge, which saves an allocation per request.
  function verdictBy(request: Request, binding: Judged, all: readonly Judged[] | null, own: FieldList): Verdict | Promise<Verdict> {
    const { decision } = binding;
    const fields = rememberDecision(request, writer, all, decision, own);
    const crossOrigin = isCrossOrigin(request);
    const verdict = decision.allowed
      ? pass(decision, fields, crossOrigin, refundWhen === undefined ? null : settler(request, all ?? [binding]))
      : refusals.forDecision({ request, crossOrigin }, all ?? [binding], decision, fields);
    // This runs after the verdict is made, because it must not change the verdict.
    if (onDecision !== undefined) tell(decision, request);
    return verdict;
  }

  function fieldsOf(request: Request, { caller, policy, decision }: Judged): FieldList {
    checkRequest(request, caller, policy.name);
    checkAddress(request, caller, policy.name);
    if (decision.reason === "limited") checkIdentity(caller, true);
    // In shadow mode there are no fields: clients must not adapt to numbers that are not enforced.
    return shadow ? NONE : writer.write(policy, decision, caller === UNIDENTIFIED ? undefined : partitionKey?.(caller));
  }

  function pass(decision: Decision, fields: FieldList, crossOrigin: boolean, onOutcome: Pass["settle"]): Pass {
    return { outcome: "pass", fields, expose: crossOrigin ? writer.namesToExpose(fields) : NONE, decision, settle: onOutcome };
  }

  // Only a partition key makes two items of one name distinct. The fields with a single value are those of `binding`.
  function strictestOfEachName(judged: readonly Judged[], binding: Judged): Iterable<Judged> {
    if (partitionKey !== undefined) return judged;
    const byName = new Map([[binding.policy.name, binding]]);
    for (const each of judged) byName.set(each.policy.name, strictestOf(byName.get(each.policy.name) ?? each, each));
    return byName.values();
  }

  // A separate function, because a function that makes a closure allocates for it on every call.
  function settler(request: Request, judged: readonly Judged[]): (outcome: Outcome) => Promise<void> {
    return async (outcome) => {
      if ((await runAside("refundWhen", () => refundWhen?.(outcome, request))) === true) await Promise.all(judged.map(refund));
    };
  }

  function tell(decision: Decision, request: Request): void {
    void runAside("onDecision", () => onDecision?.(decision, request));
  }

  function isCrossOrigin(request: Request): boolean {
    return (reader.header(request, "origin") ?? null) !== null;
  }
}

// The limiter refunds each decision only once. The response is already sent, so after an error the tokens stay spent.
async function refund({ limiter, caller, policy, decision }: Judged): Promise<void> {
  try {
    await limiter.refund(caller, decision, { policy });
  } catch {
    return;
  }
}

function strictestOf(a: Judged, b: Judged): Judged {
  return bindsMore(enforced(b), enforced(a)) ? b : a;
}

// In shadow mode, the decision that would have been enforced.
function enforced({ decision }: Judged): Decision {
  return (decision.allowed && decision.shadow) || decision;
}

function checkedClock(clock: () => number): () => number {
  return () => {
    const now = clock();
    if (!Number.isFinite(now)) throw new RangeError(expected("wallClock()", "a finite number of milliseconds", now));
    return now;
  };
}
