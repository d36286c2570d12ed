/** Virtual time, which passes only in `pass`, and random numbers from a seed. */
export class VirtualTime {
  #now: number;
  /** Earliest first. */
  readonly #timers: Array<{ readonly at: number; readonly fire: () => void }> = [];

  constructor(start = 0) {
    this.#now = start;
  }

  readonly now = (): number => this.#now;

  /** As {@link Timing.sleep}. */
  readonly sleep = (ms: number, signal?: AbortSignal | null): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const stop = (): void => {
        this.#timers.splice(this.#timers.indexOf(timer), 1);
        reject(signal?.reason as Error);
      };
      const timer = {
        at: this.#now + Math.max(0, ms),
        fire: () => {
          signal?.removeEventListener("abort", stop);
          resolve();
        },
      };
      let place = this.#timers.length;
      while (place > 0 && (this.#timers[place - 1] as typeof timer).at > timer.at) place--;
      this.#timers.splice(place, 0, timer);
      signal?.addEventListener("abort", stop, { once: true });
    });

  /** The timers that are set. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Runs the timers that are due within `ms`, in their order. Without `ms`, runs until no timer is left. */
  async pass(ms = Infinity): Promise<void> {
    const end = this.#now + ms;
    await settled();
    for (let next = this.#timers[0]; next !== undefined && next.at <= end; next = this.#timers[0]) {
      this.#timers.shift();
      this.#now = next.at;
      next.fire();
      await settled();
    }
    if (ms !== Infinity) this.#now = end;
  }
}

/** Random numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// When this resolves, all promises that wait for no timer have run.
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
