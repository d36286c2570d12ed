/** A sliding window of sluice, counted in the page: never more than `limit` requests in any `windowMs`. */
import { afterMs, createLimiter, MemoryStore } from "sluice";
import type { FixedWindow } from "../../../../simulate/src/chart/index.js";

/** The parts of a window that the page shows. */
export type Counter = Pick<FixedWindow, "limit" | "windowMs" | "edges" | "consume" | "levelAt" | "endAt">;

export class SlidingWindow implements Counter {
  readonly limit: number;
  readonly windowMs: number;
  /** It has none: it looks back from each request. */
  readonly edges = [];
  #now = 0;
  readonly #limiter;

  constructor(limit: number, windowMs: number) {
    [this.limit, this.windowMs] = [limit, Math.ceil(windowMs)];
    this.#limiter = createLimiter({
      policy: { name: "beside", capacity: limit, returns: afterMs(this.windowMs) },
      store: new MemoryStore({ clock: () => this.#now }),
    });
  }

  /** Whether a request at `now` is served. Instants must not go back. */
  consume(now: number): boolean {
    this.#now = now;
    return this.#limiter.consume("you").allowed;
  }

  levelAt(now: number): { readonly at: number; readonly tokens: number } {
    return { at: now, tokens: this.#look(now).remaining };
  }

  /** The instant at which the next requests are free again, or null when all are. */
  endAt(now: number): number | null {
    const { nextTokenMs } = this.#look(now);
    return nextTokenMs === 0 ? null : now + nextTokenMs;
  }

  #look(now: number) {
    this.#now = now;
    return this.#limiter.peek("you", 0);
  }
}
