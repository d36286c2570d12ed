import { gateChecks } from "#diagnostics";
import { expected, wholeNumber } from "../core/check.js";
import { UNIDENTIFIED, type Key } from "../core/key.js";
import { internalsOf, type Decider } from "../limiter/internals.js";
import { isUnlimited, unlimited } from "../limiter/unlimited.js";
import { callerOf } from "./caller.js";
import { createCharge } from "./charge.js";
import { limiterOfGate } from "./gate-limiter.js";
import { createHeaderWriter, DEFAULT_STYLES } from "./headers/writer.js";
import { checkGateOptions } from "./options/check-options.js";
import type { AnyRespond, GateOptions, NoOptions } from "./options/options.js";
import { createPreflights, UNKNOWN } from "./preflights.js";
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

type CheckedFunction<Request, Rest extends readonly unknown[]> = (request: Request, ...rest: Rest) => unknown;

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
  const { unidentified = "share", functionTimeoutMs, cost: fixedCost } = options;
  const run = <T>(name: string, fn: (request: Request, ...rest: Rest) => T | Promise<T>) => contain(name, fn, functionTimeoutMs);
  const skip = options.skip && run<unknown>("skip", options.skip);
  const keyOf = run<unknown>("key", options.key);
  const costOf = typeof fixedCost === "function" ? run<unknown>("cost", fixedCost as CheckedFunction<Request, Rest>) : null;
  const policyOf =
    typeof options.policy === "function" ? run<unknown>("policy", options.policy as CheckedFunction<Request, Rest>) : null;
  const limiter = limiterOfGate(options);
  const { requests } = internalsOf(limiter);
  const [first] = limiter.parts as readonly [Decider];
  const writer = createHeaderWriter(options.headers ?? DEFAULT_STYLES);
  const watch = gateChecks ? gateChecks.createGateWatch(unidentified, first, reader) : undefined;
  const verdicts = createVerdicts(options, reader, limiter, writer, watch);
  const charge = createCharge(options, reader, limiter, writer, verdicts);
  const preflights = createPreflights(reader, limiter);
  const callerBy = requests === null ? callerToCharge : requests.callersBy(callerToCharge);
  return (request, rest) => (preflights.isPlain(request) ? onPreflight(request, rest) : begin(request, rest, UNKNOWN));

  // A separate function, because a function that makes a closure allocates for it on every call.
  function onPreflight(request: Request, rest: Rest | undefined): Verdict | Promise<Verdict> {
    return preflights.admit(() => keyOf(request, rest), begin.bind(null, request, rest));
  }

  // Each step ends with the next one: at once, or when a function of the options has answered. Only then `bind` makes a
  // function, so a request without promises makes no promise and no closure.
  function begin(request: Request, rest: Rest | undefined, knownKey: unknown): Verdict | Promise<Verdict> {
    if (skip === undefined) return identify(request, rest, knownKey, false);
    const skips = skip(request, rest);
    return skips instanceof Promise
      ? skips.then(identify.bind(null, request, rest, knownKey))
      : identify(request, rest, knownKey, skips);
  }

  function identify(request: Request, rest: Rest | undefined, knownKey: unknown, skips: unknown): Verdict | Promise<Verdict> {
    if (skips !== false && isSkip(skips)) return SKIP;
    const key = knownKey === UNKNOWN ? keyOf(request, rest) : knownKey;
    return key instanceof Promise ? key.then(price.bind(null, request, rest)) : price(request, rest, key);
  }

  function price(request: Request, rest: Rest | undefined, key: unknown): Verdict | Promise<Verdict> {
    if (key === unlimited) throw new TypeError(`${expected("key()", "a key", key)}. ${UNLIMITED_CURE}`);
    const caller = callerBy(key, first);
    if (caller === unlimited) return SKIP;
    if (caller === null) return verdicts.onUnidentified(request);
    if (costOf === null) return pickPolicy(request, rest, caller, fixedCost);
    const cost = costOf(request, rest);
    return cost instanceof Promise
      ? cost.then(pickPolicy.bind(null, request, rest, caller))
      : pickPolicy(request, rest, caller, cost);
  }

  function pickPolicy(request: Request, rest: Rest | undefined, caller: unknown, cost: unknown): Verdict | Promise<Verdict> {
    if (costOf !== null && (typeof cost !== "object" || cost === null)) wholeNumber("cost()", cost);
    if (policyOf === null) return charge(request, caller, cost, undefined);
    const policy = policyOf(request, rest);
    return policy instanceof Promise
      ? policy.then(chargeUnder.bind(null, request, caller, cost))
      : chargeUnder(request, caller, cost, policy);
  }

  function chargeUnder(request: Request, caller: unknown, cost: unknown, policy: unknown): Verdict | Promise<Verdict> {
    if (isUnlimited(policy)) return SKIP;
    if (policy === undefined || policy === null) throw noPolicy(policy);
    return charge(request, caller, cost, policy);
  }

  // Null for a caller without a key who is refused, `unlimited` for one without a limit. In shadow mode nobody is
  // refused.
  function callerToCharge(key: unknown, part: Decider): unknown {
    const caller = callerOf(key);
    watch?.caller(caller);
    if (caller !== UNIDENTIFIED || unidentified === "share") return caller;
    return unidentified === "skip" || part.shadow(caller) ? unlimited : null;
  }
}

function noPolicy(policy: unknown): TypeError {
  return new TypeError(`${expected("policy()", "made by definePolicy, or `unlimited`", policy)}. ${PLAN_CURE}`);
}

// Only `true` skips. Any other truthy value is a mistake, such as a forgotten call or comparison.
function isSkip(skipped: unknown): boolean {
  if (skipped && skipped !== true) throw new TypeError(expected("skip()", "true or false", skipped));
  return skipped === true;
}
