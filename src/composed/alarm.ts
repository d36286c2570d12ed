// What a timer can hold; a longer wait is taken in steps.
const LONGEST_MS = 2 ** 31 - 1;

/**
 * One timer that can be set again. It may go off early, since timers do and since the longest is 24 days: whoever is woken
 * looks at the clock.
 */
export class Alarm {
  readonly #ring: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  /** Rings once, in `ms` milliseconds at the latest, and at no other time that it was set to before. */
  set(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#ring, Math.min(ms, LONGEST_MS));
  }

  /** Does not ring any more. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
