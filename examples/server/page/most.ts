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
