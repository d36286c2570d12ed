import { expected, isPlain, wholeNumber } from "./check.js";
import { readings, type Decision } from "./decision.js";
import { costAt, simplest, type Costs } from "./limit.js";
import type { Policy } from "./policy.js";

/** Whole tokens for the one limit, or for every rate and quota; or a plain object with the names of limits. */
export type Cost = number | Readonly<Record<string, number>>;

/**
 * Checks the cost of a request. A limit that it does not name costs its own `cost`. `own` is the limiter's policy;
 * undefined for a number for several limiters. Throws a TypeError or RangeError for a cost that is none.
 */
export function parseCost(policy: Policy, cost: Cost | undefined, own: Policy | undefined): Costs {
  const costs = cost === undefined ? policy.ownCosts : parseTokens(policy, cost, "cost", policy.ownCosts);
  if (policy.inFlight === undefined || typeof cost !== "number") return costs;
  const isForOne = own?.inFlight !== undefined && own.limits.length === 1 && policy.limits.length === 1;
  return isForOne ? costs : exceptInFlight(policy, costs, policy.ownCosts);
}

/** Returns costs with those of `others` for limits in flight. */
export function exceptInFlight(policy: Policy, costs: Costs, others: Costs): Costs {
  return mapCosts(policy, costs, (cost, i) => (policy.limits[i]?.kind.isInFlight ? costAt(others, i) : cost));
}

/** Checks tokens like {@link parseCost}. A limit that is not named gets those of `others`, by default 0. */
export function parseTokens(policy: Policy, tokens: Cost, name: string, others: Costs = 0): Costs {
  return isByName(tokens, name) ? byName(policy, tokens, name, others) : wholeNumber(name, tokens);
}

// A Map, or an object that inherits its numbers, has no members of its own: it would count as the default cost.
function isByName(cost: Cost, name: string): cost is Readonly<Record<string, number>> {
  if (typeof cost !== "object" || cost === null || Array.isArray(cost)) return false;
  if (!isPlain(cost)) throw new TypeError(
    `${expected(name, "a number or a plain object", cost)} of another kind. Pass a copy: { ...object }, or ` +
    "Object.fromEntries(map)",
  );
  return true;
}

function byName(policy: Policy, given: Readonly<Record<string, number>>, name: string, others: Costs): Costs {
  const names = policy.limits.map((limit) => limit.name);
  for (const each of Object.keys(given)) {
    if (!names.includes(each)) {
      throw new TypeError(`Unknown limit \`${each}\` in \`${name}\`. The limits of policy "${policy.name}": ${names.join(", ")}`);
    }
  }
  return simplest(
    policy.limits.map((limit, i) =>
      Object.hasOwn(given, limit.name) ? wholeNumber(`${name}.${limit.name}`, given[limit.name]) : costAt(others, i),
    ),
  );
}

/** Returns costs with `change` applied to the cost of each limit. */
export function mapCosts(policy: Policy, costs: Costs, change: (cost: number, position: number) => number): Costs {
  return simplest(policy.limits.map((_, i) => change(costAt(costs, i), i)));
}

/** Whether a cost is above the capacity of a limit, so that it can never fit. */
export function neverFits(policy: Policy, costs: Costs): boolean {
  return typeof costs === "number"
    ? costs > policy.maxCost
    : policy.limits.some(({ capacity }, i) => costAt(costs, i) > capacity);
}

/**
 * The tokens that a decision took, or would have taken, from each limit of `policy`. By name, because versions differ
 * in order.
 */
export function costsOf(decision: Decision, policy: Policy): Costs {
  const all = readings(decision);
  return mapCosts(policy, 0, (none, i) => all.find(({ limit }) => limit === policy.limits[i]?.name)?.cost ?? none);
}
