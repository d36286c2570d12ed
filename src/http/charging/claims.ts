import { notDefined, wholeNumber } from "../../core/check.js";
import type { Cost } from "../../core/cost.js";
import { UNIDENTIFIED, type Key } from "../../core/key.js";
import { isPolicy, type Policy } from "../../core/policy.js";
import { callerOf, type MaybeKey } from "../caller.js";
import { isPromise } from "../is-promise.js";
import type { GateCharge, Tier } from "../options/options.js";
import type { Unpaid } from "../verdicts.js";

/** The functions of one charge, and the callbacks that get their results. */
export interface ClaimSetup<Request, Rest extends readonly unknown[], Result> {
  /** The position of the charge among those of the gate. */
  readonly position: number;
  readonly charge: Omit<GateCharge<Request, Rest>, "key" | "policy"> & { readonly policy?: unknown };
  readonly keyOf: Contained<Request, Rest, MaybeKey>;
  readonly unidentified: "share" | "refuse" | "skip";
  /** The policy of requests for which the charge picks none. */
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
 * Makes a function that finds the key, the cost and the policy of a request. It then calls `take`, or `leave` for a
 * request that is not charged. `known` holds the keys of the gate's charges that are already known.
 */
export function createClaims<Request, Rest extends readonly unknown[], Result>(
  setup: ClaimSetup<Request, Rest, Result>,
): (request: Request, rest?: Rest, known?: readonly MaybeKey[]) => Result | Promise<Result> {
  const { position, charge, keyOf, unidentified, ownPolicy, contain, checkIdentity, checkPolicy, take, leave } = setup;
  const { cost: costOption } = charge;
  const costOf = typeof costOption === "function" ? contain<Cost>("cost", costOption) : null;
  const pickPolicy = typeof charge.policy === "function" ? contain("policy", charge.policy as (request: Request, ...rest: Rest) => Tier | Promise<Tier>) : null;
  return findCaller;

  // Each function below is one step. A step is asynchronous only if the user's function is. The functions that make
  // closures are separate, because a function that makes a closure allocates for it on every call.

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

// Checks the shape of the cost. The limiter checks the names of limits.
function checkCost(cost: unknown): Cost {
  return typeof cost === "object" && cost !== null ? (cost as Cost) : wholeNumber("cost()", cost);
}
