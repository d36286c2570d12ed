import { hintAwait } from "./awaited.js";
import { checkDefaults, checkGateSetup, checkOverlay, cureForStyle } from "./gate-options.js";
import { checkLimiterSetup } from "./limiter-options.js";
import { checkLimiter } from "./limiters.js";
import { explainWaiting } from "./moving/foreign-options.js";
import { checkNumbers } from "./numbers.js";
import { checkPolicyName } from "./policy-names.js";
import { hintUnlogged } from "./quotas.js";
import { createDecisionLog } from "./requests/decision-log.js";
import { checkCall, cureForCall } from "./requests/frameworks.js";
import { createGateWatch } from "./requests/gate-watch.js";
import { checkKeyText } from "./requests/key-text.js";
import { markHandled, watchHeld } from "./requests/unsettled.js";
import { checkGuardSetup, checkNoTimeout, checkPostgresSetup, checkRedisSetup, checkStore } from "./stores/store-setup.js";
import { hintEviction } from "./stores/redis-eviction.js";
import { hintSharedBy } from "./stores/shared-by.js";
import { createStoreHints, hintOneSlot } from "./stores/store-hints.js";

export { checkAnswerList as checkAnswers } from "../port/answers.js";
export type { NumberedMember } from "./numbers.js";
export type { DecisionLog } from "./requests/decision-log.js";
export type { GateWatch } from "./requests/gate-watch.js";
export type { StoreHints } from "./stores/store-hints.js";

// Checks for misuse at setup, imported as `#diagnostics`. Under the condition "production" that name means `none.ts`,
// where each of these values is false: Node loads no check, and bundlers drop the code behind `if (limiterChecks)`.
// There are four, so that a bundle without the condition has the checks of what it uses. Warnings of outages and of
// headers sent too early are elsewhere and always present.

const ofLimiter = {
  checkKeyText, checkLimiter, checkLimiterSetup, checkNumbers, checkPolicyName, checkStore, createDecisionLog, explainWaiting,
  hintAwait, markHandled, watchHeld,
};
export const limiterChecks: typeof ofLimiter | false = ofLimiter;

const ofGate = { checkCall, checkDefaults, checkGateSetup, checkOverlay, createGateWatch, cureForCall, cureForStyle };
export const gateChecks: typeof ofGate | false = ofGate;

const ofStore = { checkPostgresSetup, checkRedisSetup, hintEviction, hintOneSlot, hintUnlogged };
export const storeChecks: typeof ofStore | false = ofStore;

const ofGuard = { checkGuardSetup, checkNoTimeout, createStoreHints, hintSharedBy };
export const guardChecks: typeof ofGuard | false = ofGuard;
