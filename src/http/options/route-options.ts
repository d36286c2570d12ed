import { gateChecks } from "#diagnostics";
import { ownMembers } from "../../core/check.js";
import { definePolicy, type PolicyOptions } from "../../core/policy.js";
import { defaultStore } from "../../limiter/create-limiter.js";
import { LIMITER_OPTIONS } from "../../limiter/options.js";
import { dateRulesOf } from "../../port/kind-rules.js";
import type { Key } from "../../core/key.js";
import type { ChargeOptions, GivenLimiter, OwnLimiter, SharedOptions } from "./options.js";

/**
 * Returns the options with a default store, which all gates made of them share. Options with a `store` or a `limiter`
 * stay as they are.
 */
export function shareStore<Options extends { readonly store?: unknown; readonly limiter?: unknown; readonly policy?: unknown }>(
  options: Options,
): Options {
  const own = ownMembers(options);
  return own.limiter !== undefined || own.store !== undefined
    ? own
    : { ...own, store: defaultStore(storeOptionsFor(own.policy)) };
}

/** The options of a store that keeps the limits of a policy. */
function storeOptionsFor(policy: unknown): Parameters<typeof defaultStore>[0] {
  if (typeof policy !== "object") return undefined;
  try {
    const defined = definePolicy(policy as PolicyOptions);
    return dateRulesOf(defined)?.storeOptions(defined);
  } catch {
    return undefined; // the gate throws the same error, after those of other options
  }
}

/** Returns `more` on top of `defaults`. Throws a TypeError for an unknown option. */
export function addDefaults(defaults: object, more: object): object {
  if (gateChecks) gateChecks.checkDefaults(more, LIMITER_OPTIONS);
  return overlayOptions(defaults, more);
}

/**
 * Returns `options` on top of `defaults`: those of a route on top of its plugin's, those of a call on top of a
 * company's. An undefined option keeps the default.
 *
 * A `limiter` replaces all options that make one, and a `policy` replaces a limiter, unless it picks the limiter's
 * policy by request. Throws a TypeError for a limit that takes keys of another kind than the default `key` gives.
 */
export function overlayOptions(defaults: object, options: object): object {
  const base: Record<string, unknown> = { ...defaults };
  const own = ownMembers(options) as Readonly<Record<string, unknown>>;
  if (gateChecks) gateChecks.checkOverlay(defaults, own);
  const given = Object.entries(own).filter(([, value]) => value !== undefined);
  if (own["limiter"] !== undefined) for (const name of LIMITER_OPTIONS) delete base[name];
  else if (own["policy"] !== undefined && typeof own["policy"] !== "function") delete base["limiter"];
  return { ...base, ...Object.fromEntries(given) };
}

/** `Options`, all of them optional if `Given`, the names of the defaults, has `Name`. */
type OptionalWith<Given, Name, Options> = Name extends Given
  ? { readonly [Option in keyof Options]?: Options[Option] | undefined }
  : Options;

/**
 * The options of a call on top of defaults, whose names are `Given`. `policy` or `limiter`, and `key`, are optional
 * only if a default exists. A default key is of one limiter, so a combination needs a key of its own.
 */
// Names, and not the defaults themselves: a package that exports a `rateLimit` with defaults declares its type, and the
// types of their functions may be of a package that it cannot name.
export type OverDefaults<Given, Request, Rest extends readonly unknown[], K> = SharedOptions<Request, Rest> &
  (
    | (OptionalWith<Given, "key", ChargeOptions<Request, Rest, Key>> &
        OptionalWith<Given, "policy", OwnLimiter<Request, Rest>>)
    | (OptionalWith<Given, "key", ChargeOptions<Request, Rest, K>> &
        GivenLimiter<Request, Rest, K> &
        ([K] extends [Key] ? unknown : { readonly key: unknown }))
  );

/**
 * Returns `make` with the method `with`, which returns the same function with defaults. Options of a call replace the
 * defaults.
 */
export function withDefaults<Make extends (options: never) => unknown>(
  make: Make, defaults: object = {},
): Make & { with(more: object): unknown } {
  const over = (...args: readonly [object]): unknown => {
    if (gateChecks) gateChecks.checkCall(args);
    return make((Object.keys(defaults).length === 0 ? args[0] : overlayOptions(defaults, Object(args[0]) as object)) as never);
  };
  const own = (more: object): unknown => withDefaults(make, addDefaults(defaults, more));
  return Object.assign(over, { with: own }) as unknown as Make & { with(more: object): unknown };
}
