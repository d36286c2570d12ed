import { monotonicClock, readClock, type Clock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";

/** Tells the age of decisions by the store's clock, also where that is a server's. */
export class Age {
  readonly #clock: Clock | "server";
  #ahead = Number.NaN;

  constructor(clock: Clock | "server") {
    this.#clock = clock;
  }

  /** Learns a server's time from a decision whose call left at `sentAt`: no later than this, however long the answer took. */
  hear(decision: Decision, sentAt: number): void {
    this.#ahead = decision.at - sentAt;
  }

  /** Milliseconds since `decision`, or a little more; NaN when a server's time is not known yet. */
  of(decision: Decision): number {
    const now = this.#clock === "server" ? monotonicClock() + this.#ahead : readClock(this.#clock);
    return now - decision.at;
  }
}
