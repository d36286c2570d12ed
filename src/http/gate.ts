import { expected } from "../core/check.js";
import { monotonicClock, type Clock } from "../core/clock.js";
import { neverFits, parseCost, type Cost } from "../core/cost.js";
import type { Decision } from "../core/decision.js";
import { UNIDENTIFIED, type Key } from "../core/key.js";
import { makeLimit, perSecond } from "../core/limit.js";
import { makePolicy, type Policy } from "../core/policy.js";
import type { Store } from "../port/store.js";
import { thenAll, thenOne } from "../limiter/charge.js";
import { createLimiter, defaultStore } from "../limiter/create-limiter.js";
import { holderOf, type Holder } from "../limiter/holder.js";
import type { Limiter } from "../limiter/limiter.js";
import { LIMITER_OPTIONS, type LimiterOptions } from "../limiter/options.js";
import { callerOf, type MaybeKey } from "./caller.js";
import { takeCharges, type Claim } from "./charging/charges.js";
import { createClaims, type ClaimSetup, type Contained } from "./charging/claims.js";
import { createRequestHold } from "./charging/hold.js";
import { perPolicy } from "./headers/per-policy.js";
import { isPromise } from "./is-promise.js";
import { checkGateOptions, type CheckedOptions } from "./options/check-options.js";
import type { AnyRespond, GateCharge, GateOptions } from "./options/options.js";
import { createPreflights } from "./preflights.js";
import type { RequestReader } from "./reader.js";
import { contain } from "./user-functions.js";
import { SKIP, type Verdict } from "./verdict.js";
import { createVerdicts, type Unpaid } from "./verdicts.js";

/**
 * Decides about a request. Returns the verdict at once when the store and all functions of the options answer at once.
 * Otherwise it returns a promise. `"outcome" in result` is true for a verdict and false for a promise. `await` works
 * for both. `rest` holds the arguments that `key`, `policy`, `cost` and `skip` get after the request.
 */
export type Gate<Request, Rest extends readonly unknown[] = []> = (request: Request, rest?: Rest) => Verdict | Promise<Verdict>;

// Placeholder for a limiter that gets another policy with each request. Never charged.
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
  const { charges, unidentified = "share", functionTimeoutMs } = options;
  const run = <T>(name: string, fn: (request: Request, ...rest: Rest) => T | Promise<T>) => contain(name, fn, functionTimeoutMs);
  const skip = options.skip && run("skip", options.skip);
  const keys = charges.map(({ key }) => run("key", key));
  const preflights = createPreflights(reader, options.preflights, (options.clock as Clock | undefined) ?? monotonicClock);

  const limiters = limitersOf(options);
  const [limiter] = limiters as [Limiter];
  const verdicts = createVerdicts(options, reader, limiter);
  const checkPolicy = perPolicy(verdicts.checkPolicy);
  charges.forEach(({ policy, cost }, i) => {
    if (typeof policy !== "function") checkFixed((limiters[i] as Limiter).policy, cost);
  });
  const hold = options.wait && createRequestHold(holderOf(options.wait) as Holder, reader);
  const charge = charges.length === 1 ? claims(0, consume, verdicts.onUnpaid) : chargeSeveral();
  return (request, rest) => (preflights.isPlain(request) ? onPreflight(request, rest) : gate(request, rest));

  // The code that few requests run is in separate functions, because a function that makes a closure allocates for it
  // on every call.

  function gate(request: Request, rest?: Rest, known?: readonly MaybeKey[]): Verdict | Promise<Verdict> {
    return skip === undefined ? charge(request, rest, known) : chargeUnlessSkipped(skip(request, rest), request, rest, known);
  }

  function chargeUnlessSkipped(skipped: unknown, request: Request, rest?: Rest, known?: readonly MaybeKey[]): Verdict | Promise<Verdict> {
    if (isPromise(skipped)) return skipped.then((yes) => (isSkip(yes) ? SKIP : charge(request, rest, known)));
    return isSkip(skipped) ? SKIP : charge(request, rest, known);
  }

  function consume(request: Request, caller: Key, cost: Cost | undefined, policy: Policy): Verdict | Promise<Verdict> {
    if (hold !== undefined) return onceHeld(request, caller, policy, hold(request, caller, { cost, policy }));
    const decision = limiter.consume(caller, policy === limiter.policy && typeof cost !== "object" ? cost : { cost, policy });
    // Faster than isPromise here: V8 cannot optimize isPromise, because it is called with many shapes of objects.
    return "allowed" in decision
      ? verdicts.onDecision(request, { limiter, caller, policy, decision })
      : onceDecided(request, caller, policy, decision);
  }

  function onceDecided(request: Request, caller: Key, policy: Policy, later: Promise<Decision>): Promise<Verdict> {
    return later.then((decision) => verdicts.onDecision(request, { limiter, caller, policy, decision }));
  }

  function onceHeld(request: Request, caller: Key, policy: Policy, later: Promise<Decision | null>): Promise<Verdict> {
    return later.then((decision) =>
      decision === null ? verdicts.onUnpaid(request, "disconnected") : verdicts.onDecision(request, { limiter, caller, policy, decision }),
    );
  }

  function chargeSeveral(): ChargeRequest<Request, Rest> {
    const find = limiters.map((of, i) =>
      claims<Claim | Unpaid>(i, (_request, caller, cost, policy) => ({ limiter: of, caller, cost, policy }), (_request, why) => why),
    );
    return (request, rest, known) => {
      const found = find.map((each) => orRejected(() => each(request, rest, known)));
      return thenAll(found, (all) => {
        const unpaid = (["blocked", "unidentified"] as const).find((why) => all.includes(why));
        const paying = all.filter((each) => typeof each === "object");
        if (unpaid !== undefined || paying.length === 0) return verdicts.onUnpaid(request, unpaid ?? "skip");
        return thenOne(takeCharges(paying), (judged) => verdicts.onDecisions(request, judged));
      });
    };
  }

  function claims<Result>(i: number, take: ClaimSetup<Request, Rest, Result>["take"], leave: ClaimSetup<Request, Rest, Result>["leave"]) {
    const { checkIdentity } = verdicts;
    const [keyOf, ownPolicy] = [keys[i] as Contained<Request, Rest, MaybeKey>, (limiters[i] as Limiter).policy];
    return createClaims({ position: i, charge: charges[i] as GateCharge<Request, Rest>, keyOf, unidentified, ownPolicy, contain: run, checkIdentity, checkPolicy, take, leave });
  }

  function checkFixed(policy: Policy, cost: GateCharge<Request, Rest>["cost"]): void {
    checkPolicy(policy);
    if (typeof cost !== "function" && neverFits(policy, parseCost(policy, cost))) {
      throw new RangeError(expected("cost", `at most the capacity, ${policy.maxCost}`, cost));
    }
  }

  // A plain preflight costs its caller nothing. With a key, or beyond the bucket, it is an ordinary request.
  function onPreflight(request: Request, rest: Rest | undefined): Verdict | Promise<Verdict> {
    return thenAll(keys.map((keyOf) => keyOfPreflight(() => keyOf(request, rest))), (known) => {
      const isPlain = known.every((key) => callerOf(key) === UNIDENTIFIED) && preflights.take();
      return isPlain ? SKIP : gate(request, rest, known);
    });
  }
}

type ChargeRequest<Request, Rest> = (request: Request, rest?: Rest, known?: readonly MaybeKey[]) => Verdict | Promise<Verdict>;

// Browsers send preflights without credentials, so a `key` function that expects a signed-in user throws for them.
function keyOfPreflight(find: () => MaybeKey | Promise<MaybeKey>): MaybeKey | Promise<MaybeKey> {
  try {
    const key = find();
    return isPromise(key) ? key.catch(() => undefined) : key;
  } catch {
    return undefined;
  }
}

// Returns a rejected promise instead of throwing. After a throw, the promise of another charge would reject unhandled.
function orRejected<T>(find: () => T | Promise<T>): T | Promise<T> {
  try {
    return find();
  } catch (error) {
    return Promise.reject(error as Error);
  }
}

// Only `true` skips. Any other truthy value is a mistake, such as a forgotten call or comparison.
function isSkip(skipped: unknown): boolean {
  if (skipped && skipped !== true) throw new TypeError(expected("skip()", "true or false", skipped));
  return skipped === true;
}

/** A limiter for each charge, all over one store. */
function limitersOf<Request, Rest extends readonly unknown[]>(options: CheckedOptions<Request, Rest>): readonly Limiter[] {
  const { limiter, charges } = options;
  if (limiter !== undefined) return [limiter];
  const own = Object.fromEntries(LIMITER_OPTIONS.map((name) => [name, (options as Partial<LimiterOptions<Store>>)[name]])) as Partial<LimiterOptions<Store>>;
  const store: Store = own.store === undefined ? defaultStore(own.clock) : own.store;
  if (charges.length > 1 && (!store?.consumeTogether || store.takesTogether)) {
    throw new TypeError("Expected the store of `charges` to have `consumeTogether`, got one without it. Give a cluster's `prefix` a hash tag, a DurableObjectStore an `object`");
  }
  return charges.map(({ policy }) => createLimiter<Store>({ ...own, store, policy: typeof policy === "function" ? PICKED : policy }));
}
