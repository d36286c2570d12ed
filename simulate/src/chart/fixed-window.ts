import type { ChartLevel } from "./scene.js";

/**
 * A counter that starts again with each window, for comparison: `limit` requests in `windowMs`. A window begins with
 * its first request, as in the libraries that count so. No limiter uses it.
 */
export class FixedWindow {
  readonly limit: number;
  readonly windowMs: number;
  readonly #edges: number[] = [];
  #served = 0;

  /** `limit` requests in `windowMs` milliseconds. */
  constructor(limit: number, windowMs: number) {
    this.limit = limit;
    this.windowMs = windowMs;
  }

  /** Instants at which a window began. */
  get edges(): readonly number[] {
    return this.#edges;
  }

  /** Whether a request at `now` is served. Instants must not go back. */
  consume(now: number): boolean {
    if (this.#isOver(now)) {
      this.#edges.push(now);
      this.#served = 0;
    }
    if (this.#served === this.limit) return false;
    this.#served++;
    return true;
  }

  /** What the window has left at `now`: `limit` when there is no window. */
  levelAt(now: number): ChartLevel {
    return { at: now, tokens: this.#isOver(now) ? this.limit : this.limit - this.#served };
  }

  /** The instant at which the current window ends, or null when there is none at `now`. */
  endAt(now: number): number | null {
    return this.#isOver(now) ? null : (this.#edges.at(-1) as number) + this.windowMs;
  }

  #isOver(now: number): boolean {
    const start = this.#edges.at(-1);
    return start === undefined || now >= start + this.windowMs;
  }
}
