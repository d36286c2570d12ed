import type { ToldLimit } from "../reading/rate-limit.js";
import { countSent, leastPaceWait, paceWait, updatePace, type LaterCalls, type Pace } from "./pace.js";

// After a pause, the next call may be sent this long after the previous one, even without a response.
const SLOT_TIMEOUT_MS = 1_000;

// Slots that open for each response that is no refusal. With 2, nearly twice as many calls hit the next limit.
const SLOTS_PER_SUCCESS = 1.5;

// A server's wait may be a mistake. After this long without a response, one call is sent as a probe.
const PROBE_AFTER_MS = 3_600_000;

/**
 * How calls to one policy are held back: a pause after a refusal, slots after the pause, and a pace.
 *
 * Calls of one caller are numbered from 1 in the order in which they are sent.
 */
export interface Throttle {
  /** The end of the pause that the server asked for. */
  pausedUntil: number;
  /** When the first call is sent: `pausedUntil` plus jitter. */
  resumeAt: number;
  /** The random part of the jitter, from 0 up to 1. Drawn once for each pause. */
  jitter: number;
  /** Calls that may be sent before the next response. Infinity unless there was a pause lately. */
  slots: number;
  /** When the next slot opens without a response. */
  nextSlotAt: number;
  /** The number of the last call that was sent before the pause. */
  lastBeforePause: number;
  /** The number of the newest call whose response reported this limit. */
  newestReported: number;
  /** The tokens of all calls that have responded so far. */
  responded: number;
  pace: Pace | null;
  /** When a call is sent as a probe, regardless of the pause and the pace. */
  probeAt: number;
  /** The number of the probe that is pending. 0 without one. */
  probe: number;
}

/** Creates a throttle that holds no call back. */
export function createThrottle(): Throttle {
  const pause = { pausedUntil: 0, resumeAt: 0, jitter: 0, slots: Infinity, nextSlotAt: 0, lastBeforePause: 0 };
  return { ...pause, newestReported: 0, responded: 0, pace: null, probeAt: Infinity, probe: 0 };
}

/**
 * Pauses for `waitMs`, and then opens one slot: the server may have room for one call, not for all that wait.
 * `lastSent` is the number of the last call that was sent.
 */
export function pauseThrottle(throttle: Throttle, waitMs: number, lastSent: number, now: number, random: () => number): void {
  if (now >= throttle.resumeAt) throttle.jitter = random();
  throttle.pausedUntil = Math.max(throttle.pausedUntil, now + waitMs);
  throttle.resumeAt = Math.max(throttle.resumeAt, now + waitMs + throttle.jitter * Math.min(0.1 * waitMs, 1_000));
  throttle.lastBeforePause = lastSent;
  throttle.slots = 1;
  throttle.nextSlotAt = 0;
  throttle.probeAt = now + PROBE_AFTER_MS;
}

/** Ends the pause and fills the pace as if `ms` had passed: the clock lost them while the machine was suspended. */
export function ageThrottle(throttle: Throttle, ms: number): void {
  for (const end of ["pausedUntil", "resumeAt", "nextSlotAt", "probeAt"] as const) throttle[end] -= ms;
  if (throttle.pace !== null) throttle.pace.bucket.at -= ms;
}

/** A throttle, and the tokens that a call takes of its limit. */
export interface Draw {
  readonly throttle: Throttle;
  /** At most what the pace can hold. */
  readonly cost: number;
}

/**
 * Milliseconds until the next call may be sent. 0 when it may be sent now.
 *
 * A retry has waited with a jitter of its own, so the throttle adds none. The later of two random times would be late
 * for most calls and would spread them less.
 */
export function throttleWait({ throttle, cost }: Draw, isRetry: boolean, now: number): number {
  const slotMs = throttle.slots >= 1 ? 0 : throttle.nextSlotAt - now;
  const waitMs = Math.max((isRetry ? throttle.pausedUntil : throttle.resumeAt) - now, slotMs, reportedWait(throttle, cost, now));
  return Math.min(waitMs, Math.max(0, throttle.probeAt - now));
}

/** The least wait of a call behind calls of `ahead` tokens, in milliseconds, without jitter. */
export function leastWait({ throttle, cost }: Draw, ahead: number, now: number): number {
  return now >= throttle.probeAt ? 0 : reportedWait(throttle, ahead + cost, now, leastPaceWait);
}

/** Milliseconds that are left of the pause, without the pace. */
export function pauseWait(throttle: Throttle, now: number): number {
  return now >= throttle.probeAt ? 0 : Math.max(0, throttle.pausedUntil - now);
}

// By what the server reported last, even if that is absurd.
function reportedWait(throttle: Throttle, tokens: number, now: number, waitOf = paceWait): number {
  return Math.max(0, throttle.pausedUntil - now, throttle.pace === null ? 0 : waitOf(throttle.pace, tokens, now));
}

/** Records that call `number` is sent. */
export function recordSent({ throttle, cost }: Draw, number: number, now: number): void {
  if (now >= throttle.probeAt && reportedWait(throttle, cost, now) > 0) throttle.probe = number;
  throttle.probeAt = now + PROBE_AFTER_MS;
  throttle.slots = Math.max(0, throttle.slots - 1);
  throttle.nextSlotAt = now + SLOT_TIMEOUT_MS;
  if (throttle.pace !== null) countSent(throttle.pace, cost, now);
}

/**
 * Ends the probe if call `number` is the probe. Its response replaces the pause and the pace. Without a response, the
 * next call may be a probe.
 */
export function endProbe(throttle: Throttle, number: number, hasResponse: boolean, now: number): void {
  if (number !== throttle.probe) return;
  throttle.probe = 0;
  if (hasResponse) Object.assign(throttle, { pausedUntil: 0, resumeAt: 0, pace: null });
  else throttle.probeAt = now;
}

/** Returns the tokens of a refused call to the pace: a refusal costs nothing. */
export function uncountRefused({ throttle, cost }: Draw, now: number): void {
  if (throttle.pace !== null) countSent(throttle.pace, -cost, now);
}

/**
 * Records the response to call `number`. A response that is no refusal opens more slots, or all slots when no call is
 * queued. A response to a call from before the pause opens none.
 */
export function recordResponse(
  { throttle, cost }: Draw, number: number, isRefused: boolean, hasQueue: boolean, now: number,
): void {
  throttle.responded += cost;
  throttle.probeAt = now + PROBE_AFTER_MS;
  if (!isRefused && number > throttle.lastBeforePause) throttle.slots = hasQueue ? throttle.slots + SLOTS_PER_SUCCESS : Infinity;
}

/** Updates the pace from the response to call `number`. Returns false if a newer call has reported the limit. */
export function recordLimit(throttle: Throttle, told: ToldLimit, number: number, later: LaterCalls, now: number): boolean {
  if (number < throttle.newestReported) return false;
  throttle.newestReported = number;
  throttle.pace = updatePace(throttle.pace, told, later, now);
  return true;
}
