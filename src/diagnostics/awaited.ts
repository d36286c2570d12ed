import { FIRST_CHECKED, isCheckedTurn } from "./requests/sampling.js";

const UNREAD = {
  get(): never {
    throw new TypeError(
      "Expected a decision, got a promise of one: this limiter asks a store elsewhere. Write `await` before `consume`",
    );
  },
};

// A mark adds about 1 us to a decision.
let answers = 0;

/**
 * Makes `answer.allowed` throw, for the first 1,000 answers of the process, and then for 250 of every 16,000. Without
 * `await` it would be undefined, and every caller would seem refused. TypeScript finds that by itself, JavaScript does
 * not.
 */
export function hintAwait(answer: Promise<unknown>): void {
  const before = answers++;
  if (before < FIRST_CHECKED || isCheckedTurn(before)) void Object.defineProperty(answer, "allowed", UNREAD);
}
