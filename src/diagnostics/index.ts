/**
 * Checks for misuse at setup. They are imported as `#diagnostics`. Under the condition "production" that name means
 * `none.ts`, so the checks cost no bytes and no time. Warnings of outages and of headers sent too early are elsewhere
 * and always present.
 */
export { checkDecision as checkAnswer } from "../port/store.js";
export { hintAwait } from "./awaited.js";
export { checkGuardSetup, checkNoTimeout } from "./stores/guard-options.js";
export { createDecisionLog, type DecisionLog } from "./requests/decision-log.js";
export { checkLimiter } from "./limiters.js";
export { checkLimiterSetup } from "./limiter-options.js";
export { createStoreHints, hintOneSlot, type StoreHints } from "./stores/store-hints.js";
export { checkPostgresSetup, checkRedisSetup, checkStore } from "./stores/store-setup.js";
export { checkNumbers, type NumberedMember } from "./numbers.js";
export { checkPolicyName } from "./policy-names.js";
export { checkOverlay } from "./overlays.js";
export { hintUnlogged } from "./quotas.js";
export { markHandled, watchHeld } from "./requests/unsettled.js";
export { checkCall, cureForCall } from "./requests/frameworks.js";
export { checkDefaults, checkGateSetup } from "./gate-options.js";
export { checkKeyText } from "./requests/key-text.js";
export { cureForStyle } from "./header-styles.js";
export { createGateWatch, type GateWatch } from "./requests/gate-watch.js";
