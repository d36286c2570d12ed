interface Timers {
  setInterval(run: () => void, ms: number): unknown;
  clearInterval(timer: unknown): void;
}

const timers = globalThis as unknown as Timers;

/** Calls `run` every `ms` milliseconds. Does not keep the process alive. */
export function startBeat(run: () => void, ms: number): unknown {
  const timer = timers.setInterval(run, ms);
  // Browsers and Workers have numbers in place of timers.
  (timer as { unref?(): void }).unref?.();
  return timer;
}

/** Ends what {@link startBeat} began. */
export function stopBeat(timer: unknown): void {
  timers.clearInterval(timer);
}
