import { allFull, expectedAt, NO_TOKENS, plus, predicted, type Tokens } from "./forecast.js";
import { itemsOf, listOf } from "./list.js";
import type { Answer, QueuedCaller, QueueStep } from "./queue-state.js";
import { refusalBehind } from "./refusal.js";

/**
 * The instant at which the tokens of a caller should be there. `wanted` are its tokens and those of the callers before
 * it. The instant may be in the past.
 */
export function dueAt({ state }: QueueStep, { wants }: QueuedCaller, wanted: Tokens): number {
  if (state.isNews) return -Infinity;
  const expected = state.forecast === null ? -Infinity : expectedAt(state.forecast, wants, wanted);
  return Math.max(expected, state.notBefore);
}

/**
 * Whether the tokens of a caller come after its `until`. `until` bounds the wait for tokens, not for the store: if the
 * tokens are there, the caller gets the time of one more call.
 */
export function isLate({ now, rules }: QueueStep, { until }: QueuedCaller, at: number, graceMs: number): boolean {
  return Math.max(at, now) - until > (at > now ? graceMs : rules.timeoutMs);
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
  let [wanted, soonest] = [NO_TOKENS, Infinity];
  for (const caller of itemsOf(state.line)) {
    const sum = plus(wanted, caller.wants);
    const at = dueAt(step, caller, sum);
    if (isLate(step, caller, at, graceMs)) {
      refuse(step, caller, at, wanted, own.get(caller.id));
      if (kept.length === 0) state.notBefore = -Infinity;
      continue;
    }
    kept.push(caller);
    wanted = sum;
    soonest = Math.min(soonest, caller.until);
  }
  Object.assign(state, { line: listOf(kept), wanted, soonest, isUnjudged: state.isNews });
}
