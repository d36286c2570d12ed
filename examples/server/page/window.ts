/** The same requests on a fixed window with the same numbers, counted in the page. */
import { FixedWindow, type ChartLevel, type ChartMark } from "../../../src/command/chart/index.js";
import type { Numbers } from "./levels.js";
import { Peaks } from "./most.js";

const KEPT_MS = 30_000;

/** A fixed window of the chosen policy's capacity, as long as its full refill takes. */
export class WindowBeside {
  #window = new FixedWindow(1, 1);
  #points: ChartLevel[] = [];
  #marks: ChartMark[] = [];
  /** The most that were served, at once and within the length of a window, since it began with these numbers. */
  peaks = new Peaks(1);
  served = 0;
  refused = 0;

  /** Begins again with other numbers. The counts stay. */
  restart({ capacity, tokens, everyMs }: Numbers, now: number): void {
    this.#window = new FixedWindow(capacity, (capacity * everyMs) / tokens);
    this.peaks = new Peaks(this.#window.windowMs);
    this.#points = [this.#window.levelAt(now)];
    this.#marks = [];
  }

  /** Counts one request. */
  consume(at: number): void {
    this.#closeWindow(at);
    this.#points.push({ at, tokens: this.left });
    const isServed = this.#window.consume(at);
    this.#points.push(this.#window.levelAt(at));
    this.#marks.push({ at, lane: 0, outcome: isServed ? "served" : "refused" });
    if (isServed) {
      this.served++;
      this.peaks.add(at);
    } else this.refused++;
    while (this.#marks.length > 0 && (this.#marks[0] as ChartMark).at < at - KEPT_MS) this.#marks.shift();
  }

  /** The parts of the chart that are its own. */
  scene(now: number): { readonly capacity: number; readonly levels: ChartLevel[]; readonly marks: ChartMark[]; readonly edges: readonly number[]; readonly againAt: number | null } {
    this.#closeWindow(now);
    const current = this.#window.levelAt(now);
    return { capacity: this.#window.limit, levels: [...this.#points, current], marks: this.#marks, edges: this.#window.edges, againAt: current.tokens === 0 ? this.#window.endAt(now) : null };
  }

  /** The requests that a window serves. */
  get limit(): number {
    return this.#window.limit;
  }

  /** The size of the window, in milliseconds. */
  get windowMs(): number {
    return this.#window.windowMs;
  }

  /** What the window had left after the last request. */
  get left(): number {
    return this.#points.at(-1)?.tokens ?? 0;
  }

  /** The instant at which the current window ends, or null when there is none. */
  endAt(now: number): number | null {
    return this.#window.endAt(now);
  }

  // A window that ended by `now` is full again at its end.
  #closeWindow(now: number): void {
    const last = this.#points.at(-1) as ChartLevel;
    const end = this.#window.endAt(last.at);
    if (end !== null && end <= now) this.#points.push({ at: end, tokens: last.tokens }, { at: end, tokens: this.#window.limit });
    while (this.#points.length > 2 && (this.#points[1] as ChartLevel).at < now - KEPT_MS) this.#points.shift();
  }
}
