import { monotonicClock, readClock, type Clock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";

/** Reads the store's clock, which may be its server's. */
export class ServerClock {
  readonly #clock: Clock | "server";
  #aheadMs = Number.NaN;
  /** The instant of the last decision; NaN before the first. */
  seenAt = Number.NaN;

  constructor(clock: Clock | "server") {
    this.#clock = clock;
  }

  /**
   * Learns the offset of the server's clock from a decision whose call was sent at `sentAt`. Uses the time of sending,
   * so a decision never looks younger than it is, and a refund never gives back too much.
   */
  learn(decision: Decision, sentAt: number): void {
    this.#aheadMs = decision.at - sentAt;
    this.seenAt = decision.at;
  }

  /** The present instant, or a little later; NaN while the server's time is unknown. */
  now(): number {
    return this.#clock === "server" ? monotonicClock() + this.#aheadMs : readClock(this.#clock);
  }
}
