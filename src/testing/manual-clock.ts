/**
 * A clock that moves only when the test moves it, or a client sleeps on it. No test has to sleep.
 *
 * Pass its `now` as the `clock` option of a store or a bucket, or the clock itself, which is two clocks: see
 * {@link ManualClock.suspend}. Pass the clock itself as the `time` of `createFetch`, `countdown`, `casStore` and
 * `leased`.
 * @example
 * const clock = new ManualClock();
 * const bucket = new TokenBucket({ capacity: 1, refill: perSecond(1), clock: clock.now });
 * bucket.consume();
 * clock.advance(1_000); // one token is back
 */
export class ManualClock {
  #time: number;
  #suspendedMs: number;

  /** Starts at `time`, in milliseconds. Default 0. */
  constructor(time = 0) {
    this.#time = time;
    this.#suspendedMs = 0;
  }

  /** The current time, in milliseconds. It is bound to the clock, so you can pass it as a function. */
  readonly now = (): number => this.#time;

  /**
   * The same time, and what passed while the machine was suspended. A client reads the dates in header fields by it:
   * start the clock at an instant since 1970 for those.
   */
  readonly wallNow = (): number => this.#time + this.#suspendedMs;

  /**
   * Moves the clock on by `ms` from now, unless others have moved it that far. Resolves in a later turn of the event
   * loop, in which no real time passes. Rejects with the signal's reason, and moves nothing, if that aborts before.
   *
   * A client also times attempts with it: an attempt with an `attemptTimeoutMs` gets one turn for its response.
   */
  readonly sleep = async (ms: number, signal?: AbortSignal | null): Promise<void> => {
    const end = this.#time + ms;
    await new Promise<void>((resolve) => setTimeout(resolve));
    if (signal?.aborted) throw signal.reason;
    this.#time = Math.max(this.#time, end);
  };

  /** Always 0: a client's waits have no jitter. */
  readonly random = (): number => 0;

  /** Moves the clock by `ms`. Negative values and fractions are allowed, to test against clocks that misbehave. */
  advance(ms: number): void {
    this.#time += ms;
  }

  /**
   * Suspends the machine for `ms`: `wallNow` goes on, and `now` stands still. A negative number steps the wall clock
   * back.
   */
  suspend(ms: number): void {
    this.#suspendedMs += ms;
  }

  /** Sets the clock to `time`, in milliseconds. */
  set(time: number): void {
    this.#time = time;
  }
}
