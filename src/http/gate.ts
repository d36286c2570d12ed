import { expected, notDefined } from "../core/check.js";
import { neverFits, parseCost, type Cost } from "../core/cost.js";
import { UNIDENTIFIED, type Key } from "../core/key.js";
import { monotonicClock, type Clock } from "../core/clock.js";
import { makeLimit, perSecond } from "../core/limit.js";
import { isPolicy, makePolicy, type Policy } from "../core/policy.js";
import type { Store } from "../core/store.js";
import { thenAll, thenOne } from "../limiter/charge.js";
import { createLimiter, defaultStore } from "../limiter/create-limiter.js";
import type { Limiter } from "../limiter/limiter.js";
import { LIMITER_OPTIONS, type LimiterOptions } from "../limiter/options.js";
import { callerOf, type MaybeKey } from "./caller.js";
import { checkCost, createCharges } from "./charges.js";
import { checkGateOptions } from "./options/check-options.js";
import { perPolicy } from "./headers/per-policy.js";
import { isPromise } from "./is-promise.js";
import type { AnyRespond, GateCharge, GateOptions, Tier } from "./options/options.js";
import { createPreflights } from "./preflights.js";
import type { RequestReader } from "./reader.js";
import { contain } from "./user-functions.js";
import { SKIP, type Verdict } from "./verdict.js";
import { createVerdicts, type Judged } from "./verdicts.js";
import { createHold } from "./waiting.js";

/**
 * Decides about a request. Returns the verdict at once when the store and all functions of the options answer at once,
 * otherwise a promise. `"outcome" in result` tells the two apart; `await` takes both. `rest` is what `key`, `policy`,
 * `cost` and `skip` get after the request.
 */
export type Gate<Request, Rest extends readonly unknown[] = []> = (request: Request, rest?: Rest) => Verdict | Promise<Verdict>;

// Placeholder policy of a limiter whose policy is picked per request; never charged.
const PICKED = makePolicy("", [makeLimit({ capacity: 1, refill: perSecond(1) }, "")]);

/**
 * Makes a gate: the middleware without a framework. `reader` reads the framework's request.
 *
 * Throws a TypeError or RangeError that names the wrong option.
 * @example
 * const gate = createGate<Request>(
 *   {
 *     policy: { capacity: 30, refill: perSecond(5) },
 *     key: async (request) => ["user", (await sessionOf(request))?.userId],
 *   },
 *   webReader,
 * );
 * const verdict = await gate(new Request("http://localhost/inbox"));
 */
export function createGate<Request, Rest extends readonly unknown[] = []>(
  given: GateOptions<Request, Rest> & AnyRespond,
  reader: RequestReader<Request>,
): Gate<Request, Rest> {
  const options = checkGateOptions(given);
  const { cost: costOption, unidentified = "share", functionTimeoutMs } = options;
  const run = <T>(name: string, fn: (request: Request, ...rest: Rest) => T | Promise<T>) => contain(name, fn, functionTimeoutMs);
  const skip = options.skip && run("skip", options.skip);
  const keyOf = run("key", options.key ?? firstKeyOf(options.charges ?? []));
  const costOf = typeof costOption === "function" ? run("cost", costOption) : null;
  const pickPolicy = typeof options.policy === "function" ? run("policy", options.policy) : null;
  const preflights = createPreflights(reader, options.preflights, (options.clock as Clock | undefined) ?? monotonicClock);

  const makeLimiter = limiterMaker(options);
  const several = options.charges && createCharges({ charges: options.charges, unidentified, makeLimiter, contain: run });
  const limiter = several?.limiters[0] ?? options.limiter ?? makeLimiter(typeof options.policy === "function" ? null : (options.policy as Policy));
  const verdicts = createVerdicts(options, reader, limiter);
  const checkOnce = perPolicy(verdicts.checkPolicy);
  for (const { policy, cost } of several?.fixed ?? (pickPolicy === null ? [{ policy: limiter.policy, cost: costOption }] : [])) {
    checkPolicy(policy);
    if (typeof cost !== "function" && neverFits(policy, parseCost(policy, cost))) throw new RangeError(expected("cost", `at most the capacity, ${policy.maxCost}`, cost));
  }
  const hold = options.wait && createHold(options.wait, limiter, reader);
  return (request, rest) => (preflights.isPlain(request) ? onPreflight(request, rest) : gate(request, rest));

  // One step each: skip, caller, cost, policy, decision, verdict. A step is asynchronous only if its function is.

  function gate(request: Request, rest?: Rest, known?: MaybeKey): Verdict | Promise<Verdict> {
    const skipped = skip?.(request, rest) ?? false;
    if (isPromise(skipped)) return skipped.then((yes) => (isSkip(yes) ? SKIP : charge(request, rest, known)));
    return isSkip(skipped) ? SKIP : charge(request, rest, known);
  }

  function charge(request: Request, rest: Rest | undefined, known: MaybeKey): Verdict | Promise<Verdict> {
    return several === undefined ? findCaller(request, rest, known) : thenOne(several.chargeAll(request, rest), (judged) => judge(request, judged));
  }

  function judge(request: Request, judged: readonly Judged[] | "unidentified" | "blocked"): Verdict | Promise<Verdict> {
    if (judged === "unidentified") return verdicts.onMissingKey(request);
    if (judged === "blocked") return verdicts.onBlocked(request);
    for (const { caller, policy } of judged) {
      verdicts.checkIdentity(caller);
      checkPolicy(policy);
    }
    return judged.length === 0 ? SKIP : verdicts.onDecisions(request, judged);
  }

  function findCaller(request: Request, rest: Rest | undefined, known: MaybeKey): Verdict | Promise<Verdict> {
    const key = known === undefined ? keyOf(request, rest) : known;
    return isPromise(key) ? key.then((later) => findCost(request, rest, later)) : findCost(request, rest, key);
  }

  function findCost(request: Request, rest: Rest | undefined, key: MaybeKey): Verdict | Promise<Verdict> {
    const caller = callerOf(key);
    verdicts.checkIdentity(caller);
    if (caller === UNIDENTIFIED && unidentified === "skip") return SKIP;
    if (caller === UNIDENTIFIED && unidentified === "refuse") return verdicts.onMissingKey(request);
    if (costOf === null) return findPolicy(request, rest, caller, costOption as Cost | undefined);
    const cost = costOf(request, rest);
    return isPromise(cost)
      ? cost.then((known) => findPolicy(request, rest, caller, checkCost(known)))
      : findPolicy(request, rest, caller, checkCost(cost));
  }

  function findPolicy(request: Request, rest: Rest | undefined, caller: Key, cost: Cost | undefined): Verdict | Promise<Verdict> {
    if (pickPolicy === null) return consume(request, caller, cost, limiter.policy);
    const tier = pickPolicy(request, rest);
    return isPromise(tier) ? tier.then((known) => followTier(request, caller, cost, known)) : followTier(request, caller, cost, tier);
  }

  function followTier(request: Request, caller: Key, cost: Cost | undefined, tier: Tier): Verdict | Promise<Verdict> {
    if (tier === "unlimited") return SKIP;
    if (tier !== "blocked") return consume(request, caller, cost, checkPolicy(tier));
    return verdicts.onBlocked(request);
  }

  function consume(request: Request, caller: Key, cost: Cost | undefined, policy: Policy): Verdict | Promise<Verdict> {
    if (hold !== undefined) return hold(request, caller, { cost, policy }).then((known) => verdicts.onDecision(request, caller, policy, known));
    const decision = limiter.consume(caller, policy === limiter.policy && typeof cost !== "object" ? cost : { cost, policy });
    // Faster than isPromise here, which is called with too many shapes of objects to be optimized.
    return "allowed" in decision
      ? verdicts.onDecision(request, caller, policy, decision)
      : decision.then((known) => verdicts.onDecision(request, caller, policy, known));
  }

  // A plain preflight costs its caller nothing. With a key, or beyond the bucket, it is an ordinary request.
  function onPreflight(request: Request, rest: Rest | undefined): Verdict | Promise<Verdict> {
    const key = keyOfPreflight(request, rest);
    return isPromise(key) ? key.then(decide, () => decide(undefined)) : decide(key);

    function decide(known: MaybeKey): Verdict | Promise<Verdict> {
      return callerOf(known) === UNIDENTIFIED && preflights.take() ? SKIP : gate(request, rest, known);
    }
  }

  // Browsers send preflights without credentials, so a function that expects a signed-in user fails for them.
  function keyOfPreflight(request: Request, rest: Rest | undefined): MaybeKey | Promise<MaybeKey> {
    try {
      return keyOf(request, rest);
    } catch {
      return undefined;
    }
  }

  function checkPolicy(policy: Policy): Policy {
    if (!isPolicy(policy)) throw notDefined(policy, "policy()", 'made by definePolicy, "unlimited" or "blocked"');
    checkOnce(policy);
    return policy;
  }
}

// Whether a preflight has a key, if it is charged several times: it has one for any of the charges.
function firstKeyOf<Request, Rest extends readonly unknown[]>(charges: ReadonlyArray<GateCharge<Request, Rest>>): GateCharge<Request, Rest>["key"] {
  return (request, ...rest) => thenAll<MaybeKey, MaybeKey>(charges.map(({ key }) => key(request, ...rest)), (keys) => keys.find((key) => callerOf(key) !== UNIDENTIFIED));
}

// Only true skips. Another value that JavaScript takes for true is a mistake, such as a forgotten call or comparison.
function isSkip(skipped: unknown): boolean {
  if (skipped && skipped !== true) throw new TypeError(expected("skip()", "true or false", skipped));
  return skipped === true;
}

/** Makes limiters with the gate's options and one store for all. The policy is null when it is picked per request. */
function limiterMaker<Request, Rest extends readonly unknown[]>(options: GateOptions<Request, Rest>): (policy: Policy | null) => Limiter {
  const own = Object.fromEntries(LIMITER_OPTIONS.map((name) => [name, options[name]])) as Partial<LimiterOptions<Store>>;
  const store = options.charges && (own.store ?? defaultStore(own.clock));
  return (policy) => createLimiter<Store>({ ...own, ...(store && { store }), policy: policy ?? PICKED });
}
