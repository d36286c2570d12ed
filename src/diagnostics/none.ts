/** The `#diagnostics` of the condition "production". */
import type * as diagnostics from "./index.js";

export const limiterChecks = false;
export const gateChecks = false;
export const storeChecks = false;
export const guardChecks = false;

/** Checks only for an answer that would otherwise look like a refusal (law L11). */
export const checkAnswers: typeof diagnostics.checkAnswers = (verb, size, answers) => {
  if (Array.isArray(answers) && answers.length === size) {
    // Only decisions are looked at. By index, because a list may have holes.
    let i = verb === "consume" || verb === "peek" ? 0 : size;
    while (i < size && isDecided(answers[i])) i++;
    if (i === size) return answers;
  }
  // The rejection of a promise among them would end the process.
  for (const each of Array.isArray(answers) ? answers : [answers]) Promise.resolve(each).catch(() => undefined);
  throw new TypeError(`Expected \`store.ask()\` to answer "${verb}" with a list of ${size}`);
};

// An inherited `allowed` may come from `Object.prototype`.
function isDecided(answer: unknown): boolean {
  return Object.hasOwn(Object(answer) as object, "allowed") && typeof (answer as { allowed: unknown }).allowed === "boolean";
}
