// When the tokens of work are renewed, and to which date: functions of plain values and an instant.
import type { InFlightTimes, Move } from "../core/rules.js";

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
 * "lost" when the date is over to which they were moved, and "over" after `longestMs`. `fullMs` is the longest time
 * from an instant to its date.
 */
export function renewalState(
  renewals: number, ageMs: number, times: InFlightTimes, fullMs: number,
): "waits" | "due" | "lost" | "over" {
  if (ageMs > times.longestMs) return "over";
  if (ageMs > msAfter(renewals, times) + fullMs) return "lost";
  return ageMs >= msAfter(renewals + 1, times) ? "due" : "waits";
}
