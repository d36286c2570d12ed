import { checkNames, expected, wholeNumber } from "../core/check.js";
import { isPolicy, type Policy } from "../core/policy.js";
import type { Store, StoreMethods } from "../core/store.js";

/** One request's own cost and policy. */
export interface ConsumeOptions {
  /** Whole tokens, default 1. */
  readonly cost?: number;
  /** Other numbers for this request, such as a tier's; made by {@link definePolicy}. Default: the limiter's policy. */
  readonly policy?: Policy;
}

/** What comes after the key: a cost, or options. */
export type Asked = number | ConsumeOptions | undefined;

const ASKABLE = ["cost", "policy"];

/** The cost that was asked for, 1 by default. Throws for what is no whole number. */
export function costOf(asked: Asked): number {
  const cost = typeof asked === "object" ? asked.cost : asked;
  return cost === undefined ? 1 : wholeNumber("cost", cost);
}

/** The policy that was asked for, or else the limiter's. Throws a TypeError for one that definePolicy did not make. */
export function policyOf(asked: Asked, fallback: Policy): Policy {
  if (typeof asked !== "object") return fallback;
  if (asked === null) throw new TypeError(expected("cost", "a number, or an object with `cost` or `policy`", asked));
  checkNames(asked, ASKABLE);
  const own = asked.policy;
  if (own === undefined) return fallback;
  if (!isPolicy(own)) throw new TypeError(expected("policy", "made by definePolicy", own));
  return own;
}

/** Runs `ask` so that an asynchronous limiter rejects where a synchronous one throws. */
export function answer<T>(store: Store, ask: () => T | Promise<T>): T | Promise<T> {
  if (store.sync) return ask();
  try {
    return Promise.resolve(ask());
  } catch (error) {
    return Promise.reject(error as Error);
  }
}

/** An optional power of the store. Throws a TypeError when it lacks that one. */
export function power<P extends "peek" | "refund" | "reset" | "debit">(store: Store, name: P): NonNullable<StoreMethods<boolean>[P]> {
  const method = store[name];
  if (method === undefined) throw new TypeError(`Expected the store to have \`${name}\`, got one without it`);
  return method as NonNullable<StoreMethods<boolean>[P]>;
}
