import { checkNames, checkOptions, expected } from "../core/check.js";
import { isPolicy, POLICY_OPTIONS } from "../core/policy.js";
import { replacementOf } from "./moving/misspelt.js";
import { checkForeign } from "./moving/moving.js";

/** The options of a limiter before any check. A member may be any value. */
interface LimiterBehavior {
  readonly policy?: unknown;
  readonly shadow?: unknown;
  readonly observe?: unknown;
}

/**
 * Throws a TypeError for limiter options that are not an object, for an unknown name, and for a wrong `shadow` or
 * `observe`.
 */
export function checkLimiterSetup(given: unknown, names: readonly string[]): void {
  checkForeign(given, names);
  checkBehavior(
    checkOptions(given, names, "an object with a `policy`", replacementOf) as LimiterBehavior,
    "`consume(key, { policy: unlimited })`",
  );
}

/**
 * Throws a TypeError for `unlimited` in place of a policy, for an option of another library inside the policy, and for
 * a wrong `shadow` or `observe`. `unlimitedHere` is what to write for `unlimited`.
 */
export function checkBehavior({ policy, shadow, observe }: LimiterBehavior, unlimitedHere: string): void {
  if (Symbol.for("sluice.unlimited") in (Object(policy) as object)) {
    throw new TypeError(
      `Expected \`policy\` to be an object with \`refill\`, or with \`limits\`, got ` +
      `\`unlimited\`. Write ${unlimitedHere}`,
    );
  }
  if (typeof policy === "object" && policy !== null && !isPolicy(policy)) {
    checkForeign(policy, POLICY_OPTIONS);
    checkNames(policy, POLICY_OPTIONS, replacementOf);
  }
  if (!["undefined", "boolean", "function"].includes(typeof shadow)) {
    throw new TypeError(expected("shadow", "true, false or a function of the key", shadow));
  }
  if (observe !== undefined && typeof (Object(observe) as { readonly listens?: unknown }).listens !== "function") {
    throw new TypeError(expected("observe", "made by createObserver(listener)", observe));
  }
}
