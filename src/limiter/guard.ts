import { StoreAwayError } from "./away-error.js";
import type { Breaker } from "./breaker.js";
import { Deadlines } from "./deadline.js";

/** Asks a store, and fails at once or in time where the store does neither. */
export type Ask = <T>(call: () => Promise<T>) => Promise<T>;

/**
 * Makes the guard of an asynchronous store. What comes after the deadline is dropped, whatever it is: the call may have
 * taken tokens, and is never made again.
 */
export function makeGuard(timeoutMs: number, breaker: Breaker): Ask {
  const deadlines = timeoutMs === Infinity ? null : new Deadlines(timeoutMs);

  return function ask<T>(call: () => Promise<T>): Promise<T> {
    const refusal = breaker.refusal();
    if (refusal !== null) return Promise.reject(refusal);
    return deadlines === null ? unlimited(call) : withinDeadline(call, deadlines);
  };

  async function unlimited<T>(call: () => Promise<T>): Promise<T> {
    try {
      const value = await call();
      breaker.answered();
      return value;
    } catch (error) {
      breaker.failed(error);
      throw error;
    }
  }

  function withinDeadline<T>(call: () => Promise<T>, all: Deadlines): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting = all.begin(() => {
        const error = new StoreAwayError("ERR_STORE_TIMEOUT", `The store did not answer within ${timeoutMs} ms`);
        breaker.failed(error);
        reject(error);
      });
      const fail = (error: unknown): void => {
        if (!all.end(waiting)) return;
        breaker.failed(error);
        reject(error as Error);
      };
      try {
        Promise.resolve(call()).then((value) => {
          if (!all.end(waiting)) return;
          breaker.answered();
          resolve(value);
        }, fail);
      } catch (error) {
        fail(error);
      }
    });
  }
}
