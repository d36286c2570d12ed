import { monotonicClock, readClock, type Clock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";

/** Reads the store's clock, which may be its server's. */
export class ServerClock {
  readonly #clock: Clock | "server";
  #aheadMs = Number.NaN;
  #behindMs = Number.NaN;
  #readAt = -Infinity;
  #seenAt = -Infinity;

  constructor(clock: Clock | "server") {
    this.#clock = clock;
  }

  /**
   * Learns the offset of the server's clock from a decision whose call was sent at `sentAt`. Uses the time of sending,
   * so a decision never looks younger than it is, and a refund never gives back too much.
   */
  learn(decision: Decision, sentAt: number): void {
    this.#aheadMs = decision.at - sentAt;
    this.#seenAt = decision.at;
    // Reading a clock for each decision would cost more than it tells.
    if (sentAt - this.#readAt < 1_000) return;
    this.#readAt = monotonicClock();
    this.#behindMs = decision.at - this.#readAt;
  }

  /** The present instant, or a little earlier; NaN while the server's time is unknown. */
  pastNow(): number {
    return this.#clock === "server" ? Math.max(monotonicClock() + this.#behindMs, this.#seenAt) : readClock(this.#clock);
  }

  /** The present instant, or a little later; NaN while the server's time is unknown. */
  now(): number {
    return this.#clock === "server" ? monotonicClock() + this.#aheadMs : readClock(this.#clock);
  }
}
