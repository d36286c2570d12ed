import { ownMembers } from "../../core/check.js";
import { defaultStore } from "../../limiter/create-limiter.js";
import { LIMITER_OPTIONS } from "../../limiter/options.js";
import type { GateOptions } from "./options.js";

/**
 * The options with a default store filled in, so that the gates made of them share it. A given `store` or `limiter`
 * stays.
 */
export function shareStore<Request>(options: GateOptions<Request>): GateOptions<Request> {
  const own = ownMembers(options);
  if (own.limiter !== undefined || own.store !== undefined) return own;
  return { ...own, store: defaultStore(own.clock) };
}

type Partly<Options> = { readonly [Name in keyof Options]?: Options[Name] | undefined };

/**
 * A route's own options over those of its plugin. An undefined one leaves the plugin's.
 *
 * A route's `charges` replace what says who pays and how much, and the other way round. Its `limiter` replaces all
 * options that make a limiter, its `policy` replaces a limiter, its `store` replaces a clock. A waiter goes with its
 * limiter.
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
