import { checkNames, expected, ownMembers } from "../../core/check.js";
import { definePolicy, type PolicyOptions } from "../../core/policy.js";
import { overlayOptions } from "../../http/options/route-options.js";
import { createLimiter } from "../../limiter/create-limiter.js";
import type { Limiter, PlainLimiter } from "../../limiter/limiter.js";
import { LIMITER_OPTIONS, type LimiterOptions } from "../../limiter/options.js";
import { combine } from "../../limiter/several/combine.js";
import type { Store } from "../../port/store.js";
import { isPolicyLike, type AskedLimit } from "./decorators.js";

/** The options of a gate, before any check. */
export interface LooseOptions {
  readonly policy?: unknown;
  readonly limiter?: Limiter<never> | undefined;
  readonly key?: OfRequest;
  readonly cost?: unknown;
}

type OfRequest = (...args: readonly unknown[]) => unknown;

/** The limiters of a gate by the names of their policies. None for a function that picks the policy. */
export function limitersOf(options: LooseOptions): ReadonlyArray<readonly [name: string, limiter: Limiter]> {
  const { limiter, policy } = options;
  if (limiter !== undefined) return limiter.parts.map((part) => [part.policy.name, part]);
  if (typeof policy !== "object" || policy === null) return [];
  const made = limiterWith(options, policy as PolicyOptions);
  return [[made.policy.name, made]];
}

/** The limiter of one policy, with the options that belong to it. */
function limiterWith(options: LooseOptions, policy: PolicyOptions): PlainLimiter<Store> {
  const { store, onStoreError, shadow, observe } = ownMembers(options) as Omit<LimiterOptions<Store>, "policy">;
  return createLimiter<Store>({ policy, store, onStoreError, shadow, observe });
}

const LISTED_OPTIONS = ["policy", "key", "cost", "onStoreError", "shadow", "observe"];
const OF_ALL = "Other options are those of the module, or of @RateLimit({ limiter: combine({ … }), key })";

/** The options of a gate for what `@RateLimit` got, on top of those of the module. */
export function optionsOfLimit(defaults: LooseOptions, asked: Exclude<AskedLimit, false>): LooseOptions {
  if (!Array.isArray(asked)) return overlay(defaults, asked);
  const listed = (asked as readonly object[]).map((each) => {
    if (!isPolicyLike(each)) checkNames(each, LISTED_OPTIONS, () => ` in a list of limits. ${OF_ALL}`);
    return overlay(defaults, each);
  });
  const named = listed.map((each) => [nameOf(each), each] as const);
  const names = named.map(([name]) => name);
  if (names.length === 0 || new Set(names).size < names.length) {
    throw new TypeError(`Expected the policies of a list to have different names, got ${JSON.stringify(names)}`);
  }
  const members = named.map(([name, each]) => [name, limiterWith(each, each.policy as PolicyOptions)] as const);
  const costs = named.flatMap(([name, { cost }]) => (cost === undefined ? [] : [[name, cost] as const]));
  const rest = Object.entries(defaults).filter(([name]) => !(LIMITER_OPTIONS as readonly string[]).includes(name));
  return {
    ...Object.fromEntries(rest),
    limiter: combine(Object.fromEntries(members)) as Limiter<never>,
    key: byMember(named.map(([name, { key }]) => [name, key])),
    cost: byMember(costs),
  };
}

function overlay(defaults: LooseOptions, own: object): LooseOptions {
  return overlayOptions(defaults, isPolicyLike(own) ? { policy: own } : own);
}

function nameOf({ policy }: LooseOptions): string {
  if (typeof policy !== "object" || policy === null) {
    throw new TypeError(`${expected("policy", "an object in a list of limits", policy)}. ${OF_ALL}`);
  }
  return definePolicy(policy as PolicyOptions).name;
}

/** A function of the request that returns an object by names. A function that several names share is called once. */
function byMember(named: ReadonlyArray<readonly [name: string, value: unknown]>): OfRequest {
  return (...args) => {
    const called = new Map<OfRequest, unknown>();
    const values = named.map(([, value]) => {
      if (typeof value !== "function") return value;
      if (!called.has(value as OfRequest)) called.set(value as OfRequest, (value as OfRequest)(...args));
      return called.get(value as OfRequest);
    });
    const toObject = (all: readonly unknown[]): unknown => Object.fromEntries(named.map(([name], i) => [name, all[i]]));
    return values.some((value) => value instanceof Promise) ? Promise.all(values).then(toObject) : toObject(values);
  };
}
