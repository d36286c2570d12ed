/** Time that stands still until it is told to move, and chance that was decided before. */
import type { Timing } from "sluice/client";

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** Virtual time for a client: hand it over with `createFetch({ time: time.options })`. */
export class FakeTime implements Timing {
  /** Of all sleeps so far, in milliseconds. */
  readonly sleeps: number[] = [];
  readonly #wallOffset: number;
  readonly #random: () => number;
  #now = 0;
  #sleepers: Sleeper[] = [];

  /** Starts at 0 by the monotonic clock and at `wall` by the other. `random` is 0 unless given. */
  constructor({ wall = Date.UTC(2026, 10, 21), random = () => 0 }: { wall?: number; random?: () => number } = {}) {
    this.#wallOffset = wall;
    this.#random = random;
  }

  readonly now = (): number => this.#now;
  readonly wallNow = (): number => this.#wallOffset + this.#now;
  readonly random = (): number => this.#random();

  readonly sleep = (ms: number, signal?: AbortSignal | null): Promise<void> => {
    this.sleeps.push(ms);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const sleeper: Sleeper = { at: this.#now + ms, wake: () => (signal?.removeEventListener("abort", stop), resolve()) };
      const stop = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener("abort", stop, { once: true });
      this.#sleepers.push(sleeper);
    });
  };

  /** The option `time` of a client. */
  get options(): Timing {
    const { now, wallNow, sleep, random } = this;
    return { now, wallNow, sleep, random };
  }

  /** How many are asleep. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  /** Moves on by `ms`, waking sleepers in the order of their time and letting each do what it does next. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const next = this.#sleepers.toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > end) break;
      this.#sleepers = this.#sleepers.filter((other) => other !== next);
      this.#now = Math.max(this.#now, next.at);
      next.wake();
      await settle();
    }
    this.#now = end;
  }

  /** Moves on from sleeper to sleeper until `promise` settles, and gives what it settles with. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    const done = (): void => void (isDone = true);
    promise.then(done, done);
    await settle();
    while (!isDone && this.#sleepers.length > 0) await this.advance(Math.min(...this.#sleepers.map(({ at }) => at)) - this.#now);
    return promise;
  }
}

/** Until everything that needs no time has happened: streams and promises take several turns of the event loop. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}
