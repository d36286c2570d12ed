import { checkOptions, expected } from "../core/check.js";
import { checkPolicyOptions } from "./policies.js";
import { replacementOf } from "./foreign-options.js";

/**
 * Throws a TypeError for limiter options that are not an object, and for an unknown name. Also throws for a wrong
 * `shadow` or `observe`, and for options that contradict each other.
 */
export function checkLimiterSetup(given: unknown, names: readonly string[]): void {
  const { policy, shadow, observe, breaker, localShare, processes } = checkOptions(given, names, "an object with a `policy`", replacementOf) as Readonly<Record<string, unknown>>;
  checkPolicyOptions(policy);
  if (shadow !== undefined && typeof shadow !== "boolean") throw new TypeError(expected("shadow", "true or false", shadow));
  if (observe !== undefined && typeof (Object(observe) as { readonly listens?: unknown }).listens !== "function") {
    throw new TypeError(expected("observe", "made by createObserver(listener)", observe));
  }
  if (breaker !== undefined && breaker !== false) {
    checkOptions(breaker, ["failures", "probeEveryMs"], "false, or an object with `failures` or `probeEveryMs`", undefined, "breaker");
  }
  if (localShare !== undefined && processes !== undefined) throw new TypeError("Expected `localShare` or `processes`, got both");
}
