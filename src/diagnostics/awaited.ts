const UNREAD = {
  get(): never {
    throw new TypeError(
      "Expected a decision, got a promise of one: this limiter asks a store elsewhere. Write `await` before `consume`",
    );
  },
};

// A mark adds about 1 us to a decision, so it goes to the first answers of the process and then to a few of many.
const MARKED_FIRST = 1_000;
const MARKED_IN_A_ROW = 250;
const MARKED_OF_EVERY = 16_000;
let answers = 0;

/**
 * Makes `answer.allowed` throw, for the first 1,000 answers of the process, and then for 250 of every 16,000. Without
 * `await` it would be undefined, and every caller would seem refused. TypeScript finds that by itself, JavaScript does
 * not.
 */
export function hintAwait(answer: Promise<unknown>): void {
  const place = answers++;
  if (place < MARKED_FIRST || place % MARKED_OF_EVERY < MARKED_IN_A_ROW) void Object.defineProperty(answer, "allowed", UNREAD);
}
