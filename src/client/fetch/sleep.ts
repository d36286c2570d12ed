import { abortReason } from "./abort.js";

/** The monotonic clock of a client without a `time` of its own. */
export function platformNow(): number {
  return performance.now();
}

/**
 * Resolves after `ms`, never before by `performance.now`; rejects with the signal's reason once it aborts.
 *
 * A platform's timer may fire up to 1 ms early and holds at most 24.8 days, so each timer is checked against the clock.
 */
export function sleep(ms: number, signal?: AbortSignal | null): Promise<void> {
  const end = performance.now() + ms;
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = (): void => {
      clearTimeout(timer);
      reject(abortReason(signal as AbortSignal));
    };
    const rest = (): void => {
      const left = end - performance.now();
      if (left > 0) return void (timer = setTimeout(rest, Math.min(Math.ceil(left), 2 ** 31 - 1)));
      signal?.removeEventListener("abort", stop);
      resolve();
    };
    if (signal?.aborted) return stop();
    signal?.addEventListener("abort", stop, { once: true });
    rest();
  });
}
