/** The `#diagnostics` of the condition "production". */
import type * as diagnostics from "./index.js";

export const limiterChecks = false;
export const gateChecks = false;
export const storeChecks = false;
export const guardChecks = false;

/** Checks only for an answer that would otherwise look like a refusal (law L11). */
export const checkAnswer: typeof diagnostics.checkAnswer = (answer, method) => {
  if (typeof (Object(answer) as { allowed?: unknown }).allowed === "boolean") {
    return answer as ReturnType<typeof diagnostics.checkAnswer>;
  }
  throw new TypeError(`Expected \`store.${method}()\` to return a decision`);
};
