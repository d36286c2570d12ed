import { expected, notDefined, wholeNumber } from "../../core/check.js";
import type { Costs } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import type { Charge, StoreCall } from "../../core/records.js";
import { checkNamedOnce, MOST_PARTS } from "../../port/store.js";
import { StoreError } from "./store-error.js";

/**
 * Throws a TypeError or RangeError for charges that must not reach a server. No limiter makes them, but a caller of
 * `ask` may. A negative cost would give tokens, and a cost that is not a number would erase a record. Two charges of one
 * bucket would be decided apart.
 */
export function checkCharges(charges: readonly Charge[]): void {
  if (!Array.isArray(charges)) throw new TypeError(expected("charges", "a list", charges));
  if (charges.length > MOST_PARTS) throw new RangeError(expected("charges", `a list of at most ${MOST_PARTS}`, charges));
  for (const { policy, key, cost } of charges as readonly Charge[]) {
    if (typeof key !== "string" || key === "") throw new TypeError(expected("key", "a non-empty string", key));
    checkCosts(policy, cost);
  }
  checkNamedOnce(charges);
}

/** Throws a StoreError for a call of several parts: the store changes one bucket in a step, and would take a part of them. */
export function checkOnePart({ parts }: StoreCall): void {
  if (parts.length === 1) return;
  throw new StoreError(
    "ERR_STORE_APART",
    `Expected a call about one bucket, got ${parts.length}. The store cannot change several in one step; no tokens were taken.`,
  );
}

/**
 * Throws a TypeError or RangeError for costs other than a whole number or a list with one number for each limit, and
 * for a copy of a policy.
 */
export function checkCosts(policy: Policy, costs: Costs): void {
  const { limits, maxCost } = policy;
  if (maxCost === undefined) throw notDefined(policy);
  const isList = Array.isArray(costs) && costs.length === limits.length;
  for (const each of isList ? costs : [costs]) wholeNumber("cost", each);
}
