import { monotonicClock, readClock, type Clock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";

/** Computes the age of decisions by the store's clock, which may be its server's. */
export class ServerClock {
  readonly #clock: Clock | "server";
  #aheadMs = Number.NaN;

  constructor(clock: Clock | "server") {
    this.#clock = clock;
  }

  /**
   * Learns the offset of the server's clock from a decision whose call was sent at `sentAt`. Uses the time of sending,
   * so the estimate is never ahead of the server and a refund never gives back too much.
   */
  learn(decision: Decision, sentAt: number): void {
    this.#aheadMs = decision.at - sentAt;
  }

  /** Milliseconds since `decision`, or a little more; NaN while the server's time is unknown. */
  ageOf(decision: Decision): number {
    return (this.#clock === "server" ? monotonicClock() + this.#aheadMs : readClock(this.#clock)) - decision.at;
  }
}
