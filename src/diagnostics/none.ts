/** The `#diagnostics` of the condition "production". */
import type * as diagnostics from "./index.js";

export const limiterChecks = false;
export const gateChecks = false;
export const storeChecks = false;
export const guardChecks = false;

/** Checks only for an answer that would otherwise look like a refusal (law L11). */
export const checkAnswers: typeof diagnostics.checkAnswers = (verb, size, answers) => {
  const isList = Array.isArray(answers) && answers.length === size;
  if (isList && (!DECIDED.includes(verb) || answers.every(isDecided))) return answers;
  throw new TypeError(`Expected \`store.ask()\` to answer "${verb}" with ${size} decisions`);
};

const DECIDED: readonly string[] = ["consume", "peek"];

const isDecided = (answer: unknown): boolean => typeof (Object(answer) as { allowed?: unknown }).allowed === "boolean";
