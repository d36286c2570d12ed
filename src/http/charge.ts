import { expected, notDefined } from "../core/check.js";
import { neverFits, parseCost, type Cost } from "../core/cost.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import { isPolicy, type Policy } from "../core/policy.js";
import type { LimiterCharge } from "../limiter/charge.js";
import { internalsOf, type Decider, type Requests, type Taken } from "../limiter/internals.js";
import { alwaysShadow } from "../limiter/shadow.js";
import type { GateLimiter } from "./gate-limiter.js";
import type { HeaderWriter } from "./headers/writer.js";
import type { CheckedOptions } from "./options/check-options.js";
import type { RequestReader } from "./reader.js";
import { disconnectedRefusal } from "./response/refusal.js";
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
  limiter: GateLimiter,
  writer: HeaderWriter,
  verdicts: Verdicts<Request>,
): ChargeRequest<Request> {
  const { requests } = internalsOf(limiter);
  const fixed = typeof options.cost === "function" ? undefined : options.cost;
  const costs = requests === null ? [{ tokens: fixed, isForAll: false }] : requests.costs(fixed);
  if (typeof options.policy !== "function" || requests !== null) {
    limiter.parts.forEach(({ policy }, i) => {
      const { tokens, isForAll } = costs[i] as (typeof costs)[number];
      checkFixed(policy, tokens as Cost | undefined, isForAll ? undefined : policy);
    });
  }
  return requests === null
    ? chargeOne(reader, limiter as Decider, writer, verdicts)
    : chargeParts(requests, reader, limiter, writer, verdicts);

  function checkFixed(policy: Policy, cost: Cost | undefined, own: Policy | undefined): void {
    writer.check(policy);
    if (!neverFits(policy, parseCost(policy, cost, own))) return;
    throw new RangeError(expected("cost", `at most the capacity, ${policy.maxCost}`, cost));
  }
}

function chargeOne<Request>(
  reader: RequestReader<Request>, limiter: Decider, { check, partitionOf }: HeaderWriter, verdicts: Verdicts<Request>,
): ChargeRequest<Request> {
  const { policy: own } = limiter;
  return (request, key, cost, chosen) => {
    if (chosen !== undefined || cost === null) checkChosen(chosen, cost);
    const caller = key as Key;
    const policy = chosen === undefined ? own : (chosen as Policy);
    // Before the charge, because it may throw. A function `shadow` is asked later, and once.
    const partition = partitionOf === null || limiter.shadow === alwaysShadow ? undefined : partitionOf(caller);
    const isShort = chosen === undefined && typeof cost !== "object";
    const decision = limiter.consume(caller, isShort ? (cost as number | undefined) : { cost: cost as Cost, policy });
    if (policy.inFlight !== undefined) {
      return unlessGone(request, reader, decision, (made) =>
        verdicts.onDecision(request, { limiter, key: caller, policy, decision: made, partition }));
    }
    // Faster than isPromise here: V8 cannot optimize isPromise, because it is called with many shapes of objects.
    return "reason" in decision
      ? verdicts.onDecision(request, { limiter, key: caller, policy, decision, partition })
      : later(request, { limiter, key: caller, policy, partition }, decision);
  };

  function checkChosen(policy: unknown, cost: unknown): void {
    if (!isPolicy(policy)) throw notDefined(policy, "policy()", "made by definePolicy, or `unlimited`");
    check(policy);
    if (cost === null) throw new TypeError(expected("cost()", "a number or an object", cost));
  }

  // A separate function, because a function that makes a closure allocates for it on every call.
  function later(request: Request, undecided: Omit<Judged, "decision">, decided: Promise<Decision>): Promise<Verdict> {
    return decided.then((decision) => verdicts.onDecision(request, { ...undecided, decision }));
  }
}

function chargeParts<Request>(
  requests: Requests,
  reader: RequestReader<Request>,
  limiter: GateLimiter,
  { check, partitionOf }: HeaderWriter,
  { onDecisions }: Verdicts<Request>,
): ChargeRequest<Request> {
  const holds = limiter.parts.some((part) => part.policy.inFlight);
  return (request, key, cost, policy) => {
    const taken = requests.take(key, { cost, policy }, prepare, (leave) => reader.onDisconnect?.(request, leave));
    // A tier of the request may have a limit in flight, too.
    if (policy !== undefined || holds) return unlessGone(request, reader, taken, finish);
    return taken instanceof Promise ? taken.then(finish) : finish(taken);

    function finish(all: Taken<Omit<Judged, "decision">>): Verdict {
      if (all === "unlimited") return SKIP;
      if (all === "disconnected") return disconnectedRefusal();
      return onDecisions(request, all.parts, { limiter, key, policy, decision: all.decision });
    }
  };

  function prepare({ limiter: part, key, policy, shadow }: LimiterCharge): Omit<Judged, "decision"> {
    check(policy);
    // In shadow mode no field is sent.
    return { limiter: part, key, policy, partition: partitionOf === null || shadow ? undefined : partitionOf(key) };
  }
}

/**
 * Passes a decision on to `next`. If the client left before the decision, and the decision took tokens in flight, the
 * work of the request ends at once: the tokens come back, and no handler runs.
 */
function unlessGone<Request, T>(
  request: Request, reader: RequestReader<Request>, decided: T | Promise<T>, next: (decided: T) => Verdict,
): Verdict | Promise<Verdict> {
  let isGone = false;
  const stop = reader.onDisconnect?.(request, () => (isGone = true));
  const finish = (made: T): Verdict => {
    stop?.();
    const verdict = next(made);
    if (!isGone || verdict.outcome !== "pass" || !verdict.work.holds) return verdict;
    void verdict.work.end({ status: 499, aborted: true });
    return disconnectedRefusal();
  };
  if (!(decided instanceof Promise)) return finish(decided);
  return decided.then(finish, (error: unknown) => {
    stop?.();
    throw error;
  });
}
