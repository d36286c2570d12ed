/**
 * A procedure that calls the functions of a database. It yields each function's name and answer, and continues with the
 * settled answer, or with the function's error. So one procedure serves clients that answer at once and clients that
 * answer with promises.
 */
export type Steps<T> = Generator<readonly [method: string, answer: unknown], T, unknown>;

/** Runs steps whose answers come at once. Throws a TypeError for a promise. */
export function runNow<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (!step.done) step = steps.next(checkNow(...step.value));
  return step.value;
}

/** Runs steps whose answers are promises. */
export async function runLater<T>(steps: Steps<T>): Promise<T> {
  let step = steps.next();
  while (!step.done) {
    const [, answer] = step.value;
    step = await Promise.resolve(answer).then(
      (value) => steps.next(value),
      (error: unknown) => steps.throw(error),
    );
  }
  return step.value;
}

function checkNow(method: string, answer: unknown): unknown {
  if (typeof (answer as PromiseLike<unknown> | null | undefined)?.then !== "function") return answer;
  Promise.resolve(answer).catch(() => undefined); // its rejection would end the process
  throw new TypeError(
    `Expected \`${method}\` to answer at once, got a promise. Leave out \`sync: true\` for a client that answers later.`,
  );
}
