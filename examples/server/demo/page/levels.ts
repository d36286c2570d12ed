/** The level of the chosen bucket over time: what the server said, and the exact refill between two answers. */
import { refillFrom, type ChartLevel } from "../../../../simulate/src/chart/index.js";

/** The numbers of the chosen policy. */
export interface Numbers {
  readonly capacity: number;
  readonly tokens: number;
  readonly everyMs: number;
}

/**
 * What the last answer said: the level, or that the store is unavailable. `silent` when the server gave no answer, and
 * `unknown` while there is none for this bucket yet.
 */
export type Knowledge = "unknown" | "level" | "unavailable" | "silent";

const KEPT_MS = 30_000;

/** The line of the chart. Instants are those of `performance.now()`. */
export class Levels {
  #points: ChartLevel[] = [];
  /** The last level, or null without one. */
  #last: { readonly at: number; readonly tokens: number } | null = null;
  #perMs = 1;
  #capacity = 1;
  #knowledge: Knowledge = "unknown";

  get knowledge(): Knowledge {
    return this.#knowledge;
  }

  /** Forgets the line, for another bucket or other numbers. */
  restart({ capacity, tokens, everyMs }: Numbers): void {
    [this.#points, this.#last, this.#knowledge] = [[], null, "unknown"];
    [this.#capacity, this.#perMs] = [capacity, tokens / everyMs];
  }

  /** Takes a level that the server answered. */
  add(at: number, tokens: number): void {
    this.#push(at, tokens);
    [this.#last, this.#knowledge] = [{ at, tokens }, "level"];
  }

  /** Ends the line, because there is no level. */
  lose(at: number, knowledge: "unavailable" | "silent"): void {
    this.#push(at, null);
    [this.#last, this.#knowledge] = [null, knowledge];
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

  #push(at: number, tokens: number | null): void {
    if (this.#last !== null) this.#points.push(...refillFrom(this.#last, this.#perMs, this.#capacity, at));
    this.#points.push({ at, tokens });
    while (this.#points.length > 2 && (this.#points[1] as ChartLevel).at < at - KEPT_MS) this.#points.shift();
  }
}
