import type { GateWatch } from "#diagnostics";
import { hasOwn } from "../core/check.js";
import type { Refused } from "../core/decision.js";
import { shownKey, type Key } from "../core/key.js";
import { neverShadow } from "../limiter/shadow.js";
import { keepInFlight } from "../limiter/verbs/keep-in-flight.js";
import { holdRulesOf, type Hold } from "../port/kind-rules.js";
import { internalsOf, type GateLimiter } from "../limiter/internals.js";
import { NONE, type FieldList } from "./headers/field.js";
import { addFields } from "./headers/stacked-fields.js";
import type { HeaderWriter } from "./headers/writer.js";
import type { CheckedOptions } from "./options/check-options.js";
import type { RequestReader } from "./reader.js";
import { createRefusals, disconnectedRefusal } from "./response/refusal.js";
import { Work, type GateCharge, type GateCharges } from "./response/work.js";
import { runAside } from "./user-functions.js";
import type { Verdict } from "./response/verdict.js";

/** Turns decisions about a request into a verdict. */
export interface Verdicts<Request> {
  /** The verdict by the decision on what a request took. */
  onDecision(request: Request, charge: GateCharge | GateCharges): Verdict;
  /** The verdict on a request without a key. */
  onUnidentified(request: Request): Verdict;
}

/** Makes the {@link Verdicts} of one gate. */
export function createVerdicts<Request, Rest extends readonly unknown[]>(
  options: CheckedOptions<Request, Rest>,
  reader: RequestReader<Request>,
  { parts }: Pick<GateLimiter, "parts">,
  writer: HeaderWriter,
  watch: GateWatch<Request> | undefined,
): Verdicts<Request> {
  const { onDecision, actualCost } = options;
  const { overload } = internalsOf(parts[0]);
  const refusals = createRefusals(options, writer, overload?.code);
  const mayShadow = parts.some(({ shadow }) => shadow !== neverShadow);

  return {
    onUnidentified(request) {
      watch?.refused(request);
      return refusals.forMissingKey(isCrossOrigin(request));
    },
    onDecision(request, charge) {
      const { decision } = charge;
      // The number of the whole service is no caller's budget.
      const own = overload ? NONE : charge.parts ? fieldsOfParts(request, charge) : fieldsOfOne(request, charge);
      const { allowed } = decision;
      const hold = allowed ? holdOf(charge) : undefined;
      const work = new Work(charge, writer, hold, allowed ? actualCost : undefined, request);
      work.answer = overload?.(charge, request);
      const fields = work.remember(request, own);
      const crossOrigin = isCrossOrigin(request);
      const verdict: Verdict = allowed
        ? { outcome: "pass", fields, expose: crossOrigin ? writer.namesToExpose(fields) : NONE, decision, work }
        : refusals.forDecision(crossOrigin, charge.parts ?? [charge], decision as Refused, fields);
      // This runs after the verdict is made, because it must not change the verdict.
      if (onDecision !== undefined) tell(request, charge);
      return hold !== undefined && hasLeft(request) ? dropped(work) : verdict;
    },
  };

  function fieldsOfOne(request: Request, charge: GateCharge): FieldList {
    watch?.charged(request, charge);
    return mayShadow && isInShadow(charge) ? NONE : fieldsOf(charge);
  }

  function fieldsOfParts(request: Request, { parts: charges, decision }: GateCharges): FieldList {
    const shown = charges.find(({ binds, shadow }) => binds && !shadow);
    let own = shown === undefined ? NONE : fieldsOf(shown);
    for (const each of charges) {
      watch?.charged(request, each);
      // Only a partition key makes two items of one name distinct.
      const isShown = !each.binds && !each.shadow && (each.bindsItsName || writer.partitionOf !== null);
      if (isShown) own = addFields(fieldsOf(each), own, !decision.allowed);
    }
    return own;
  }

  // Not in shadow mode: clients must not adapt to numbers that are not enforced.
  function fieldsOf({ policy, decision, partition }: GateCharge): FieldList {
    return writer.write(policy, decision, partition);
  }

  function tell(request: Request, { decision, key }: GateCharge | GateCharges): void {
    void runAside("onDecision", () => onDecision?.(decision, request, shownKey(key as Key) as Key));
  }

  function isCrossOrigin(request: Request): boolean {
    return (reader.header(request, "origin") ?? null) !== null;
  }

  // A reader calls the listener at once if the client has left.
  function hasLeft(request: Request): boolean {
    let has = false;
    reader.onDisconnect?.(request, () => (has = true))();
    return has;
  }
}

// The limiter asked for each refusal. A second answer of a `shadow` function may differ.
function isInShadow({ decision, limiter, key }: GateCharge): boolean {
  return decision.allowed && (hasOwn(decision, "shadow") || limiter.shadow(key));
}

// The client left before the decision: the tokens in flight come back, and no handler runs.
function dropped(work: Work): Verdict {
  void work.end({ status: 499, aborted: true });
  return disconnectedRefusal();
}

// The tokens in flight are renewed until the work ends, and then they come back.
function holdOf(charge: GateCharge | GateCharges): Hold | undefined {
  const holds = charge.parts ? charge.parts.find((part) => part.policy.inFlight) : charge;
  // Most policies hold nothing, and pay no call for it.
  const holdRules = holds?.policy.inFlight && holdRulesOf(holds.policy);
  if (holdRules === undefined) return undefined;
  const { limiter, key, decision, policy } = charge;
  const hold = holdRules.newHold();
  return keepInFlight(limiter as GateLimiter, key, decision, policy, hold) ? hold : undefined;
}
