import { expected, wholeNumber } from "../core/check.js";
import { UNIDENTIFIED, type Key } from "../core/key.js";
import { internalsOf } from "../limiter/internals.js";
import type { PlainLimiter } from "../limiter/limiter.js";
import { isUnlimited, unlimited } from "../limiter/unlimited.js";
import { callerOf } from "./caller.js";
import { createCharge } from "./charge.js";
import { limiterOfGate } from "./gate-limiter.js";
import { isPromise } from "./is-promise.js";
import { checkGateOptions } from "./options/check-options.js";
import type { AnyRespond, GateOptions } from "./options/options.js";
import { createPreflights } from "./preflights.js";
import type { RequestReader } from "./reader.js";
import { contain } from "./user-functions.js";
import { SKIP, type Verdict } from "./verdict.js";
import { createVerdicts } from "./verdicts.js";

/**
 * Decides about a request. Returns the verdict at once when the store and all functions of the options answer at once.
 * Otherwise it returns a promise. `"outcome" in result` is true for a verdict and false for a promise. `await` works
 * for both. `rest` holds the arguments that `key`, `policy`, `cost` and `skip` get after the request.
 */
export type Gate<Request, Rest extends readonly unknown[] = []> = (request: Request, rest?: Rest) => Verdict | Promise<Verdict>;

/** The answers of functions of the options that are not called again. */
type Known = { readonly [Name in "skip" | "key" | "cost" | "policy"]: { readonly value: unknown } | undefined };

type CheckedFunction<Request, Rest extends readonly unknown[]> = (request: Request, ...rest: Rest) => unknown;

// All members are its own: one that an attacker adds to Object.prototype is no answer.
const UNKNOWN: Known = { skip: undefined, key: undefined, cost: undefined, policy: undefined };
const NOT_SKIPPED: Known = { ...UNKNOWN, skip: { value: false } };
const UNLIMITED_CURE = "Write `skip`, or `policy: () => unlimited`";
const PLAN_CURE = "Return a policy for a plan that you do not know, too";

/** The key of a preflight whose `key` function failed. */
const FAILED = Symbol("failed");

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
  given: GateOptions<Request, Rest, K> & AnyRespond,
  reader: RequestReader<Request>,
): Gate<Request, Rest> {
  const options = checkGateOptions<Request, Rest>(given);
  const { unidentified = "share", functionTimeoutMs, cost: fixedCost } = options;
  const run = <T>(name: string, fn: (request: Request, ...rest: Rest) => T | Promise<T>) => contain(name, fn, functionTimeoutMs);
  const skip = options.skip && run<unknown>("skip", options.skip);
  const keyOf = run<unknown>("key", options.key);
  const costOf = typeof fixedCost === "function" ? run<unknown>("cost", fixedCost as CheckedFunction<Request, Rest>) : null;
  const policyOf =
    typeof options.policy === "function" ? run<unknown>("policy", options.policy as CheckedFunction<Request, Rest>) : null;
  const { limiter, mapKey } = limiterOfGate(options);
  const [plain] = limiter.parts as readonly [PlainLimiter];
  const verdicts = createVerdicts(options, reader, limiter);
  const charge = createCharge(options, reader, limiter, verdicts);
  const preflights = createPreflights(reader, limiter);
  return (request, rest) => (preflights.isPlain(request) ? onPreflight(request, rest) : decide(request, rest, UNKNOWN));

  // When a function answers later, its half of the procedure begins again with what is known by then. So a request
  // without promises makes no promise and no closure, and each function is called once.
  function decide(request: Request, rest: Rest | undefined, known: Known): Verdict | Promise<Verdict> {
    if (skip !== undefined) {
      const skips = known.skip === undefined ? skip(request, rest) : known.skip.value;
      if (isPromise(skips)) return decideLater(request, rest, learnLater(known, "skip", skips));
      if (isSkip(skips)) return SKIP;
    }
    const key = known.key === undefined ? keyOf(request, rest) : known.key.value;
    if (isPromise(key)) return decideLater(request, rest, learnLater(NOT_SKIPPED, "key", key));
    if (key === unlimited) throw new TypeError(`${expected("key()", "a key", key)}. ${UNLIMITED_CURE}`);
    const caller = mapKey === null ? callerToCharge(key, plain) : mapKey(key, callerToCharge);
    if (caller === unlimited) return SKIP;
    if (mapKey === null ? caller === null : isRefused(caller)) return verdicts.onUnidentified(request);
    return price(request, rest, caller, UNKNOWN);
  }

  function price(request: Request, rest: Rest | undefined, caller: unknown, known: Known): Verdict | Promise<Verdict> {
    let cost: unknown = fixedCost;
    if (costOf !== null) {
      cost = known.cost === undefined ? costOf(request, rest) : known.cost.value;
      if (isPromise(cost)) return priceLater(request, rest, caller, learnLater(UNKNOWN, "cost", cost));
      if (typeof cost !== "object" || cost === null) wholeNumber("cost()", cost);
    }
    let policy: unknown;
    if (policyOf !== null) {
      policy = known.policy === undefined ? policyOf(request, rest) : known.policy.value;
      if (isPromise(policy)) {
        return priceLater(request, rest, caller, learnLater({ ...UNKNOWN, cost: { value: cost } }, "policy", policy));
      }
      if (isUnlimited(policy)) return SKIP;
      if (policy === undefined || policy === null) throw noPolicy(policy);
    }
    return charge(request, caller, cost, policy);
  }

  function decideLater(request: Request, rest: Rest | undefined, known: Promise<Known>): Promise<Verdict> {
    return known.then((all) => decide(request, rest, all));
  }

  function priceLater(request: Request, rest: Rest | undefined, caller: unknown, known: Promise<Known>): Promise<Verdict> {
    return known.then((all) => price(request, rest, caller, all));
  }

  // Null for a caller without a key who is refused, `unlimited` for one without a limit. In shadow mode nobody is
  // refused.
  function callerToCharge(key: unknown, part: PlainLimiter): unknown {
    const caller = callerOf(key);
    verdicts.checkIdentity(caller);
    if (caller !== UNIDENTIFIED || unidentified === "share") return caller;
    return unidentified === "skip" || part.shadow(caller) ? unlimited : null;
  }

  // Throws for keys of a wrong form, so that a wrong name is not mistaken for a missing key.
  function isRefused(keys: unknown): boolean {
    let refused = false;
    const shared = mapKey?.(keys, (each) => ((refused ||= each === null), each ?? UNIDENTIFIED));
    if (refused) internalsOf(limiter).charges(shared, undefined);
    return refused;
  }

  // A plain preflight costs its caller nothing. With a key, or beyond the bucket, it is an ordinary request.
  function onPreflight(request: Request, rest: Rest | undefined): Verdict | Promise<Verdict> {
    const key = keyOfPreflight(() => keyOf(request, rest));
    return isPromise(key) ? key.then((value) => admit(request, rest, value)) : admit(request, rest, key);
  }

  function admit(request: Request, rest: Rest | undefined, value: unknown): Verdict | Promise<Verdict> {
    if (!hasKey(value) && preflights.take()) return SKIP;
    // A `key` function that failed is called again, so that the request fails with its error.
    return decide(request, rest, value === FAILED ? UNKNOWN : { ...UNKNOWN, key: { value } });
  }

  function hasKey(key: unknown): boolean {
    if (key === FAILED) return false;
    if (mapKey === null) return callerOf(key) !== UNIDENTIFIED;
    let has = false;
    mapKey(key, (each) => (has ||= callerOf(each) !== UNIDENTIFIED));
    return has;
  }
}

function noPolicy(policy: unknown): TypeError {
  return new TypeError(`${expected("policy()", "made by definePolicy, or `unlimited`", policy)}. ${PLAN_CURE}`);
}

function learnLater(known: Known, name: keyof Known, later: Promise<unknown>): Promise<Known> {
  return later.then((value) => ({ ...known, [name]: { value } }));
}

// Browsers send preflights without credentials, so a `key` function that expects a signed-in user throws for them.
function keyOfPreflight(find: () => unknown): unknown {
  try {
    const key = find();
    return isPromise(key) ? key.catch(() => FAILED) : key;
  } catch {
    return FAILED;
  }
}

// Only `true` skips. Any other truthy value is a mistake, such as a forgotten call or comparison.
function isSkip(skipped: unknown): boolean {
  if (skipped && skipped !== true) throw new TypeError(expected("skip()", "true or false", skipped));
  return skipped === true;
}
