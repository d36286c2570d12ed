import { SluiceError } from "../../core/errors.js";

/** Runs a call of the client, unless too many are pending. */
export type PendingLimit = <T>(run: () => Promise<T>) => Promise<T>;

/** Creates a bound of the calls that are pending at the same time. */
export function createPendingLimit(maxPending: number): PendingLimit {
  let pending = 0;
  return async (run) => {
    if (pending >= maxPending) {
      throw new SluiceError("ERR_TOO_MANY_CALLS", `Expected at most ${maxPending} pending calls, got one more. Await some first, or raise \`maxPending\``);
    }
    pending += 1;
    try {
      return await run();
    } finally {
      pending -= 1;
    }
  };
}
