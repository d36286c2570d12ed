import { checkNames, expected, notDefined } from "../core/check.js";
import { parseCost, type Cost } from "../core/cost.js";
import type { Costs } from "../core/limit.js";
import { isPolicy, type Policy } from "../core/policy.js";
import type { Store, StoreMethods } from "../port/store.js";

/** The cost and the policy of one request. */
export interface ConsumeOptions {
  /**
   * The tokens to take: a whole number for every limit, or an object with the names of limits, such as
   * `{ tokens: 2_000 }`. A limit that is not in the object takes its `cost` option, which is 1 by default.
   */
  readonly cost?: Cost | undefined;
  /**
   * The policy of this request, made by {@link definePolicy}, such as the one of the caller's tier. Default: the
   * limiter's policy.
   */
  readonly policy?: Policy | undefined;
}

/** The argument after the key: a cost, or options. */
export type ConsumeArgument = number | ConsumeOptions | undefined;

const CONSUME_OPTIONS = ["cost", "policy"];

/**
 * Returns the cost in `asked` under `policy`. Default: the cost of the policy's limits. Throws the errors of
 * {@link parseCost}.
 */
export function costOf(asked: ConsumeArgument, policy: Policy): Costs {
  if (typeof asked === "object" && INHERITED.cost !== undefined && !Object.hasOwn(asked, "cost")) return policy.ownCosts;
  return parseCost(policy, typeof asked === "object" ? asked.cost : asked);
}

/**
 * Returns the policy in `asked`, or else the limiter's. Throws a TypeError for a policy that definePolicy did not make.
 */
export function policyOf(asked: ConsumeArgument, fallback: Policy): Policy {
  if (typeof asked !== "object") return fallback;
  if (asked === null) throw new TypeError(expected("cost", "a number, or an object with `cost` or `policy`", asked));
  checkNames(asked, CONSUME_OPTIONS);
  const { policy } = asked;
  if (policy === undefined || (INHERITED.policy !== undefined && !Object.hasOwn(asked, "policy"))) return fallback;
  if (!isPolicy(policy)) throw notDefined(policy);
  return policy;
}

// Has the members that every object inherits: none, unless an attacker added one to `Object.prototype`. Only in that
// case is `asked` searched.
const INHERITED: ConsumeOptions = {};

/**
 * Calls `make`. When `make` throws, a limiter over an asynchronous store returns a rejected promise, and one over a
 * synchronous store throws.
 */
export function throwOrReject<T>(store: { readonly sync: boolean }, make: () => T | Promise<T>): T | Promise<T> {
  if (store.sync) return make();
  try {
    return Promise.resolve(make());
  } catch (error) {
    return Promise.reject(error as Error);
  }
}

/** Returns an optional method of the store. Throws a TypeError when the store lacks it. */
export function requireMethod<M extends "peek" | "adjust" | "block" | "reset">(store: Store, name: M): NonNullable<StoreMethods<boolean>[M]> {
  const method = store[name];
  if (method === undefined) throw new TypeError(`Expected the store to have \`${name}\`, got one without it`);
  return method as NonNullable<StoreMethods<boolean>[M]>;
}
