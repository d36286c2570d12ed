import { expected, wholeNumber } from "../core/check.js";
import type { Cost } from "../core/cost.js";
import type { Decision } from "../core/decision.js";
import { UNIDENTIFIED, type Key } from "../core/key.js";
import { definePolicy, type Policy } from "../core/policy.js";
import { chargeGroup, chargeOf, thenAll, thenOne } from "../limiter/charge.js";
import { isShadow } from "../limiter/internals.js";
import type { Limiter } from "../limiter/limiter.js";
import { callerOf, type MaybeKey } from "./caller.js";
import type { GateCharge, Tier } from "./options/options.js";
import type { Judged } from "./verdicts.js";

/** What one charge of a gate takes from a request. */
interface Part {
  readonly caller: Key;
  readonly cost: Cost | undefined;
  readonly tier: Tier;
}

/** How a gate with `charges` treats a request: the decision of each charge, in their order, of which some may be left out. */
export type ChargeAll<Request, Rest> = (request: Request, rest?: Rest) => readonly Judged[] | Unpaid | Promise<readonly Judged[] | Unpaid>;

/** Why nothing was charged. */
type Unpaid = "unidentified" | "blocked";

interface ChargesSetup<Request, Rest extends readonly unknown[]> {
  readonly charges: ReadonlyArray<GateCharge<Request, Rest>>;
  readonly unidentified: "share" | "refuse" | "skip";
  /** Makes the limiter of a policy, or of one that is picked per request. All share one store. */
  readonly makeLimiter: (policy: Policy | null) => Limiter;
  readonly contain: <T>(name: string, fn: (request: Request, ...rest: Rest) => T | Promise<T>) => (request: Request, rest?: Rest) => T | Promise<T>;
}

/** The charges of a gate. */
interface Charges<Request, Rest extends readonly unknown[]> {
  readonly chargeAll: ChargeAll<Request, Rest>;
  readonly limiters: readonly Limiter[];
  /** The policies that are not picked per request, and their costs: checked when the gate is made. */
  readonly fixed: ReadonlyArray<{ readonly policy: Policy; readonly cost: GateCharge<Request, Rest>["cost"] }>;
}

/**
 * Makes the function that takes all charges of a request, or none, in one step of the store. Throws a TypeError or
 * RangeError for a wrong charge, and a TypeError for a store that cannot take several charges at once.
 */
export function createCharges<Request, Rest extends readonly unknown[]>(setup: ChargesSetup<Request, Rest>): Charges<Request, Rest> {
  const { charges, unidentified, makeLimiter, contain } = setup;
  if (!Array.isArray(charges) || charges.length === 0) throw new TypeError(expected("charges", "a list such as [{ policy, key }]", charges));
  const readers = charges.map(({ policy, key, cost }) => {
    if (typeof key !== "function") throw new TypeError(expected("charges.key", "a function of the request", key));
    const fixed = typeof policy === "function" ? null : definePolicy(policy);
    return {
      limiter: makeLimiter(fixed),
      key: contain<MaybeKey>("key", key),
      cost: typeof cost === "function" ? contain<Cost>("cost", cost) : () => cost,
      policy: typeof policy === "function" ? contain<Tier>("policy", policy) : () => fixed as Policy,
    };
  });
  const limiters = readers.map(({ limiter }) => limiter);
  const [first] = limiters as [Limiter];
  if (limiters.length > 1 && first.store.consumeTogether === undefined) {
    throw new TypeError("Expected the store of `charges` to take several charges in one step, got one without `consumeTogether`. On a Redis Cluster give `prefix` a hash tag; otherwise stack two limits");
  }
  const fixed = limiters.flatMap(({ policy }, i) => (typeof charges[i]?.policy === "function" ? [] : [{ policy, cost: charges[i]?.cost }]));
  return { limiters, chargeAll, fixed };

  function chargeAll(request: Request, rest?: Rest): ReturnType<ChargeAll<Request, Rest>> {
    const parts = readers.map(({ key, cost, policy }) =>
      thenOne<MaybeKey, Part>(key(request, rest), (found) =>
        thenOne<Cost | undefined, Part>(cost(request, rest), (asked) =>
          thenOne<Tier, Part>(policy(request, rest), (tier) => ({
            caller: callerOf(found), cost: asked === undefined ? undefined : checkCost(asked), tier,
          })),
        ),
      ),
    );
    return thenAll(parts, take);
  }

  function take(parts: readonly Part[]): readonly Judged[] | Unpaid | Promise<readonly Judged[]> {
    if (unidentified === "refuse" && parts.some(({ caller }) => caller === UNIDENTIFIED)) return "unidentified";
    if (parts.some(({ tier }) => tier === "blocked")) return "blocked";
    const group = parts.flatMap(({ caller, cost, tier }, i) => {
      const isLeftOut = tier === "unlimited" || (unidentified === "skip" && caller === UNIDENTIFIED);
      return isLeftOut ? [] : [chargeOf(limiters[i] as Limiter, caller, { cost, policy: tier as Policy })];
    });
    if (group.length === 0) return [];
    // In shadow mode one that would refuse must not hold up the others.
    const decided = isShadow(first) ? thenAll(group.map(({ limiter, key, asked }) => limiter.consume(key, asked)), (all) => all) : chargeGroup(group);
    return thenOne(decided, (decisions) =>
      group.map(({ limiter, key, policy }, i) => ({ caller: key, policy, limiter, decision: decisions[i] as Decision })),
    );
  }
}

/** What a `cost` function returned. The limiter checks tokens by the names of limits. */
export function checkCost(cost: unknown): Cost {
  return typeof cost === "object" && cost !== null ? (cost as Cost) : wholeNumber("cost()", cost);
}
