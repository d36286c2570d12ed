import { notDefined, wholeNumber } from "../../core/check.js";
import type { Cost } from "../../core/cost.js";
import { UNIDENTIFIED, type Key } from "../../core/key.js";
import { isPolicy, type Policy } from "../../core/policy.js";
import { callerOf, type MaybeKey } from "../caller.js";
import { isPromise } from "../is-promise.js";
import type { GateCharge, Tier } from "../options/options.js";
import type { Unpaid } from "../verdicts.js";

/** How the functions of one charge are called, and what is done with what they say. */
export interface ClaimSetup<Request, Rest extends readonly unknown[], Result> {
  /** The position of the charge among those of the gate. */
  readonly position: number;
  readonly charge: Omit<GateCharge<Request, Rest>, "key" | "policy"> & { readonly policy?: unknown };
  readonly keyOf: Contained<Request, Rest, MaybeKey>;
  readonly unidentified: "share" | "refuse" | "skip";
  /** The policy unless the charge picks one. */
  readonly ownPolicy: Policy;
  readonly contain: <T>(name: string, fn: (request: Request, ...rest: Rest) => T | Promise<T>) => Contained<Request, Rest, T>;
  checkIdentity(caller: Key): void;
  checkPolicy(policy: Policy): void;
  take(request: Request, caller: Key, cost: Cost | undefined, policy: Policy): Result | Promise<Result>;
  leave(request: Request, why: Unpaid): Result | Promise<Result>;
}

/** A function of the options, as the gate calls it. */
export type Contained<Request, Rest, T> = (request: Request, rest?: Rest) => T | Promise<T>;

/**
 * Makes the function that finds out who pays for a request, how much, and under which policy, and then calls `take`, or
 * `leave` for a request that is not charged. `known` are the keys of the gate's charges, where they are known.
 */
export function createClaims<Request, Rest extends readonly unknown[], Result>(
  setup: ClaimSetup<Request, Rest, Result>,
): (request: Request, rest?: Rest, known?: readonly MaybeKey[]) => Result | Promise<Result> {
  const { position, charge, keyOf, unidentified, ownPolicy, contain, checkIdentity, checkPolicy, take, leave } = setup;
  const { cost: costOption } = charge;
  const costOf = typeof costOption === "function" ? contain<Cost>("cost", costOption) : null;
  const pickPolicy = typeof charge.policy === "function" ? contain("policy", charge.policy as (request: Request, ...rest: Rest) => Tier | Promise<Tier>) : null;
  return findCaller;

  // One step each. A step is asynchronous only if its function is. Closures are made by functions of their own: a
  // function that makes some allocates for them on every call.

  function findCaller(request: Request, rest?: Rest, known?: readonly MaybeKey[]): Result | Promise<Result> {
    const before = known?.[position];
    const key = before === undefined ? keyOf(request, rest) : before;
    return isPromise(key) ? findCostLater(request, rest, key) : findCost(request, rest, key);
  }

  function findCostLater(request: Request, rest: Rest | undefined, key: Promise<MaybeKey>): Promise<Result> {
    return key.then((known) => findCost(request, rest, known));
  }

  function findCost(request: Request, rest: Rest | undefined, key: MaybeKey): Result | Promise<Result> {
    const caller = callerOf(key);
    checkIdentity(caller);
    if (caller === UNIDENTIFIED && unidentified !== "share") return leave(request, unidentified === "skip" ? "skip" : "unidentified");
    return costOf === null ? findPolicy(request, rest, caller, costOption as Cost | undefined) : followCost(request, rest, caller, costOf(request, rest));
  }

  function followCost(request: Request, rest: Rest | undefined, caller: Key, cost: Cost | Promise<Cost>): Result | Promise<Result> {
    return isPromise(cost)
      ? cost.then((known) => findPolicy(request, rest, caller, checkCost(known)))
      : findPolicy(request, rest, caller, checkCost(cost));
  }

  function findPolicy(request: Request, rest: Rest | undefined, caller: Key, cost: Cost | undefined): Result | Promise<Result> {
    if (pickPolicy === null) return take(request, caller, cost, ownPolicy);
    const tier = pickPolicy(request, rest);
    return isPromise(tier) ? followTierLater(request, caller, cost, tier) : followTier(request, caller, cost, tier);
  }

  function followTierLater(request: Request, caller: Key, cost: Cost | undefined, tier: Promise<Tier>): Promise<Result> {
    return tier.then((known) => followTier(request, caller, cost, known));
  }

  function followTier(request: Request, caller: Key, cost: Cost | undefined, tier: Tier): Result | Promise<Result> {
    if (tier === "unlimited") return leave(request, "skip");
    if (tier === "blocked") return leave(request, "blocked");
    if (!isPolicy(tier)) throw notDefined(tier, "policy()", 'made by definePolicy, "unlimited" or "blocked"');
    checkPolicy(tier);
    return take(request, caller, cost, tier);
  }
}

// The limiter checks tokens by the names of limits.
function checkCost(cost: unknown): Cost {
  return typeof cost === "object" && cost !== null ? (cost as Cost) : wholeNumber("cost()", cost);
}
