/** The most requests that were served within one span of time, wherever the span begins. */
export class MostWithin {
  readonly #spanMs: number;
  /** Instants of the last span. */
  readonly #recent: number[] = [];
  #most = 0;

  constructor(spanMs: number) {
    this.#spanMs = spanMs;
  }

  /** Counts a request that was served at `at`. Instants must not go back. */
  add(at: number): void {
    this.#recent.push(at);
    // Two instants that are exactly one span apart are not within one.
    while ((this.#recent[0] as number) <= at - this.#spanMs) this.#recent.shift();
    this.#most = Math.max(this.#most, this.#recent.length);
  }

  get most(): number {
    return this.#most;
  }
}

/** The most requests that were served at once, and within the length of a window. */
export class Peaks {
  /** "At once": both bursts around the end of a window are within this time. */
  readonly atOnceMs: number;
  readonly #atOnce: MostWithin;
  readonly #inAll: MostWithin;

  constructor(windowMs: number) {
    this.atOnceMs = Math.min(1_000, windowMs / 4);
    [this.#atOnce, this.#inAll] = [new MostWithin(this.atOnceMs), new MostWithin(windowMs)];
  }

  /** Counts a request that was served at `at`. Instants must not go back. */
  add(at: number): void {
    this.#atOnce.add(at);
    this.#inAll.add(at);
  }

  get atOnce(): number {
    return this.#atOnce.most;
  }

  get inAll(): number {
    return this.#inAll.most;
  }
}
