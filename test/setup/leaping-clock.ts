// On a busy machine any time may pass between two lines of a test. Here it does so at each of them, on any machine.
const LEAP_MS = 50;

/** Makes the real monotonic clock leap ahead at each reading. A test that goes by a told clock, or by a fake one, sees nothing of it. */
export function leapClock(): void {
  if (Object.hasOwn(performance, "now")) return; // by another file of this worker
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  performance.now = () => now() + (aheadMs += LEAP_MS);
}
