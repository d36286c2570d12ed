// Values that are there now, or later in a promise. A function here answers at once unless a promise is among its
// values.

/** Calls `next` with `value`: synchronously, unless `value` is a promise. */
export function thenOne<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Calls `next` with all values: synchronously, unless one is a promise. */
export function thenAll<T, R>(
  values: ReadonlyArray<T | Promise<T>>, next: (values: readonly T[]) => R | Promise<R>,
): R | Promise<R> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values).then(next) : next(values as readonly T[]);
}

/** Returns the result of `make`, or that of `instead` when `make` throws or rejects. */
export function orElse<T>(make: () => T | Promise<T>, instead: (error: unknown) => T | Promise<T>): T | Promise<T> {
  try {
    const made = make();
    return made instanceof Promise ? made.catch(instead) : made;
  } catch (error) {
    return instead(error);
  }
}

/** Makes a settlement whose caller has its result already. If it fails, the charge stays. */
export async function quietly(settle: () => unknown): Promise<void> {
  try {
    await settle();
  } catch {
    return;
  }
}

/**
 * Starts all calls, even after one has failed. Calls `next` with their results. If a call fails, waits for the others
 * and fails with the first error.
 *
 * After `calls.map((call) => call())`, a call that throws would leave the promises of earlier calls without a handler.
 * Such a promise ends the process when it rejects (law L17).
 */
export function startAll<T, R>(
  calls: ReadonlyArray<() => T | Promise<T>>, next: (results: readonly T[]) => R | Promise<R>,
): R | Promise<R> {
  const errors: unknown[] = [];
  const results = calls.map((call) => orElse<T | undefined>(call, (error) => void errors.push(error)));
  return thenAll<T | undefined, R>(results, (all) => {
    if (errors.length > 0) throw errors[0];
    return next(all as readonly T[]);
  });
}
