import { gateChecks } from "#diagnostics";
import { expected, hasOwn, notDefined, ownMembers, wholeNumber } from "../core/check.js";
import { neverFits, parseCost, type Cost } from "../core/cost.js";
import type { Decision } from "../core/decision.js";
import { UNIDENTIFIED, type Key } from "../core/key.js";
import { makeLimit } from "../core/limit.js";
import { isPolicy, makePolicy, type Policy, type PolicyOptions } from "../core/policy.js";
import type { Store } from "../port/store.js";
import type { LimiterCharge } from "../limiter/charge.js";
import { createGateLimiter } from "../limiter/create-limiter.js";
import { internalsOf, type GateLimiter, type LimiterInternals, type PartTokens } from "../limiter/internals.js";
import { thenOne } from "../limiter/now-or-later.js";
import { alwaysShadow } from "../limiter/shadow.js";
import { isUnlimited, unlimited } from "../limiter/unlimited.js";
import { callerOf, createPreflights, NOT_ASKED } from "./caller.js";
import { DEFAULT_STYLES } from "./headers/styles.js";
import { createHeaderWriter, type HeaderWriter } from "./headers/writer.js";
import { checkGateOptions, type CheckedOptions } from "./options/check-options.js";
import type { AnyRespond, GateOptions, NoOptions } from "./options/options.js";
import type { RequestReader } from "./reader.js";
import { disconnectedRefusal } from "./response/refusal.js";
import type { GateCharge, GateCharges } from "./response/work.js";
import { contain } from "./user-functions.js";
import { SKIP, type Verdict } from "./response/verdict.js";
import { createVerdicts } from "./verdicts.js";

/**
 * Decides about a request. Returns the verdict at once when the store and all functions of the options answer at once.
 * Otherwise it returns a promise. `"outcome" in result` is true for a verdict and false for a promise. `await` works
 * for both. `rest` holds the arguments that `key`, `policy`, `cost` and `skip` get after the request.
 */
export type Gate<Request, Rest extends readonly unknown[] = []> = (request: Request, rest?: Rest) => Verdict | Promise<Verdict>;

/** What is known of a request when a function of the options answers later, and the promise of its answer. */
interface SettledFacts {
  readonly skips?: Promise<unknown>;
  readonly key?: unknown;
  readonly caller?: unknown;
  readonly cost?: unknown;
  readonly policy?: Promise<unknown>;
}

/** What a request took, or the verdict on one that was not decided. */
type TakeResult = GateCharge | GateCharges | Verdict;

/** Charges a request to its caller. The policy is undefined for the limiter's own. */
type TakeStep<Request> = (request: Request, caller: unknown, cost: unknown, policy: unknown) => TakeResult | Promise<TakeResult>;

const UNLIMITED_CURE = "Write `skip`, or `policy: () => unlimited`";
const PLAN_CURE = "Return a policy for a plan that you do not know, too";

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
export function createGate<Request, Rest extends readonly unknown[] = [], K = Key>(
  given: (GateOptions<Request, Rest, K> | NoOptions<GateOptions<Request, Rest, K>>) & AnyRespond,
  reader: RequestReader<Request>,
): Gate<Request, Rest> {
  const options = checkGateOptions<Request, Rest>(given, reader.adapter);
  const { unidentified = "share", cost: fixedCost } = options;
  const skip = options.skip === undefined ? null : run("skip", options.skip);
  const keyOf = run("key", options.key);
  const costOf = typeof fixedCost === "function" ? run("cost", fixedCost) : null;
  const policyOf = typeof options.policy === "function" ? run("policy", options.policy) : null;
  const limiter = limiterOf(options);
  const { callersBy, take: takeAll } = internalsOf(limiter);
  const [first] = limiter.parts as readonly [GateLimiter];
  const writer = createHeaderWriter(options.headers ?? DEFAULT_STYLES);
  const watch = gateChecks ? gateChecks.createGateWatch(unidentified, first, reader) : undefined;
  const { onDecision, onUnidentified } = createVerdicts(options, reader, limiter, writer, watch);
  const take: TakeStep<Request> = takeAll === undefined ? takeOne(first, writer) : takeParts(takeAll, reader, limiter, writer);
  if (policyOf === null || takeAll !== undefined) checkFixed(fixedCost, limiter, writer);
  const preflights = createPreflights(reader, first, callersBy);
  const callerBy = callersBy === undefined ? callerToCharge : callersBy(callerToCharge);
  return (request, rest) => (preflights.isPlain(request) ? onPreflight(request, rest) : decide(request, rest, NOT_ASKED));

  // A separate function, because a function that makes a closure allocates for it on every call.
  function onPreflight(request: Request, rest: Rest | undefined): Verdict | Promise<Verdict> {
    return preflights.admit(() => keyOf(request, rest), (key) => decide(request, rest, key));
  }

  // Read from top to bottom. At the first promise, the twin takes over. So a request without promises makes none.
  function decide(request: Request, rest: Rest | undefined, knownKey: unknown): Verdict | Promise<Verdict> {
    const skips = skip === null ? false : skip(request, rest);
    if (skips instanceof Promise) return decideLater(request, rest, { skips, key: knownKey });
    if (skips !== false && isSkip(skips)) return SKIP;
    const key = knownKey === NOT_ASKED ? keyOf(request, rest) : knownKey;
    if (key instanceof Promise) return decideLater(request, rest, { key });
    const caller = who(key);
    if (caller === unlimited) return SKIP;
    if (caller === null) return onUnidentified(request);
    const cost = costOf === null ? fixedCost : costOf(request, rest);
    if (cost instanceof Promise) return decideLater(request, rest, { caller, cost });
    if (costOf !== null) checkCost(cost);
    const policy = policyOf === null ? undefined : policyOf(request, rest);
    if (policy instanceof Promise) return decideLater(request, rest, { caller, cost, policy });
    if (policyOf !== null && isFree(policy)) return SKIP;
    const taken = take(request, caller, cost, policy);
    return taken instanceof Promise ? taken.then(onTaken.bind(null, request)) : onTaken(request, taken);
  }

  // The twin takes the same steps, each with `await`. Those that were taken before the promise are in `taken`.
  async function decideLater(request: Request, rest: Rest | undefined, taken: SettledFacts): Promise<Verdict> {
    const known = ownMembers(taken);
    if (known.skips !== undefined && isSkip(await known.skips)) return SKIP;
    const caller = known.caller ?? who(await (known.key === NOT_ASKED ? keyOf(request, rest) : known.key));
    if (caller === unlimited) return SKIP;
    if (caller === null) return onUnidentified(request);
    const cost = costOf === null ? fixedCost : await ("cost" in known ? known.cost : costOf(request, rest));
    if (costOf !== null) checkCost(cost);
    const policy = policyOf === null ? undefined : await (known.policy ?? policyOf(request, rest));
    if (policyOf !== null && isFree(policy)) return SKIP;
    return onTaken(request, await take(request, caller, cost, policy));
  }

  function run(name: string, option: unknown): (request: Request, rest?: Rest) => unknown {
    return contain(name, option as (request: Request, ...rest: Rest) => unknown, options.functionTimeoutMs);
  }

  function who(key: unknown): unknown {
    if (key === unlimited) throw new TypeError(`${expected("key()", "a key", key)}. ${UNLIMITED_CURE}`);
    return callerBy(key, first);
  }

  // Null for a caller without a key who is refused, `unlimited` for one without a limit. In shadow mode nobody is
  // refused.
  function callerToCharge(key: unknown, part: GateLimiter): unknown {
    const caller = callerOf(key);
    watch?.caller(caller);
    if (caller !== UNIDENTIFIED || unidentified === "share") return caller;
    return unidentified === "skip" || part.shadow(caller) ? unlimited : null;
  }

  function onTaken(request: Request, taken: TakeResult): Verdict {
    return hasOwn(taken, "outcome") ? taken : onDecision(request, taken);
  }
}

function checkCost(cost: unknown): void {
  if (typeof cost !== "object" || cost === null) wholeNumber("cost()", cost);
}

// A function that returns no policy did not find the plan. That is no plan without a limit.
function isFree(policy: unknown): boolean {
  if (policy !== undefined && policy !== null) return isUnlimited(policy);
  throw new TypeError(`${expected("policy()", "made by definePolicy, or `unlimited`", policy)}. ${PLAN_CURE}`);
}

// Only `true` skips. Any other truthy value is a mistake, such as a forgotten call or comparison.
function isSkip(skipped: unknown): boolean {
  if (skipped && skipped !== true) throw new TypeError(expected("skip()", "true or false", skipped));
  return skipped === true;
}

/** Returns the limiter of the options, or makes one. */
function limiterOf<Request, Rest extends readonly unknown[]>(
  options: CheckedOptions<Request, Rest>,
): Pick<GateLimiter, "parts"> {
  const { limiter, policy } = options;
  if (limiter !== undefined) return limiter;
  return createGateLimiter<Store>({ ...options, policy: typeof policy === "function" ? picked() : (policy as PolicyOptions) });
}

// Placeholder for a limiter that gets another policy with each request. Never charged.
function picked(): PolicyOptions {
  return makePolicy("", [makeLimit({ capacity: 1, refill: { tokens: 1, everyMs: 1_000 } }, "")]);
}

/** Takes from a limiter of `createLimiter`. */
function takeOne(limiter: GateLimiter, { check, partitionOf }: HeaderWriter): TakeStep<unknown> {
  return (_request, key, cost, chosen) => {
    const caller = key as Key;
    const policy = chosen === undefined ? limiter.policy : checked(chosen);
    // Before the charge, because it may throw. A function `shadow` is asked later, and once.
    const partition = partitionOf === null || limiter.shadow === alwaysShadow ? undefined : partitionOf(caller);
    const isShort = chosen === undefined && typeof cost !== "object";
    const decision = limiter.consume(caller, isShort ? (cost as number | undefined) : { cost: cost as Cost, policy });
    // Faster than isPromise here: V8 cannot optimize isPromise, because it is called with many shapes of objects.
    return hasOwn(decision, "reason")
      ? { limiter, key: caller, policy, decision, partition, parts: undefined }
      : later({ limiter, key: caller, policy, partition, parts: undefined }, decision);
  };

  function checked(chosen: unknown): Policy {
    if (!isPolicy(chosen)) throw notDefined(chosen, "policy()", "made by definePolicy, or `unlimited`");
    check(chosen);
    return chosen;
  }

  // A separate function, because a function that makes a closure allocates for it on every call.
  function later(undecided: Omit<GateCharge, "decision">, decided: Promise<Decision>): Promise<GateCharge> {
    return decided.then((decision) => ({ ...undecided, decision }));
  }
}

/** Takes from a combination, or from a limiter that waits. */
function takeParts<Request>(
  take: NonNullable<LimiterInternals["take"]>, reader: RequestReader<Request>, limiter: object,
  { check, partitionOf }: HeaderWriter,
): TakeStep<Request> {
  return (request, key, cost, policy) =>
    thenOne(take(key, { cost, policy }, prepare, (leave) => reader.onDisconnect?.(request, leave)), (taken) => {
      if (taken === null) return disconnectedRefusal();
      const { decision, charges } = taken;
      return charges.length === 0 ? SKIP : { limiter, key, policy, decision, parts: charges };
    });

  function prepare({ limiter: part, key, policy, shadow }: LimiterCharge): Omit<GateCharge, "decision"> {
    check(policy);
    // In shadow mode no field is sent.
    return { limiter: part, key, policy, partition: partitionOf === null || shadow ? undefined : partitionOf(key) };
  }
}

/** Throws a RangeError for numbers that the header fields cannot express, and for a fixed cost above a capacity. */
function checkFixed(cost: unknown, limiter: Pick<GateLimiter, "parts">, writer: HeaderWriter): void {
  const { costsOfParts } = internalsOf(limiter);
  const fixed = typeof cost === "function" ? undefined : cost;
  const costs = costsOfParts?.(fixed) ?? [{ tokens: fixed, isForAll: false }];
  limiter.parts.forEach(({ policy }, i) => {
    const { tokens, isForAll } = costs[i] as PartTokens;
    writer.check(policy);
    if (!neverFits(policy, parseCost(policy, tokens as Cost | undefined, isForAll ? undefined : policy))) return;
    throw new RangeError(expected("cost", `at most the capacity, ${policy.maxCost}`, tokens));
  });
}
