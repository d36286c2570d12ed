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
 * A route's `limiter` replaces all options that make a limiter, its `policy` replaces a limiter, its `store` replaces a
 * clock.
 */
export function overlayOptions<Request>(plugin: GateOptions<Request>, route: Partly<GateOptions<Request>>): GateOptions<Request> {
  const base: Partial<Record<string, unknown>> = { ...plugin };
  const own = ownMembers(route);
  if (own.limiter !== undefined) for (const name of LIMITER_OPTIONS) delete base[name];
  else if (own.policy !== undefined && typeof own.policy !== "function") delete base["limiter"];
  if (own.store !== undefined) delete base["clock"];
  const given = Object.entries(route).filter(([, value]) => value !== undefined);
  return { ...base, ...Object.fromEntries(given) } as unknown as GateOptions<Request>;
}
