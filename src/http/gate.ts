import { createIdentityCheck, createRequestCheck } from "#diagnostics";
import type { Decision } from "../core/decision.js";
import { expected, wholeNumber } from "../core/check.js";
import { UNIDENTIFIED, type Key } from "../core/key.js";
import { monotonicClock, type Clock } from "../core/clock.js";
import { makeLimit, perSecond } from "../core/limit.js";
import { isPolicy, makePolicy, type Policy } from "../core/policy.js";
import type { Store } from "../core/store.js";
import { isShadow } from "../limiter/internals.js";
import { createLimiter } from "../limiter/create-limiter.js";
import type { Limiter } from "../limiter/limiter.js";
import { LIMITER_OPTIONS, type LimiterOptions } from "../limiter/options.js";
import { callerOf, type MaybeKey } from "./caller.js";
import { checkGateOptions } from "./options/check-options.js";
import { NONE, type FieldList } from "./headers/field.js";
import { perPolicy } from "./headers/per-policy.js";
import { createHeaderWriter, DEFAULT_STYLES } from "./headers/writer.js";
import { isPromise } from "./is-promise.js";
import type { GateOptions, Tier } from "./options/options.js";
import { createPreflights } from "./preflights.js";
import { createAddressCheck } from "./address-check.js";
import type { RequestReader } from "./reader.js";
import { createRefusals } from "./refusal/refusal.js";
import { contain, runAside } from "./user-functions.js";
import type { Outcome, Pass, Skip, Verdict } from "./verdict.js";

/**
 * Decides about a request. Returns the verdict at once when the store and all functions of the options answer at once,
 * otherwise a promise. `"outcome" in result` tells the two apart; `await` takes both. `rest` is what `key`, `policy`,
 * `cost` and `skip` get after the request.
 */
export type Gate<Request, Rest extends readonly unknown[] = []> = (request: Request, rest?: Rest) => Verdict | Promise<Verdict>;

const SKIP: Skip = { outcome: "skip" };

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
  given: GateOptions<Request, Rest>,
  reader: RequestReader<Request>,
): Gate<Request, Rest> {
  const options = checkGateOptions(given);
  const { cost: costOption = 1, onDecision, refundWhen, partitionKey, unidentified = "share", functionTimeoutMs = 5_000 } = options;
  const run = <T>(name: string, fn: (request: Request, ...rest: Rest) => T | Promise<T>) => contain(name, fn, functionTimeoutMs);
  const skip = options.skip && run("skip", options.skip);
  const keyOf = run("key", options.key);
  const costOf = typeof costOption === "function" ? run("cost", costOption) : null;
  const pickPolicy = typeof options.policy === "function" ? run("policy", options.policy) : null;
  const wallClock = checkedClock(options.wallClock ?? Date.now);
  const writer = createHeaderWriter(options.headers ?? DEFAULT_STYLES, wallClock);
  const refusals = createRefusals({ ...options, functionTimeoutMs, wallClock, namesToExpose: writer.namesToExpose });
  const checkOnce = perPolicy(writer.check);
  const preflights = createPreflights(reader, options.preflights, (options.clock as Clock | undefined) ?? monotonicClock);

  const limiter = options.limiter ?? ownLimiter(options);
  if (pickPolicy === null) {
    checkPolicy(limiter.policy);
    if (typeof costOption === "number" && costOption > limiter.policy.maxCost) {
      throw new RangeError(expected("cost", `at most the capacity, ${limiter.policy.maxCost}`, costOption));
    }
  }
  const shadow = isShadow(limiter);
  const checkRequest = createRequestCheck(limiter.store ?? limiter);
  const checkIdentity = createIdentityCheck(unidentified, limiter.policy.name);
  const checkAddress = createAddressCheck(reader);
  return (request, rest) => (preflights.isPlain(request) ? onPreflight(request, rest) : gate(request, rest));

  // One step each: skip, caller, cost, policy, decision, verdict. A step is asynchronous only if its function is.

  function gate(request: Request, rest?: Rest, known?: MaybeKey): Verdict | Promise<Verdict> {
    const skipped = skip?.(request, rest) ?? false;
    if (isPromise(skipped)) return skipped.then((yes) => (isSkip(yes) ? SKIP : findCaller(request, rest, known)));
    return isSkip(skipped) ? SKIP : findCaller(request, rest, known);
  }

  function findCaller(request: Request, rest: Rest | undefined, known: MaybeKey): Verdict | Promise<Verdict> {
    const key = known === undefined ? keyOf(request, rest) : known;
    return isPromise(key) ? key.then((later) => findCost(request, rest, later)) : findCost(request, rest, key);
  }

  function findCost(request: Request, rest: Rest | undefined, key: MaybeKey): Verdict | Promise<Verdict> {
    const caller = callerOf(key);
    checkIdentity(caller);
    if (caller === UNIDENTIFIED && unidentified === "skip") return SKIP;
    if (caller === UNIDENTIFIED && unidentified === "refuse") {
      return shadow ? SKIP : refusals.forMissingKey({ request, crossOrigin: isCrossOrigin(request) });
    }
    if (costOf === null) return findPolicy(request, rest, caller, costOption as number);
    const cost = costOf(request, rest);
    return isPromise(cost)
      ? cost.then((known) => findPolicy(request, rest, caller, wholeNumber("cost()", known)))
      : findPolicy(request, rest, caller, wholeNumber("cost()", cost));
  }

  function findPolicy(request: Request, rest: Rest | undefined, caller: Key, cost: number): Verdict | Promise<Verdict> {
    if (pickPolicy === null) return consume(request, caller, cost, limiter.policy);
    const tier = pickPolicy(request, rest);
    return isPromise(tier) ? tier.then((known) => followTier(request, caller, cost, known)) : followTier(request, caller, cost, tier);
  }

  function followTier(request: Request, caller: Key, cost: number, tier: Tier): Verdict | Promise<Verdict> {
    if (tier === "unlimited") return SKIP;
    if (tier !== "blocked") return consume(request, caller, cost, checkPolicy(tier));
    return shadow ? SKIP : refusals.forBlocked({ request, crossOrigin: isCrossOrigin(request) });
  }

  function consume(request: Request, caller: Key, cost: number, policy: Policy): Verdict | Promise<Verdict> {
    const decision = limiter.consume(caller, policy === limiter.policy ? cost : { cost, policy });
    // Faster than isPromise here, which is called with too many shapes of objects to be optimized.
    return "allowed" in decision
      ? verdictOf(request, caller, policy, decision)
      : decision.then((known) => verdictOf(request, caller, policy, known));
  }

  function verdictOf(request: Request, caller: Key, policy: Policy, decision: Decision): Verdict | Promise<Verdict> {
    checkRequest(request, caller, policy.name);
    checkAddress(request, caller, policy.name);
    if (decision.reason === "limited") checkIdentity(caller, true);
    // In shadow mode clients must not adapt to numbers that are not enforced.
    const fields = shadow ? NONE : writer.write(policy, decision, caller === UNIDENTIFIED ? undefined : partitionKey?.(caller));
    const crossOrigin = isCrossOrigin(request);
    const verdict = decision.allowed
      ? pass(request, caller, policy, decision, fields, crossOrigin)
      : refusals.forDecision({ request, crossOrigin }, policy, decision, fields);
    // After the verdict, which it must not change.
    if (onDecision !== undefined) void runAside("onDecision", () => onDecision(decision, request));
    return verdict;
  }

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
    if (!isPolicy(policy)) throw new TypeError(expected("policy()", 'made by definePolicy, "unlimited" or "blocked"', policy));
    checkOnce(policy);
    return policy;
  }

  function isCrossOrigin(request: Request): boolean {
    return (reader.header(request, "origin") ?? null) !== null;
  }
}

// Only true skips. Another value that JavaScript takes for true is a mistake, such as a forgotten call or comparison.
function isSkip(skipped: unknown): boolean {
  if (skipped && skipped !== true) throw new TypeError(expected("skip()", "true or false", skipped));
  return skipped === true;
}

function ownLimiter<Request, Rest extends readonly unknown[]>(options: GateOptions<Request, Rest>): Limiter {
  const own = Object.fromEntries(LIMITER_OPTIONS.map((name) => [name, options[name]])) as Partial<LimiterOptions<Store>>;
  return createLimiter<Store>({ ...own, policy: typeof options.policy === "function" ? PICKED : (options.policy as Policy) });
}

function checkedClock(clock: () => number): () => number {
  return () => {
    const now = clock();
    if (!Number.isFinite(now)) throw new RangeError(expected("wallClock()", "a finite number of milliseconds", now));
    return now;
  };
}
