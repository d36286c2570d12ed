import { adjustPace, paceWait, countSent, type Pace, type Later } from "./pace.js";
import type { RateLimit } from "../reading/rate-limit.js";

// How long one unanswered call may keep others of a narrow lane waiting.
const PATIENCE_MS = 1_000;

// How many may follow a call that was not refused: with two, nearly twice as many calls run into the next limit.
const GROWTH = 1.5;

// What a server said may have been a mistake: after this long without a word from it, one call goes and asks.
const LONGEST_SILENCE_MS = 3_600_000;

/** What is known of one policy for one caller. Its calls go through together, or wait together. */
export interface Lane {
  /** Until when the server wants nobody. */
  until: number;
  /** When the first call goes: `until` and this client's share of jitter. */
  opensAt: number;
  /** That share, from 0 up to 1, drawn once for each closing. */
  jitter: number;
  /** How many may go before the next answer. Infinity unless the lane was closed lately. */
  places: number;
  /** When another may go without an answer. */
  patientUntil: number;
  /** The number of the last call that was sent before the lane was closed. */
  closedAfter: number;
  /** The number of the newest call whose answer told of this limit. */
  heardUpTo: number;
  /** Answers so far. */
  answers: number;
  pace: Pace | null;
  /** When a call goes whatever the server said. */
  askAt: number;
  /** The number of the call that went so; 0 when none did. */
  asking: number;
}

/** An open lane that nothing is known of. */
export function openLane(): Lane {
  const word = { until: 0, opensAt: 0, jitter: 0, pace: null, heardUpTo: 0, answers: 0, askAt: Infinity, asking: 0 };
  return { ...word, places: Infinity, patientUntil: 0, closedAfter: 0 };
}

/**
 * Closes for `waitMs`, and lets one go first afterwards: the server may have room for one, not for all who waited. `sent` is
 * the number of the last call that was sent.
 */
export function closeLane(lane: Lane, waitMs: number, sent: number, now: number, random: () => number): void {
  if (now >= lane.opensAt) lane.jitter = random();
  lane.until = Math.max(lane.until, now + waitMs);
  lane.opensAt = Math.max(lane.opensAt, now + waitMs + lane.jitter * Math.min(0.1 * waitMs, 1_000));
  lane.closedAfter = sent;
  lane.places = 1;
  lane.patientUntil = 0;
  lane.askAt = now + LONGEST_SILENCE_MS;
}

/**
 * Milliseconds until the lane takes a call; 0 when it does now. A retry has waited with jitter of its own: the later of two
 * draws would be late for nearly everybody, and no spread.
 */
export function laneWait(lane: Lane, isRetry: boolean, now: number): number {
  const place = lane.places >= 1 ? 0 : lane.patientUntil - now;
  const wait = Math.max((isRetry ? lane.until : lane.opensAt) - now, place, toldWait(lane, 1, now));
  return Math.min(wait, Math.max(0, lane.askAt - now));
}

/** Milliseconds that are known to be ahead of a call with `ahead` others before it, without jitter. */
export function knownWait(lane: Lane, ahead: number, now: number): number {
  return now >= lane.askAt ? 0 : toldWait(lane, ahead + 1, now);
}

/** Milliseconds for which the server wants nobody, however slow the pace. */
export function closedWait(lane: Lane, now: number): number {
  return now >= lane.askAt ? 0 : Math.max(0, lane.until - now);
}

/** What the server said last, however absurd. */
function toldWait(lane: Lane, calls: number, now: number): number {
  return Math.max(0, lane.until - now, lane.pace === null ? 0 : paceWait(lane.pace, calls, now));
}

/** Call `number` goes. */
export function enterLane(lane: Lane, number: number, now: number): void {
  if (now >= lane.askAt && toldWait(lane, 1, now) > 0) lane.asking = number;
  lane.askAt = now + LONGEST_SILENCE_MS;
  lane.places = Math.max(0, lane.places - 1);
  lane.patientUntil = now + PATIENCE_MS;
  if (lane.pace !== null) countSent(lane.pace, 1, now);
}

/** Call `number` came back. If it was the one that asked, its answer counts and no earlier one; without an answer another may ask. */
export function forgetAsked(lane: Lane, number: number, isAnswered: boolean, now: number): void {
  if (number !== lane.asking) return;
  lane.asking = 0;
  if (isAnswered) Object.assign(lane, { until: 0, opensAt: 0, pace: null });
  else lane.askAt = now;
}

/** A refused call took nothing. */
export function giveBack(lane: Lane, now: number): void {
  if (lane.pace !== null) countSent(lane.pace, -1, now);
}

/** Call `number` was answered. Unless it was refused more may go, or all who come, when nobody waits. */
export function leaveLane(lane: Lane, number: number, refused: boolean, wanted: boolean, now: number): void {
  lane.answers++;
  lane.askAt = now + LONGEST_SILENCE_MS;
  if (!refused && number > lane.closedAfter) lane.places = wanted ? lane.places + GROWTH : Infinity;
}

/** Takes in what the answer to call `number` tells of the limit, unless a later call's answer told already. */
export function tellLane(lane: Lane, told: RateLimit, number: number, later: Later, now: number): boolean {
  if (number < lane.heardUpTo) return false;
  lane.heardUpTo = number;
  lane.pace = adjustPace(lane.pace, told, later, now);
  return true;
}
