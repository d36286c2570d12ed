import { monotonicClock, readClock, type Clock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";

/** Tells the age of decisions by the store's clock, also where that is a server's. */
export interface Age {
  /** Learns a server's time from a decision whose call left at `sentAt`: no later than this, however long the answer took. */
  hear(decision: Decision, sentAt: number): void;
  /** Milliseconds since `decision`, or a little more; NaN when a server's time is not known yet. */
  of(decision: Decision): number;
}

/** Makes the age of a store that goes by `clock`. */
export function makeAge(clock: Clock | "server"): Age {
  let ahead = Number.NaN;
  return {
    hear(decision, sentAt) {
      ahead = decision.at - sentAt;
    },
    of: (decision) => (clock === "server" ? monotonicClock() + ahead : readClock(clock)) - decision.at,
  };
}
