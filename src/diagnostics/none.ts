/**
 * The `#diagnostics` of the condition "production", which checks nothing. Bundlers leave out calls of empty functions
 * together with their arguments.
 */
import type * as diagnostics from "./index.js";

/** Checks only for an answer that would otherwise look like a refusal (law L11). */
export const checkAnswer: typeof diagnostics.checkAnswer = (answer, method) => {
  if (typeof (Object(answer) as { allowed?: unknown }).allowed === "boolean") {
    return answer as ReturnType<typeof diagnostics.checkAnswer>;
  }
  throw new TypeError(`Expected \`store.${method}()\` to return a decision`);
};
export function hintAwait(): void {}
export function checkGuardSetup(): void {}
export function checkNoTimeout(): void {}
export const createStoreHints: typeof diagnostics.createStoreHints = () => ({ failed: () => false, late() {} });
export function hintOneSlot(): void {}
export function hintUnlogged(): void {}
export function markHandled(): void {}
export function watchHeld(): void {}
export function checkLimiter(): void {}
export function checkLimiterSetup(): void {}
export function checkStore(): void {}
export function checkRedisSetup(): void {}
export function checkPostgresSetup(): void {}
export function checkNumbers(): void {}
export function checkPolicyName(): void {}
export function checkKeyText(): void {}
export function checkCall(): void {}
export function checkDefaults(): void {}
export function checkOverlay(): void {}
export function checkGateSetup(): void {}
export const cureForStyle: typeof diagnostics.cureForStyle = () => "";
export const cureForCall: typeof diagnostics.cureForCall = () => "";
export const createDecisionLog: typeof diagnostics.createDecisionLog = () => null;
export function createGateWatch(): undefined {}
