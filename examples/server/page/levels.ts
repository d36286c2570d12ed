/** The level of the chosen bucket over time: what the server said, and the exact refill between two answers. */
import { refillFrom, type ChartLevel } from "../../../src/command/chart/index.js";

/** The numbers of the chosen policy. */
export interface Numbers {
  readonly capacity: number;
  readonly tokens: number;
  readonly everyMs: number;
}

const KEPT_MS = 30_000;

/** The line of the chart. Instants are those of `performance.now()`. */
export class Levels {
  #points: ChartLevel[] = [];
  /** The last answer, or null while the level is unknown. */
  #last: { readonly at: number; readonly tokens: number } | null = null;
  #perMs = 1;
  #capacity = 1;

  /** Forgets the line, for another bucket or other numbers. */
  restart({ capacity, tokens, everyMs }: Numbers): void {
    [this.#points, this.#last] = [[], null];
    [this.#capacity, this.#perMs] = [capacity, tokens / everyMs];
  }

  /** Takes the server's answer. Null when the store does not answer. */
  add(at: number, tokens: number | null): void {
    if (this.#last !== null) this.#points.push(...refillFrom(this.#last, this.#perMs, this.#capacity, at));
    this.#points.push({ at, tokens });
    this.#last = tokens === null ? null : { at, tokens };
    while (this.#points.length > 2 && (this.#points[1] as ChartLevel).at < at - KEPT_MS) this.#points.shift();
  }

  /** The tokens at `now`, or null while they are unknown. */
  tokensAt(now: number): number | null {
    return this.#last === null ? null : (refillFrom(this.#last, this.#perMs, this.#capacity, now).at(-1)?.tokens ?? null);
  }

  /** The instant at which the bucket has a whole token, or null when it has one or the level is unknown. */
  againAt(now: number): number | null {
    const tokens = this.tokensAt(now);
    return tokens === null || tokens >= 1 - 1e-9 ? null : now + (1 - tokens) / this.#perMs;
  }

  /** The line up to `now`, and the refill from there to `until`. */
  line(now: number, until: number): ChartLevel[] {
    if (this.#last === null) return this.#points;
    const current = { at: now, tokens: this.tokensAt(now) as number };
    return [...this.#points, ...refillFrom(this.#last, this.#perMs, this.#capacity, now), ...refillFrom(current, this.#perMs, this.#capacity, until)];
  }
}
