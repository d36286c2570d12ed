import { expected } from "./check.js";

/**
 * Returns the time in milliseconds since any fixed instant.
 *
 * Fractions are floored. Prefer a monotonic clock: each step back grants at most one extra `capacity` (law L6).
 */
export type Clock = () => number;

/**
 * The default clock: the platform's monotonic `performance.now`, in milliseconds. Setting the date does not move it.
 *
 * Reads `performance` at each call, not at import, so that the core compiles and loads without a platform.
 * @example
 * const bucket = new TokenBucket({ capacity: 5, refill: perSecond(1), clock: monotonicClock });
 */
export function monotonicClock(): number {
  const { performance } = globals;
  if (performance === undefined) throw new TypeError(NO_PERFORMANCE);
  return performance.now();
}

const globals = globalThis as unknown as { readonly performance?: { now(): number } };

const NO_PERFORMANCE = "Expected `performance` to be there, got undefined. Pass `clock: Date.now`, or define it.";

/** Reads a clock in whole milliseconds. Throws a RangeError for a reading that is not finite or passes 2^53. */
export function readClock(clock: Clock): number {
  const now = Math.floor(clock());
  if (!Number.isSafeInteger(now)) throw new RangeError(expected("clock()", "a finite number of milliseconds below 2^53", now));
  return now;
}
