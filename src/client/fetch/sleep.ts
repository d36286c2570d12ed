import { monotonicClock } from "../../core/clock.js";

// A timer told more fires at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** What an aborted signal was given; an `AbortError` where the platform keeps no reason (React Native). */
export function abortReason(signal: AbortSignal): unknown {
  return signal.reason ?? Object.assign(new Error("Aborted"), { name: "AbortError" });
}

/** Throws an aborted signal's reason. */
export function throwIfAborted(signal: AbortSignal | null | undefined): void {
  if (signal?.aborted) throw abortReason(signal);
}

/**
 * Resolves after `ms`, never before by `performance.now`; rejects with the signal's reason once it aborts.
 *
 * A platform's timer may fire up to a millisecond early, and none holds more than 24.8 days: so the clock is asked again.
 */
export function sleep(ms: number, signal?: AbortSignal | null): Promise<void> {
  const end = monotonicClock() + ms;
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = (): void => {
      clearTimeout(timer);
      reject(abortReason(signal as AbortSignal));
    };
    const rest = (): void => {
      const left = end - monotonicClock();
      if (left > 0) return void (timer = setTimeout(rest, Math.min(Math.ceil(left), LONGEST_TIMER_MS)));
      signal?.removeEventListener("abort", stop);
      resolve();
    };
    if (signal?.aborted) return stop();
    signal?.addEventListener("abort", stop, { once: true });
    rest();
  });
}
