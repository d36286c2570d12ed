import { defaultStore } from "../../limiter/create-limiter.js";
import { LIMITER_OPTIONS } from "../../limiter/options.js";
import type { GateOptions } from "./options.js";

/**
 * The options with a default store filled in, so that the gates made of them share it. A given `store` or `limiter`
 * stays.
 */
export function shareStore<Request>(options: GateOptions<Request>): GateOptions<Request> {
  if (options?.limiter !== undefined || options?.store !== undefined) return options;
  return { ...options, store: defaultStore(options?.clock) };
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
  if (route.limiter !== undefined) for (const name of LIMITER_OPTIONS) delete base[name];
  else if (route.policy !== undefined && typeof route.policy !== "function") delete base["limiter"];
  if (route.store !== undefined) delete base["clock"];
  const own = Object.entries(route).filter(([, value]) => value !== undefined);
  return { ...base, ...Object.fromEntries(own) } as unknown as GateOptions<Request>;
}
