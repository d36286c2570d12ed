/**
 * A clock that moves only when the test moves it. No test has to sleep.
 *
 * Pass its `now` as the `clock` option of a limiter, a store or a bucket.
 * @example
 * const clock = new ManualClock();
 * const bucket = new TokenBucket({ capacity: 1, refill: perSecond(1), clock: clock.now });
 * bucket.consume();
 * clock.advance(1_000); // one token is back
 */
export class ManualClock {
  #time: number;

  /** Starts at `time`, in milliseconds. Default 0. */
  constructor(time = 0) {
    this.#time = time;
  }

  /** The current time, in milliseconds. It is bound to the clock, so you can pass it as a function. */
  readonly now = (): number => this.#time;

  /** Moves the clock by `ms`. Negative values and fractions are allowed, to test against clocks that misbehave. */
  advance(ms: number): void {
    this.#time += ms;
  }

  /** Sets the clock to `time`, in milliseconds. */
  set(time: number): void {
    this.#time = time;
  }
}
