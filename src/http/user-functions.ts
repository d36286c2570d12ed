import { show } from "../core/check.js";
import { SluiceError } from "../core/errors.js";
import { startTimer } from "../platform.js";
import { textOf, warnOnce } from "../warnings/warnings.js";

/** Whether `value` is a promise, or another object with `then`. */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/**
 * Returns a function of the options as the gate calls it. It throws and rejects with Errors only, and its promise
 * settles within `timeoutMs` and is one of the platform's own. Frameworks treat some thrown values, such as undefined
 * or "route", as success (law L17).
 */
export function contain<Input, T, Rest extends readonly unknown[] = []>(
  name: string,
  fn: (input: Input, ...rest: Rest) => T | Promise<T>,
  timeoutMs: number,
): (input: Input, rest?: Rest) => T | Promise<T> {
  return (input, rest) => {
    try {
      // A spread costs time, and most frameworks pass no other arguments.
      const result = rest === undefined ? (fn as unknown as (input: Input) => T | Promise<T>)(input) : fn(input, ...rest);
      return isPromise(result) ? settleWithin(name, result, timeoutMs) : result;
    } catch (error) {
      throw asError(error, name);
    }
  };
}

/**
 * Returns the result of `use`, which gets the result of `fn`. Returns the result of `instead` when `fn` or `use` fails,
 * or `fn` takes longer than `timeoutMs`. A failure is reported.
 */
export function useOrElse<T>(
  name: string, fn: () => unknown, timeoutMs: number, use: (result: unknown) => T, instead: () => T,
): T | Promise<T> {
  const fail = (error: unknown): T => {
    reportFailure(name, error);
    return instead();
  };
  try {
    const result = fn();
    return isPromise(result) ? settleWithin<unknown>(name, result, timeoutMs).then(use).catch(fail) : use(result);
  } catch (error) {
    return fail(error);
  }
}

/**
 * Settles as `promise` does, or rejects after `timeoutMs`. It always rejects with an Error. `task` completes the
 * message "Expected … to".
 */
export function settleWithin<T>(name: string, promise: Promise<T>, timeoutMs: number, task = "settle"): Promise<T> {
  return new Promise((resolve, reject) => {
    const expire = (): void => {
      reject(
        new SluiceError(
          "ERR_FUNCTION_TIMEOUT",
          `Expected \`${name}\` to ${task} within ${timeoutMs} ms, got nothing. Raise \`functionTimeoutMs\` if it needs longer`,
        ),
      );
    };
    // If the event loop was blocked, the result may have arrived already. So the promise gets one more turn of the
    // loop.
    let timer: unknown = timeoutMs === Infinity ? undefined : startTimer(() => (timer = startTimer(expire, 0)), timeoutMs);
    const stop = (): void => clearTimeout(timer as number);
    Promise.resolve(promise).then(
      (value) => (stop(), resolve(value)),
      (error: unknown) => (stop(), reject(asError(error, name))),
    );
  });
}

/** Returns `error` if it is an Error. Otherwise returns an Error that names `thrower` and the thrown value. */
export function asError(error: unknown, thrower = "rateLimit"): Error {
  let got = "a value that cannot be read"; // such as a revoked proxy
  try {
    if (error instanceof Error) return error;
    got = show(error);
  } catch {}
  return new SluiceError("ERR_FUNCTION_FAILED", `Expected \`${thrower}\` to throw an Error, got ${got}`, { cause: error });
}

/**
 * Runs a function that does not affect the response, and resolves to its result. A failure is reported, and the result
 * is undefined.
 */
export async function runAside<T>(name: string, fn: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await fn();
  } catch (error) {
    reportFailure(name, error);
    return undefined;
  }
}

/** Warns that `name` failed, once in the process. Later failures are dropped. */
export function reportFailure(name: string, error: unknown): void {
  warnOnce(
    "SLUICE_FUNCTION_FAILED",
    `\`${name}\` failed. The request goes on without it. This error and all later ones are dropped`, textOf(error),
  );
}
