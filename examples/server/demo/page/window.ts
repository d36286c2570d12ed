/** The same requests on a window with the same numbers, counted in the page. */
import type { ChartLevel, ChartMark } from "../../../../simulate/src/chart/index.js";
import type { Numbers } from "./levels.js";
import { Peaks } from "./most.js";
import type { Counter } from "./sliding.js";

const KEPT_MS = 30_000;

/** A window of the chosen policy's capacity, as long as its full refill takes. */
export class WindowBeside {
  readonly #kind: new (limit: number, windowMs: number) => Counter;
  #window: Counter;
  #points: ChartLevel[] = [];
  #marks: ChartMark[] = [];
  /** The most that were served, at once and within the length of a window, since it began with these numbers. */
  peaks = new Peaks(1);
  served = 0;
  refused = 0;

  constructor(kind: new (limit: number, windowMs: number) => Counter) {
    this.#kind = kind;
    this.#window = new kind(1, 1);
  }

  /** Begins again with other numbers. The counts stay. */
  restart({ capacity, tokens, everyMs }: Numbers, now: number): void {
    this.#window = new this.#kind(capacity, (capacity * everyMs) / tokens);
    this.peaks = new Peaks(this.#window.windowMs);
    this.#points = [this.#window.levelAt(Math.floor(now))];
    this.#marks = [];
  }

  /** Counts one request, in whole milliseconds as the sliding window does. */
  consume(now: number): void {
    const at = Math.floor(now);
    this.#bringBack(at);
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
  scene(instant: number): { readonly capacity: number; readonly levels: ChartLevel[]; readonly marks: ChartMark[]; readonly edges: readonly number[]; readonly againAt: number | null } {
    const now = Math.floor(instant);
    this.#bringBack(now);
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

  /** The instant at which the window has more left, or null when it is full. */
  endAt(now: number): number | null {
    return this.#window.endAt(now);
  }

  // A fixed window is full again at its end. In a sliding one, requests come back one after another.
  #bringBack(now: number): void {
    for (let { at, tokens } = this.#points.at(-1) as ChartLevel, end = this.#window.endAt(at); end !== null && end <= now; end = this.#window.endAt(at)) {
      this.#points.push({ at: end, tokens });
      ({ at, tokens } = this.#window.levelAt(end));
      this.#points.push({ at, tokens });
    }
    while (this.#points.length > 2 && (this.#points[1] as ChartLevel).at < now - KEPT_MS) this.#points.shift();
  }
}
