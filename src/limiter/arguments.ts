import { checkNames, expected, notDefined } from "../core/check.js";
import { parseCost, type Cost } from "../core/cost.js";
import type { Costs } from "../core/limit.js";
import { isPolicy, type Policy } from "../core/policy.js";
import type { Store, StoreMethods } from "../port/store.js";

/** One request's own cost and policy. */
export interface ConsumeOptions {
  /**
   * Whole tokens of every limit, or of each limit by its name, such as `{ tokens: 2_000 }`. A limit that is left out
   * costs its own `cost`, which is 1 by default.
   */
  readonly cost?: Cost | undefined;
  /** Other numbers for this request, such as a tier's; made by {@link definePolicy}. Default: the limiter's policy. */
  readonly policy?: Policy | undefined;
}

/** The argument after the key: a cost, or options. */
export type ConsumeArgument = number | ConsumeOptions | undefined;

const CONSUME_OPTIONS = ["cost", "policy"];

/** The cost in `asked` under `policy`, by default the policy's own. Throws what {@link parseCost} throws. */
export function costOf(asked: ConsumeArgument, policy: Policy): Costs {
  if (typeof asked === "object" && INHERITED.cost !== undefined && !Object.hasOwn(asked, "cost")) return policy.ownCosts;
  return parseCost(policy, typeof asked === "object" ? asked.cost : asked);
}

/** The policy in `asked`, or else the limiter's. Throws a TypeError for one that definePolicy did not make. */
export function policyOf(asked: ConsumeArgument, fallback: Policy): Policy {
  if (typeof asked !== "object") return fallback;
  if (asked === null) throw new TypeError(expected("cost", "a number, or an object with `cost` or `policy`", asked));
  checkNames(asked, CONSUME_OPTIONS);
  const { policy } = asked;
  if (policy === undefined || (INHERITED.policy !== undefined && !Object.hasOwn(asked, "policy"))) return fallback;
  if (!isPolicy(policy)) throw notDefined(policy);
  return policy;
}

// What every object inherits: nothing, unless an attacker added it to `Object.prototype`. Only then is `asked`
// searched.
const INHERITED: ConsumeOptions = {};

/** Runs `make`. Over an asynchronous store the limiter rejects where it would throw over a synchronous one. */
export function throwOrReject<T>(store: { readonly sync: boolean }, make: () => T | Promise<T>): T | Promise<T> {
  if (store.sync) return make();
  try {
    return Promise.resolve(make());
  } catch (error) {
    return Promise.reject(error as Error);
  }
}

/** An optional method of the store. Throws a TypeError when the store lacks it. */
export function requireMethod<M extends "peek" | "adjust" | "block" | "reset">(store: Store, name: M): NonNullable<StoreMethods<boolean>[M]> {
  const method = store[name];
  if (method === undefined) throw new TypeError(`Expected the store to have \`${name}\`, got one without it`);
  return method as NonNullable<StoreMethods<boolean>[M]>;
}
