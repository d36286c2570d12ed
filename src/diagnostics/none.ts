/** What `#diagnostics` names under the condition "production": nothing is checked. */
import type * as diagnostics from "./index.js";

const ignore = (): undefined => undefined;

export const checkAnswer: typeof diagnostics.checkAnswer = (answer) => answer as ReturnType<typeof diagnostics.checkAnswer>;
export const checkLimiter: typeof diagnostics.checkLimiter = ignore;
export const checkPolicyName: typeof diagnostics.checkPolicyName = ignore;
export const checkPolicyOptions: typeof diagnostics.checkPolicyOptions = ignore;
export const replacementOf: typeof diagnostics.replacementOf = ignore;
export const cureForStyle: typeof diagnostics.cureForStyle = () => "";
export const createRequestCheck: typeof diagnostics.createRequestCheck = () => ignore;
export const createIdentityCheck: typeof diagnostics.createIdentityCheck = () => ignore;
