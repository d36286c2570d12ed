import { allFull, expectedAt, heldUntil, mayReturn, NO_TOKENS, plus, predicted, type Tokens } from "./forecast.js";
import { itemsOf, listOf } from "./list.js";
import type { Answer, QueuedCaller, QueueStep } from "./queue-state.js";
import { refusalBehind } from "./refusal.js";

// A timer counts in whole milliseconds. A call that is early by less than half of one is sent.
export const EARLY_MS = 0.5;

/** When the tokens of a caller should be there. Both instants may be in the past. */
export interface Due {
  /** They are not there before. */
  readonly at: number;
  /** Missing tokens in flight come back at this instant, or any time before. -Infinity when none are missing. */
  readonly latest: number;
}

/** When the tokens of a caller should be there. `wanted` are its tokens and those of the callers before it. */
export function dueOf({ state }: QueueStep, { wants }: QueuedCaller, wanted: Tokens): Due {
  const { isNews, forecast, degraded, notBefore } = state;
  if (isNews) return { at: -Infinity, latest: -Infinity };
  if (degraded !== null && mayReturn(degraded)) return { at: -Infinity, latest: notBefore };
  if (forecast === null) return { at: notBefore, latest: -Infinity };
  return { at: Math.max(expectedAt(forecast, wants, wanted), notBefore), latest: heldUntil(forecast, wants, wanted) };
}

/** Whether a caller waits for tokens in flight, and nobody knows when they come back. */
export function isUnsure({ now }: QueueStep, { at, latest }: Due): boolean {
  return latest > Math.max(at, now);
}

/**
 * Whether the tokens of a caller come after its `until`. `until` bounds the wait for tokens, not for the store: if the
 * tokens are there, the caller gets the time of one more call. A caller who waits for tokens in flight waits to its
 * end.
 */
export function isLate(step: QueueStep, { until }: QueuedCaller, due: Due, graceMs: number): boolean {
  const { now, rules } = step;
  if (isUnsure(step, due) && until - now < EARLY_MS) return true;
  return Math.max(due.at, now) - until > (due.at > now ? graceMs : rules.timeoutMs);
}

/**
 * Refuses a caller whose tokens come at `at`, behind callers who want `front`. `own` is the answer to its own call, if
 * it has one.
 */
export function refuse(step: QueueStep, caller: QueuedCaller, at: number, front: Tokens, own?: Answer): void {
  const { state, effects, now, rules } = step;
  const { charges, wants } = caller;
  const known = own?.decision ?? state.degraded;
  const parts = known ? rules.partsOf(known) : predicted(state.forecast ?? allFull(now), charges, wants, front, now);
  effects.push({ type: "refuse", caller, decision: refusalBehind(rules, charges, parts, at - now) });
}

/**
 * Refuses every caller whose tokens come too late. `own` has the answers of the last round. This visits all callers, so
 * it runs only when tokens may come later than predicted, or when a caller's time is over.
 */
export function refuseLate(step: QueueStep, graceMs: number, own: ReadonlyMap<number, Answer> = new Map()): void {
  const { state } = step;
  if (state.soonest === Infinity) return void (state.isUnjudged = false);
  const kept: QueuedCaller[] = [];
  let [wanted, soonest, front] = [NO_TOKENS, Infinity, -Infinity];
  for (const caller of itemsOf(state.line)) {
    const sum = plus(wanted, caller.wants);
    const { at, latest } = dueOf(step, caller, sum);
    // It also waits for the tokens in flight of the callers before it.
    const due = { at, latest: Math.max(latest, front) };
    if (isLate(step, caller, due, graceMs)) {
      refuse(step, caller, at, wanted, own.get(caller.id));
      if (kept.length === 0) state.notBefore = -Infinity;
      continue;
    }
    kept.push(caller);
    wanted = sum;
    soonest = Math.min(soonest, caller.until);
    front = due.latest;
  }
  Object.assign(state, { line: listOf(kept), wanted, soonest, isUnjudged: state.isNews });
}
