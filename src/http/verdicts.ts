import type { GateWatch } from "#diagnostics";
import type { Decision } from "../core/decision.js";
import { shownKey, type Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { Decider, TakenPart } from "../limiter/internals.js";
import { rememberDecision } from "./response/decisions.js";
import { NONE, type FieldList } from "./headers/field.js";
import { addFields } from "./headers/stacked-fields.js";
import type { HeaderWriter } from "./headers/writer.js";
import { keepInFlight } from "../limiter/verbs/keep-in-flight.js";
import { neverShadow } from "../limiter/shadow.js";
import type { GateLimiter } from "./gate-limiter.js";
import type { CheckedOptions } from "./options/check-options.js";
import type { RequestReader } from "./reader.js";
import { Hold } from "./response/hold.js";
import { createRefusals } from "./response/refusal.js";
import { runAside } from "./user-functions.js";
import type { Verdict } from "./verdict.js";
import { Work, type Outcome, type WorkCharge } from "./response/work.js";

/** The decision of one limiter about a request, with its key and policy. */
export interface Judged extends WorkCharge {
  readonly key: Key;
  readonly policy: Policy;
  readonly limiter: Decider;
  readonly decision: Decision;
  /** The bytes of `pk`. */
  readonly partition: Uint8Array | undefined;
}

/** Turns decisions about a request into a verdict. */
export interface Verdicts<Request> {
  /** The verdict by the decision of one limiter. */
  onDecision(request: Request, judged: Judged): Verdict;
  /** The verdict by the decision of several limiters. `judged` has those that were asked, at least one. */
  onDecisions(request: Request, judged: ReadonlyArray<Judged & TakenPart>, charge: WorkCharge): Verdict;
  /** The verdict on a request without a key. */
  onUnidentified(request: Request): Verdict;
}

/** Makes the {@link Verdicts} of one gate. */
export function createVerdicts<Request, Rest extends readonly unknown[]>(
  options: CheckedOptions<Request, Rest>,
  reader: RequestReader<Request>,
  { parts }: GateLimiter,
  writer: HeaderWriter,
  watch: GateWatch<Request> | undefined,
): Verdicts<Request> {
  const { onDecision, actualCost } = options;
  const refusals = createRefusals(options, writer);
  const mayShadow = parts.some(({ shadow }) => shadow !== neverShadow);

  return {
    onUnidentified: (request) => refusals.forMissingKey(isCrossOrigin(request)),
    onDecision(request, judged) {
      watch?.charged(request, judged);
      return verdictBy(request, null, judged, mayShadow && isInShadow(judged) ? NONE : fieldsOf(judged));
    },
    onDecisions(request, judged, charge) {
      const shown = judged.find(({ binds, shadow }) => binds && !shadow);
      let own = shown === undefined ? NONE : fieldsOf(shown);
      for (const each of judged) {
        watch?.charged(request, each);
        // Only a partition key makes two items of one name distinct.
        const isShown = !each.binds && !each.shadow && (each.bindsItsName || writer.partitionOf !== null);
        if (isShown) own = addFields(fieldsOf(each), own, !charge.decision.allowed);
      }
      return verdictBy(request, judged, charge, own);
    },
  };

  // `all` is null for one limiter, which saves an allocation per request.
  function verdictBy(request: Request, all: readonly Judged[] | null, charge: WorkCharge, own: FieldList): Verdict {
    const { decision } = charge;
    const mayHold = all === null ? (charge.policy as Policy).inFlight !== undefined : all.some(({ policy }) => policy.inFlight);
    const costOf = actualCost === undefined ? null : costOfWork(actualCost, request);
    const work = decision.allowed ? new Work(mayHold ? kept(charge) : charge, costOf) : null;
    const fields = rememberDecision(request, writer, work, decision, own);
    const crossOrigin = isCrossOrigin(request);
    const verdict: Verdict = work === null
      ? refusals.forDecision(crossOrigin, all ?? [charge as Judged], decision as Exclude<Decision, { allowed: true }>, fields)
      : { outcome: "pass", fields, expose: crossOrigin ? writer.namesToExpose(fields) : NONE, decision, work };
    // This runs after the verdict is made, because it must not change the verdict.
    if (onDecision !== undefined) tell(charge, request);
    return verdict;
  }

  // Not in shadow mode: clients must not adapt to numbers that are not enforced.
  function fieldsOf({ policy, decision, partition }: Judged): FieldList {
    return writer.write(policy, decision, partition);
  }

  function tell({ decision, key }: WorkCharge, request: Request): void {
    void runAside("onDecision", () => onDecision?.(decision, request, shownKey(key) as Key));
  }

  function isCrossOrigin(request: Request): boolean {
    return (reader.header(request, "origin") ?? null) !== null;
  }
}

// The limiter asked for each refusal. A second answer of a `shadow` function may differ.
function isInShadow({ decision, limiter, key }: Judged): boolean {
  return decision.allowed && (decision.shadow !== undefined || limiter.shadow(key));
}

// The tokens in flight are renewed until the work ends, and then they come back.
function kept(charge: WorkCharge): WorkCharge {
  const { limiter, key, decision, policy } = charge;
  const hold = new Hold();
  return keepInFlight(limiter as GateLimiter, key, decision, policy, hold) ? { ...charge, hold } : charge;
}

// A separate function, because a function that makes a closure allocates for it on every call.
function costOfWork<Request>(
  actualCost: (outcome: Outcome, request: Request) => unknown,
  request: Request,
): (outcome: Outcome) => unknown {
  return (outcome) => actualCost(outcome, request);
}
