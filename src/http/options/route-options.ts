import { ownMembers } from "../../core/check.js";
import { defaultStore } from "../../limiter/create-limiter.js";
import { LIMITER_OPTIONS } from "../../limiter/options.js";
import type { GateOptions } from "./options.js";

/**
 * Returns the options with a default store, which all gates made of them share. Options with a `store` or a `limiter`
 * stay as they are.
 */
export function shareStore<Request>(options: GateOptions<Request>): GateOptions<Request> {
  const own = ownMembers(options);
  if (own.limiter !== undefined || own.store !== undefined) return own;
  return { ...own, store: defaultStore(own.clock) };
}

type Partly<Options> = { readonly [Name in keyof Options]?: Options[Name] | undefined };

/**
 * Returns the options of one route: the options of its plugin, overridden by the route's. An undefined option of the
 * route keeps the plugin's value.
 *
 * A route's `charges` replace the plugin's `policy`, `key` and `cost`, and the other way round. A route's `limiter`
 * replaces all options that make a limiter. Its `policy` replaces a limiter, and its `store` replaces a clock. The
 * plugin's waiter is dropped together with the plugin's limiter.
 */
export function overlayOptions<Request>(plugin: GateOptions<Request>, route: Partly<GateOptions<Request>>): GateOptions<Request> {
  const base: Partial<Record<string, unknown>> = { ...plugin };
  const own = ownMembers(route);
  const has = (...names: ReadonlyArray<keyof typeof own>): boolean => names.some((name) => own[name] !== undefined);
  const drop = (...names: readonly string[]): void => names.forEach((name) => delete base[name]);
  if (has("charges")) drop("policy", "limiter", "key", "cost", "wait");
  if (has("policy", "limiter")) drop("charges");
  if (has("limiter")) drop(...LIMITER_OPTIONS, "wait");
  else if (has("policy") && typeof own.policy !== "function") drop("limiter", "wait");
  if (has("store")) drop("clock");
  const given = Object.entries(route).filter(([, value]) => value !== undefined);
  return { ...base, ...Object.fromEntries(given) } as unknown as GateOptions<Request>;
}
