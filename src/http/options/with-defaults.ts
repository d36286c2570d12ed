import { gateChecks } from "#diagnostics";
import type { Key } from "../../core/key.js";
import type { ChargeOptions, GivenLimiter, OwnLimiter, SharedOptions } from "./options.js";
import { addDefaults, overlayOptions } from "./route-options.js";

/** `Options`, all of them optional if `Defaults` has a value for `Name`. */
export type OptionalWith<Defaults, Name, Options> = Name extends keyof Defaults
  ? { readonly [Option in keyof Options]?: Options[Option] | undefined }
  : Options;

/**
 * The options of a call on top of `Defaults`. `policy` or `limiter`, and `key`, are optional only if a default exists.
 * A default key is of one limiter, so a combination needs a key of its own.
 */
export type OverDefaults<Defaults, Request, Rest extends readonly unknown[], K> = SharedOptions<Request, Rest> &
  (
    | (OptionalWith<Defaults, "key", ChargeOptions<Request, Rest, Key>> &
        OptionalWith<Defaults, "policy", OwnLimiter<Request, Rest>>)
    | (OptionalWith<Defaults, "key", ChargeOptions<Request, Rest, K>> &
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
