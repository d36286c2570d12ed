// What is to be done about work that holds tokens: functions of plain values and an instant. Timers and lines stand
// around them, in `renewals.ts` and `settlements.ts`.
import { costsOf, exceptInFlight, mapCosts } from "../core/cost.js";
import { costAt } from "../core/limit.js";
import type { Costs, Move, Policy, InFlightTimes } from "../core/model.js";
import type { Decision } from "../core/decision.js";

/** A renewal is due after each third of `staleAfterMs`. Two may fail before the tokens come back. */
export const RENEWALS = 3;

/** Milliseconds from a decision to the instant whose date its tokens have after so many renewals. */
export function msAfter(renewals: number, { staleAfterMs }: InFlightTimes): number {
  return Math.floor((renewals * staleAfterMs) / RENEWALS);
}

/**
 * The next move of the tokens of a decision at `at`. Until the store has answered, each attempt makes the same move. So
 * an attempt after a lost answer finds nothing at the old date and frees no token.
 */
export function moveAfter(at: number, renewals: number, times: InFlightTimes): Move {
  return { from: at + msAfter(renewals, times), to: at + msAfter(renewals + 1, times) };
}

/**
 * What is to be done about the tokens of work that is `ageMs` old: to wait, to renew them, or nothing more. They are
 * "lost" when the date is over to which they were moved, and "over" after `maxWorkMs`. `fullMs` is the longest time
 * from an instant to its date.
 */
export function renewalState(
  renewals: number, ageMs: number, times: InFlightTimes, fullMs: number,
): "waits" | "due" | "lost" | "over" {
  if (ageMs > times.maxWorkMs) return "over";
  if (ageMs > msAfter(renewals, times) + fullMs) return "lost";
  return ageMs >= msAfter(renewals + 1, times) ? "due" : "waits";
}

/** The tokens in flight that a decision took, and 0 for each rate and quota. */
export function heldCosts(decision: Decision, policy: Policy): Costs {
  const all = costsOf(decision, policy);
  const others = exceptInFlight(policy, all, 0);
  return mapCosts(policy, all, (cost, i) => cost - costAt(others, i));
}

// As many that are refused in a row say that the store is away, and not only a few buckets of it.
export const MOST_REFUSED = 16;

/** How many waiting settlements are made at once after so many were tried, and so many in a row were refused. */
export function settlementsAtOnce(tried: number, refused: number): number {
  return tried === 0 || refused > 0 ? 1 : CALLS_AT_ONCE;
}

// A process may hold tokens for thousands of works. Calls for all of them at once would make those of callers wait.
const CALLS_AT_ONCE = 16;
const MOST_CALLS_AT_ONCE = 1_000;

/**
 * How many calls go to a store at once. 16, or as many as it takes to make `waiting` calls of `callMs` each in half of
 * the time that is left until the first date is over. At most 1,000.
 */
export function callsAtOnce(waiting: number, callMs: number, leftMs: number): number {
  const needed = Math.ceil((2 * waiting * callMs) / Math.max(1, leftMs));
  return Math.min(Math.max(CALLS_AT_ONCE, needed), MOST_CALLS_AT_ONCE);
}
