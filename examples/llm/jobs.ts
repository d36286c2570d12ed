/** Jobs at night: they wait for their tokens instead of being refused. */
import { createWaiter, run } from "sluice";
import { costOf, keysOf, type Budget, type Caller } from "./budgets.js";

/** A job for the language model. */
export interface Job<Answer> {
  readonly caller: Caller;
  /** The largest possible cost: the tokens of the prompt, and `max_tokens`. */
  readonly estimate: number;
  /** Asks the model. `used` is the number of tokens that the model reports. */
  readonly ask: () => Promise<{ readonly answer: Answer; readonly used: number }>;
}

/**
 * Makes a function that does a job as soon as its tokens are there, in order of arrival, and settles them. Rejects with a
 * RefusedError when the tokens can never be there, and with the signal's reason.
 */
export function nightShift(budget: Budget): <Answer>(job: Job<Answer>, signal: AbortSignal) => Promise<Answer> {
  const waiter = createWaiter(budget);
  return async ({ caller, estimate, ask }, signal) => {
    const { answer } = await run(waiter, keysOf(caller), ask, { cost: costOf(estimate), actualCost: ({ used }) => costOf(used), signal });
    return answer;
  };
}
