import { expected, notDefined } from "../core/check.js";
import { neverFits, parseCost, type Cost } from "../core/cost.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import { isPolicy, type Policy } from "../core/policy.js";
import type { Charges, LimiterCharge } from "../limiter/charge.js";
import { internalsOf } from "../limiter/internals.js";
import type { Limiter, PlainLimiter } from "../limiter/limiter.js";
import { isOnePolicy } from "./gate-limiter.js";
import { perPolicy } from "./headers/per-policy.js";
import { isPromise } from "./is-promise.js";
import type { CheckedOptions } from "./options/check-options.js";
import type { RequestReader } from "./reader.js";
import { SKIP, type Verdict } from "./verdict.js";
import type { Judged, Verdicts } from "./verdicts.js";

/** Charges a request to its caller, and returns the verdict. */
type ChargeRequest<Request> = (request: Request, caller: unknown, cost: unknown, policy: unknown) => Verdict | Promise<Verdict>;

/**
 * Makes the last step of a gate. Throws a RangeError for a policy with numbers that the header fields cannot express,
 * and for a fixed cost above a capacity.
 */
export function createCharge<Request, Rest extends readonly unknown[]>(
  options: CheckedOptions<Request, Rest>,
  reader: RequestReader<Request>,
  limiter: Limiter<unknown>,
  verdicts: Verdicts<Request>,
): ChargeRequest<Request> {
  const checkPolicy = perPolicy(verdicts.checkPolicy);
  const fixed = typeof options.cost === "function" ? undefined : options.cost;
  const costs = isOnePolicy(limiter) ? [fixed] : internalsOf(limiter).spread("cost", fixed);
  if (typeof options.policy !== "function" || !isOnePolicy(limiter)) {
    limiter.parts.forEach(({ policy }, i) => checkFixed(policy, costs[i] as Cost | undefined));
  }
  if (isOnePolicy(limiter)) return chargeOne(limiter as PlainLimiter, verdicts, checkPolicy);
  return chargeParts(limiter, reader, verdicts, checkPolicy);

  function checkFixed(policy: Policy, cost: Cost | undefined): void {
    checkPolicy(policy);
    if (!neverFits(policy, parseCost(policy, cost))) return;
    throw new RangeError(expected("cost", `at most the capacity, ${policy.maxCost}`, cost));
  }
}

function chargeOne<Request>(
  limiter: PlainLimiter,
  verdicts: Verdicts<Request>,
  checkPolicy: (policy: Policy) => void,
): ChargeRequest<Request> {
  const { policy: own } = limiter;
  const { partitionOf } = verdicts;
  return (request, key, cost, chosen) => {
    if (chosen !== undefined || cost === null) checkChosen(chosen, cost);
    const caller = key as Key;
    const policy = chosen === undefined ? own : (chosen as Policy);
    const partition = partitionOf === null || limiter.shadow(caller) ? undefined : partitionOf(caller);
    const isShort = chosen === undefined && typeof cost !== "object";
    const decision = limiter.consume(caller, isShort ? (cost as number | undefined) : { cost: cost as Cost, policy });
    // Faster than isPromise here: V8 cannot optimize isPromise, because it is called with many shapes of objects.
    return "allowed" in decision
      ? verdicts.onDecision(request, { limiter, key: caller, policy, decision, partition })
      : later(request, { limiter, key: caller, policy, partition }, decision);
  };

  function checkChosen(policy: unknown, cost: unknown): void {
    if (!isPolicy(policy)) throw notDefined(policy, "policy()", "made by definePolicy, or `unlimited`");
    checkPolicy(policy);
    if (cost === null) throw new TypeError(expected("cost()", "a number or an object", cost));
  }

  // A separate function, because a function that makes a closure allocates for it on every call.
  function later(request: Request, undecided: Omit<Judged, "decision">, decided: Promise<Decision>): Promise<Verdict> {
    return decided.then((decision) => verdicts.onDecision(request, { ...undecided, decision }));
  }
}

function chargeParts<Request>(
  limiter: Limiter<unknown>,
  reader: RequestReader<Request>,
  verdicts: Verdicts<Request>,
  checkPolicy: (policy: Policy) => void,
): ChargeRequest<Request> {
  const { charges: chargesOf, take, partsOf } = internalsOf(limiter);
  const { partitionOf } = verdicts;
  return (request, key, cost, chosen) => {
    const asked = { ...(cost === undefined ? {} : { cost }), ...(chosen === undefined ? {} : { policy: chosen }) };
    const charges = chargesOf(key, asked);
    if (charges.every((charge) => charge === null)) return SKIP;
    for (const charge of charges) if (charge !== null) checkPolicy(charge.policy);
    const partitions = charges.map(partitionOfCharge);
    const decided = limiter.waits ? hold(request, charges) : take(charges);
    return isPromise(decided) ? decided.then(finish) : finish(decided);

    function finish(decision: Decision | null): Verdict | Promise<Verdict> {
      if (decision === null) return verdicts.onDisconnected(request);
      const parts = partsOf(decision);
      const judged = charges.flatMap((charge, i) => (charge === null || !parts[i] ? [] : judge(charge, parts[i], partitions[i])));
      return verdicts.onDecisions(request, judged, { limiter, key, policy: chosen, decision });
    }
  };

  // In shadow mode no field is sent.
  function partitionOfCharge(charge: LimiterCharge | null): Uint8Array | undefined {
    if (partitionOf === null || charge === null || charge.limiter.shadow(charge.key)) return undefined;
    return partitionOf(charge.key);
  }

  function judge({ limiter: part, key, policy }: LimiterCharge, decision: Decision, partition: Uint8Array | undefined): Judged {
    return { limiter: part, key, policy, decision, partition };
  }

  /** Waits for the tokens. Resolves to null when the client disconnected. */
  async function hold(request: Request, charges: Charges): Promise<Decision | null> {
    const disconnected = new AbortController();
    const release = reader.onDisconnect?.(request, () => disconnected.abort());
    try {
      return await take(charges, disconnected.signal);
    } catch (error) {
      if (!disconnected.signal.aborted) throw error;
      return null;
    } finally {
      release?.();
    }
  }
}
