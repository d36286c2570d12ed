import { checkOptions, expected } from "../../core/check.js";
import { BRAND, type HeaderFamily } from "./field.js";

/** The clock of a style that sends an instant. */
export interface StyleClock {
  /** Returns milliseconds since 1970. Default `Date.now`. */
  readonly clock?: (() => number) | undefined;
}

/** A style that sends an instant. Use it as it is, or call it to get one with another clock. */
export interface ClockedStyle extends HeaderFamily {
  (options?: StyleClock): HeaderFamily;
}

/** Makes a style that is a value and a function. `make` gets the clock. */
export function clockedStyle(make: (now: () => number) => HeaderFamily): ClockedStyle {
  const style = (options: StyleClock = {}): HeaderFamily =>
    make(checkedClock(checkOptions(options, ["clock"]).clock ?? Date.now));
  // Date.now is read at each call, so that a test can replace it.
  return Object.assign(style, { [BRAND]: true }, make(checkedClock(() => Date.now()))) as ClockedStyle;
}

/** Returns the clock, which then throws a RangeError for a reading that is not finite. */
export function checkedClock(clock: () => number): () => number {
  if (typeof clock !== "function") {
    throw new TypeError(expected("clock", "a function that returns milliseconds since 1970", clock));
  }
  return () => {
    const now = clock();
    if (!Number.isFinite(now)) throw new RangeError(expected("clock()", "a finite number of milliseconds", now));
    return now;
  };
}
