/** What `#diagnostics` names under the condition "production": nothing is checked. */
import type * as diagnostics from "./index.js";

const ignore = (): undefined => undefined;

/** Checks only what would be taken for a refusal (law L11). */
export const checkAnswer: typeof diagnostics.checkAnswer = (answer, method) => {
  if (typeof (Object(answer) as { allowed?: unknown }).allowed === "boolean") return answer as ReturnType<typeof diagnostics.checkAnswer>;
  throw new TypeError(`Expected \`store.${method}()\` to return a decision`);
};
export const checkLimiter: typeof diagnostics.checkLimiter = ignore;
export const checkPolicyName: typeof diagnostics.checkPolicyName = ignore;
export const checkPolicyOptions: typeof diagnostics.checkPolicyOptions = ignore;
export const checkGateSetup: typeof diagnostics.checkGateSetup = ignore;
export const replacementOf: typeof diagnostics.replacementOf = ignore;
export const cureForStyle: typeof diagnostics.cureForStyle = () => "";
export const createRequestCheck: typeof diagnostics.createRequestCheck = () => ignore;
export const createIdentityCheck: typeof diagnostics.createIdentityCheck = () => ignore;
