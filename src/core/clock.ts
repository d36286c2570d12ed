import { expected } from "./check.js";

/**
 * Tells the time: milliseconds since any fixed instant.
 *
 * Fractions are floored. A monotonic clock is best; one that steps back grants at most one extra `capacity` a step (law L6).
 */
export type Clock = () => number;

/**
 * The default clock: the platform's monotonic `performance.now`, which no change of the system's date moves.
 *
 * Reached through `globalThis` when it is called, never at import, so that the core compiles and loads without a platform.
 * @example
 * const bucket = new TokenBucket({ capacity: 5, refill: perSecond(1), clock: monotonicClock });
 */
export function monotonicClock(): number {
  return platform.performance.now();
}

const platform = globalThis as unknown as { readonly performance: { now(): number } };

/** Reads a clock in whole milliseconds. Throws a RangeError for a reading that is not finite or passes 2^53: there is no safe guess. */
export function readClock(clock: Clock): number {
  const now = Math.floor(clock());
  if (!Number.isSafeInteger(now)) throw new RangeError(expected("clock()", "a finite number of milliseconds below 2^53", now));
  return now;
}
