import { lostTimeOf, monotonicClock, readClock } from "../../core/clock.js";
import type { Time } from "../../port/time.js";
import type { Limit } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";

/** What stays the same while a key is leased. */
export interface LeaseTerms {
  readonly policy: Policy;
  /** The only limit of the policy. */
  readonly limit: Limit;
  readonly leaseMs: number;
}

/** An instant of this process, in whole milliseconds. */
export interface LeaseInstant {
  /** By a clock that never steps. What it lost while the machine was suspended is added. */
  readonly steady: number;
  /** By the clock of the day, which may step, and goes on while the machine is suspended. */
  readonly wall: number;
}

/** Returns a function that reads both clocks, and counts what the first one lost while the machine was suspended. */
export function readBoth({ now, wallNow }: Pick<Time, "now" | "wallNow">): () => LeaseInstant {
  // One clock alone loses nothing.
  const lost = lostTimeOf(now && wallNow ? { now, wallNow } : (now ?? wallNow ?? monotonicClock));
  const [readNow, readWall] = [now ?? monotonicClock, wallNow ?? now ?? Date.now];
  return () => {
    const [steady, wall] = [readClock(readNow), readClock(readWall)];
    lost.look(steady, wall);
    return { steady: steady + lost.lostMs, wall };
  };
}

/** Whether less than `ms` have passed since `since`, by both clocks. */
export function isWithin(ms: number, since: LeaseInstant, { steady, wall }: LeaseInstant): boolean {
  return steady - since.steady < ms && wall - since.wall < ms && wall >= since.wall;
}

/** Tokens that refill in `leaseMs`. */
export function refillOf({ limit, leaseMs }: LeaseTerms): number {
  return (limit.unitsPerMs * leaseMs) / limit.unitsPerToken;
}

/** The tokens that one call asks for. */
export interface Take {
  readonly ask: number;
  /** Tokens that the process needs until the next call is due, if it might get too few of them. Otherwise 0. */
  readonly missing: number;
  readonly sent: LeaseInstant;
}
