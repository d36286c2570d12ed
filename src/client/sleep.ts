import { monotonicClock } from "../core/clock.js";

// A timer told more fires at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** What an aborted signal was given; an `AbortError` where the platform keeps no reason (React Native). */
export function abortReason(signal: AbortSignal): unknown {
  return signal.reason ?? Object.assign(new Error("Aborted"), { name: "AbortError" });
}

/**
 * Resolves after `ms`, never before by `performance.now`; rejects with the signal's reason once it aborts.
 *
 * A platform's timer may fire up to a millisecond early, and none holds more than 24.8 days: so the clock is asked again.
 */
export async function sleep(ms: number, signal?: AbortSignal | null): Promise<void> {
  const end = monotonicClock() + ms;
  for (let left = ms; left > 0; left = end - monotonicClock()) await timer(Math.min(Math.ceil(left), LONGEST_TIMER_MS), signal);
}

function timer(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortReason(signal));
    const stop = (): void => {
      clearTimeout(id);
      reject(abortReason(signal as AbortSignal));
    };
    const id = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
