import { wholeNumber } from "./check.js";
import { costAt, simplest, type Costs } from "./limit.js";
import type { Policy } from "./policy.js";

/** The cost of a call: whole tokens for every limit, or for each limit by its name, such as `{ tokens: 2_000 }`. */
export type Cost = number | Readonly<Record<string, number>>;

/**
 * Checks the cost of a request. A limit that it does not name costs its own `cost`, 1 by default; so does every limit
 * when `cost` is undefined. Throws a TypeError or RangeError for a number that is not whole, and for an unknown limit
 * name.
 */
export function parseCost(policy: Policy, cost: Cost | undefined, name = "cost"): Costs {
  if (cost === undefined) return policy.ownCosts;
  return isByName(cost) ? byName(policy, cost, name, policy.ownCosts) : wholeNumber(name, cost);
}

/** Checks tokens like {@link parseCost}. A limit that is not named gets those of `others`, by default 0. */
export function parseTokens(policy: Policy, tokens: Cost, name: string, others: Costs = 0): Costs {
  return isByName(tokens) ? byName(policy, tokens, name, others) : wholeNumber(name, tokens);
}

function isByName(cost: Cost): cost is Readonly<Record<string, number>> {
  return typeof cost === "object" && cost !== null && !Array.isArray(cost);
}

function byName(policy: Policy, given: Readonly<Record<string, number>>, name: string, others: Costs): Costs {
  const names = policy.limits.map((limit) => limit.name);
  for (const each of Object.keys(given)) {
    if (!names.includes(each)) throw new TypeError(`Unknown limit \`${each}\` in \`${name}\`. The limits of policy "${policy.name}": ${names.join(", ")}`);
  }
  return simplest(policy.limits.map((limit, i) => (Object.hasOwn(given, limit.name) ? wholeNumber(`${name}.${limit.name}`, given[limit.name]) : costAt(others, i))));
}

/** Returns costs with `change` applied to the cost of each limit. */
export function mapCosts(policy: Policy, costs: Costs, change: (cost: number, position: number) => number): Costs {
  return simplest(policy.limits.map((_, i) => change(costAt(costs, i), i)));
}

/** Whether a cost is above the capacity of a limit, so that it can never fit. */
export function neverFits(policy: Policy, costs: Costs): boolean {
  return typeof costs === "number" ? costs > policy.maxCost : policy.limits.some(({ capacity }, i) => costAt(costs, i) > capacity);
}
