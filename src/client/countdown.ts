import { ownMembers } from "../core/check.js";
import { throwIfAborted } from "./fetch/abort.js";
import type { RateLimitedError } from "./fetch/error.js";
import type { ClientTime, Timing } from "./fetch/options.js";
import { timing } from "./fetch/settings.js";

/** The options of `countdown`. */
export interface CountdownOptions {
  /** Ends the countdown, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | null | undefined;
  /** Time for tests, as the option of `createFetch`. Default: the platform's. */
  readonly time?: ClientTime | undefined;
}

/**
 * Counts down the wait of a {@link RateLimitedError}, or the one that `onWait` reports, for a screen. Calls `onSecond`
 * with the whole seconds left, rounded up: at once, then at each change. Resolves after the call with 0.
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
  const { signal, time: given } = ownMembers(options);
  const time = timing()("time", given) as Timing;
  const end = error.retryAt?.getTime() ?? 0;
  for (let shown = NaN; shown !== 0; ) {
    throwIfAborted(signal);
    const left = Math.max(0, end - time.wallNow());
    // The latest instant that a Date can hold stands for Infinity.
    const seconds = end < 8.64e15 ? Math.ceil(left / 1_000) : Infinity;
    if (!(seconds >= shown)) onSecond((shown = seconds));
    if (shown > 0) await time.sleep(left % 1_000 || 1_000, signal);
  }
}
