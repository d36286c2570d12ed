import type { RateLimitedError } from "./fetch/error.js";
import type { Timing } from "./fetch/options.js";
import { sleep, throwIfAborted } from "./fetch/sleep.js";

/** What `countdown` may be given. */
export interface CountdownOptions {
  /** Ends the countdown: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | null | undefined;
  /** The wall clock, in milliseconds since 1970. Default: `Date.now`. */
  readonly wallClock?: (() => number) | undefined;
  /** Resolves after `ms`. Default: timers. */
  readonly sleep?: Timing["sleep"] | undefined;
}

/**
 * Counts the wait of a {@link RateLimitedError} down, for a screen: calls `onSecond` with the whole seconds left, rounded up, at once
 * and whenever they change, and resolves after it has been called with 0.
 *
 * A wait without an end is told once, as Infinity, and then only the signal ends the countdown.
 * By the wall clock, so that it is right again after a phone slept; it never counts up. Where the server named no wait, it is 0 at once.
 * @example
 * await countdown(error, (seconds) => console.log(`Try again in ${seconds} s`));
 */
export async function countdown(
  error: Pick<RateLimitedError, "retryAt">,
  onSecond: (seconds: number) => void,
  options: CountdownOptions = {},
): Promise<void> {
  const { signal, wallClock = Date.now, sleep: rest = sleep } = options;
  const end = error.retryAt?.getTime() ?? 0;
  for (let shown = NaN; shown !== 0; ) {
    throwIfAborted(signal);
    const left = Math.max(0, end - wallClock());
    // The last instant that a Date holds stands for all that are later.
    const seconds = end < 8.64e15 ? Math.ceil(left / 1_000) : Infinity;
    if (!(seconds >= shown)) onSecond((shown = seconds));
    if (shown > 0) await rest(left % 1_000 || 1_000, signal);
  }
}
