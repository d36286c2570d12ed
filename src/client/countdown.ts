import { ownMembers } from "../core/check.js";
import { throwIfAborted } from "./fetch/abort.js";
import type { RateLimitedError } from "./fetch/error.js";
import type { Timing } from "./fetch/options.js";
import { sleep } from "./fetch/sleep.js";

/** The options of `countdown`. */
export interface CountdownOptions {
  /** Ends the countdown, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | null | undefined;
  /** The wall clock, in milliseconds since 1970. Default: `Date.now`. */
  readonly wallClock?: (() => number) | undefined;
  /** Resolves after `ms`. Default: timers. */
  readonly sleep?: Timing["sleep"] | undefined;
}

/**
 * Counts down the wait of a {@link RateLimitedError}, for a screen. Calls `onSecond` with the whole seconds left,
 * rounded up: at once, then at each change. Resolves after the call with 0.
 *
 * - The wall clock decides, so the number is right after a phone slept. It never counts up.
 * - Without a wait (`retryAt` is null) the first call is the one with 0.
 * - For an infinite wait `onSecond` is called once, with Infinity. Only the signal ends that countdown.
 * @example
 * await countdown(error, (seconds) => console.log(`Try again in ${seconds} s`));
 */
export async function countdown(
  error: Pick<RateLimitedError, "retryAt">,
  onSecond: (seconds: number) => void,
  options: CountdownOptions = {},
): Promise<void> {
  const { signal, wallClock = Date.now, sleep: rest = sleep } = ownMembers(options);
  const end = error.retryAt?.getTime() ?? 0;
  for (let shown = NaN; shown !== 0; ) {
    throwIfAborted(signal);
    const left = Math.max(0, end - wallClock());
    // The latest instant that a Date can hold stands for Infinity.
    const seconds = end < 8.64e15 ? Math.ceil(left / 1_000) : Infinity;
    if (!(seconds >= shown)) onSecond((shown = seconds));
    if (shown > 0) await rest(left % 1_000 || 1_000, signal);
  }
}
