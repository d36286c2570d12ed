import { expected } from "../core/check.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import { textOf, warnOnce } from "../warnings/warnings.js";

/** The `shadow` of a limiter that enforces every limit. Callers that know it save a call. */
export const neverShadow = (): boolean => false;

/** The `shadow` of a limiter that enforces no limit. */
export const alwaysShadow = (): boolean => true;

/**
 * Makes the `shadow` of a limiter from its option. A function that fails, or answers later, enforces the limit (law
 * L17). Its first failure is a process warning.
 */
export function createShadow(option: boolean | ((key: Key) => boolean)): (key: Key) => boolean {
  if (typeof option !== "function") return option ? alwaysShadow : neverShadow;
  return (key) => {
    try {
      const answer: unknown = option(key);
      if (typeof answer === "boolean") return answer;
      Promise.resolve(answer).catch(() => undefined); // its rejection would end the process
      throw new TypeError(`${expected("shadow()", "true or false", answer)}. It answers at once`);
    } catch (error) {
      warnOnce(
        "SLUICE_FUNCTION_FAILED",
        "`shadow` failed, so the limit is enforced. This error and all later ones are dropped", textOf(error),
      );
      return false;
    }
  };
}

/** Returns the decision of a limiter in shadow mode: a refusal becomes allowed and carries the refusal. */
export function inShadow(decision: Decision): Decision {
  return decision.allowed ? decision : { ...decision, allowed: true, reason: null, retryAfterMs: 0, shadow: decision };
}
