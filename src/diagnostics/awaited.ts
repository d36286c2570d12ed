const UNREAD = {
  get(): never {
    throw new TypeError(
      "Expected a decision, got a promise of one: this limiter asks a store elsewhere. Write `await` before `consume`",
    );
  },
};

/**
 * Makes `answer.allowed` throw. Without `await` it would be undefined, and every caller would seem refused. TypeScript
 * finds that by itself, JavaScript does not.
 */
export function hintAwait(answer: Promise<unknown>): void {
  void Object.defineProperty(answer, "allowed", UNREAD);
}
