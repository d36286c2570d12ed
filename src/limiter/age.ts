import { monotonicClock, readClock, type Clock } from "../core/clock.js";
import { readings, type Decision } from "../core/decision.js";
import type { Limit } from "../core/limit.js";
import { Policy } from "../core/policy.js";

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

/**
 * What a refund of a decision of that age is due to: the limits of `policy` whose bucket, by the decision's own reading,
 * is not full again by itself. Null when none is left: whatever the decision took has come back already, and to give it
 * back once more would mint tokens (law L1).
 */
export function stillSpent(policy: Policy, decision: Decision, ageMs: number): Policy | null {
  const own = readings(decision);
  const due = policy.limits.filter(({ name }) => !own.some(({ limit, resetMs }) => limit === name && ageMs >= resetMs));
  if (due.length === policy.limits.length) return policy;
  return due.length === 0 ? null : new Policy(policy.name, due as unknown as readonly [Limit, ...Limit[]]);
}
