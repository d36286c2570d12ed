const UNREAD = {
  get(): never {
    throw new TypeError(
      "Expected a decision, got a promise of one: this limiter asks a store elsewhere. Write `await` before `consume`",
    );
  },
};

// The mark costs a fifteenth of the client's time, and who forgets `await` learns it from the first call.
const MARKED = 1_000;
let marked = 0;

/**
 * Makes `answer.allowed` throw, for the first 1,000 answers of the process. Without `await` it would be undefined, and
 * every caller would seem refused. TypeScript finds that by itself, JavaScript does not.
 */
export function hintAwait(answer: Promise<unknown>): void {
  if (marked === MARKED) return;
  marked++;
  Object.defineProperty(answer, "allowed", UNREAD);
}
