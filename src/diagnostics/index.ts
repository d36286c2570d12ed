/**
 * Checks for misuse at setup. Reached as `#diagnostics`, which names `none.ts` instead under the condition
 * "production": these checks then cost no bytes and no time. Warnings of outages, of sent headers and of proxies'
 * addresses are not among them.
 */
export { checkDecision as checkAnswer } from "../port/store.js";
export { checkLimiter } from "./limiters.js";
export { checkLimiterSetup } from "./limiter-options.js";
export { checkPostgresSetup, checkRedisSetup, checkStore } from "./stores/store-setup.js";
export { checkPolicyName } from "./policy-names.js";
export { checkGateSetup } from "./gate-options.js";
export { cureForStyle } from "./header-styles.js";
export { createIdentityCheck } from "./identity.js";
export { createRequestCheck, type RequestCheck } from "./requests.js";
