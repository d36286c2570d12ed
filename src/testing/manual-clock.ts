/**
 * A clock that stands still until it is told to move, for tests that need no sleeping.
 *
 * Hand its `now` to whatever takes a `clock`.
 * @example
 * const clock = new ManualClock();
 * const bucket = new TokenBucket({ capacity: 1, refill: perSecond(1), clock: clock.now });
 * bucket.consume();
 * clock.advance(1_000); // one token is back
 */
export class ManualClock {
  #time: number;

  /** Starts at `time`, in milliseconds; 0 by default. */
  constructor(time = 0) {
    this.#time = time;
  }

  /** The time, in milliseconds. Bound, so that it can be passed on its own. */
  readonly now = (): number => this.#time;

  /** Moves on by `ms`, which may be negative or a fraction: clocks misbehave, and tests may want that. */
  advance(ms: number): void {
    this.#time += ms;
  }

  /** Jumps to `time`. */
  set(time: number): void {
    this.#time = time;
  }
}
