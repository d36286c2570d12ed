/** The `#diagnostics` of the condition "production". */
import type * as diagnostics from "./index.js";

export const limiterChecks = false;
export const gateChecks = false;
export const storeChecks = false;
export const guardChecks = false;

/** Checks only for an answer that would otherwise look like a refusal (law L11). */
export const checkAnswers: typeof diagnostics.checkAnswers = (verb, size, answers) => {
  const isList = Array.isArray(answers) && answers.length === size;
  // A list may have holes, which `every` leaves out.
  if (isList && (!["consume", "peek"].includes(verb) || Array.from(answers as unknown[]).every(isDecided))) return answers;
  // The rejection of a promise among them would end the process.
  for (const each of Array.isArray(answers) ? answers : [answers]) Promise.resolve(each).catch(() => undefined);
  throw new TypeError(`Expected \`store.ask()\` to answer "${verb}" with a list of ${size}`);
};

function isDecided(answer: unknown): boolean {
  const { allowed } = { __proto__: null, ...Object(answer) } as { allowed?: unknown };
  return typeof allowed === "boolean";
}
