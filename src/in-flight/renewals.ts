import { monotonicClock } from "../core/clock.js";
import type { HeldDecision, HeldWork, InFlightTimes, Origin } from "../core/rules.js";
import { sharesWork } from "../platform.js";
import { startBeat, stopBeat } from "./timer.js";
import { heldCosts } from "./held-costs.js";

/** Work whose tokens are renewed. */
interface Renewing extends HeldWork {
  readonly times: InFlightTimes;
  /** When it began, by the monotonic clock. */
  readonly since: number;
  /** The instant whose date its tokens have. */
  heldAt: number;
  /** Settles when the present renewal is over. Null between renewals. */
  pending: Promise<void> | null;
}

// A renewal is due after each third of `staleAfterMs`. Two may fail before the tokens come back.
const RENEWALS = 3;
// How often due renewals are looked for in that time: all of them go to the store together.
const BEATS = 2;

const byDecision = new WeakMap<HeldDecision, Renewing>();

/**
 * The work of this process, by `staleAfterMs`. All work with the same `staleAfterMs` shares one timer, which lets the
 * process end. Where requests share no timers (law L15), each work has its own timer and is not listed here.
 */
const beats = new Map<number, Beat>();

interface Beat {
  readonly works: Set<Renewing>;
  readonly timer: unknown;
}

/** Renews the tokens of work until it is settled, at most for `longestMs`. */
export function keepRenewing(work: HeldWork): void {
  const { decision, policy, store } = work;
  const times = policy.inFlight?.times;
  if (!decision.allowed || decision.shadow !== undefined || store.renew === undefined || times === undefined) return;
  const renewing = { ...work, times, since: monotonicClock(), heldAt: decision.at, pending: null };
  byDecision.set(decision, renewing);
  if (sharesWork()) return void beatOf(times, beats).works.add(renewing);
  beatOf(times, new Map()).works.add(renewing);
}

/** When the tokens of a decision were taken. It waits for a renewal, because the order of two calls is not certain. */
export function heldSince(decision: HeldDecision): Origin | Promise<Origin> | undefined {
  const work = byDecision.get(decision);
  if (work === undefined) return undefined;
  const origin = (): Origin => ({ at: decision.at, heldAt: work.heldAt });
  return work.pending === null ? origin() : work.pending.then(origin);
}

function beatOf(times: InFlightTimes, among: Map<number, Beat>): Beat {
  const { staleAfterMs } = times;
  const known = among.get(staleAfterMs);
  if (known !== undefined) return known;
  const works = new Set<Renewing>();
  const beat: Beat = { works, timer: startBeat(renewAll, staleAfterMs / RENEWALS / BEATS) };
  among.set(staleAfterMs, beat);
  return beat;

  function renewAll(): void {
    const now = monotonicClock();
    for (const work of works) if (!renew(work, now)) works.delete(work);
    if (works.size > 0) return;
    among.delete(staleAfterMs);
    stopBeat(beat.timer);
  }
}

/** Renews the tokens of work if that is due. Returns whether the work may need another renewal. */
function renew(work: Renewing, now: number): boolean {
  const { store, policy, key, decision, times, since } = work;
  if (work.isSettled() || now - since > times.longestMs) return false;
  const stepMs = times.staleAfterMs / RENEWALS;
  // A multiple of the step, so that a repeated renewal finds nothing at the old date and frees no token.
  const to = decision.at + Math.floor(Math.floor((now - since) / stepMs) * stepMs);
  if (to <= work.heldAt || work.pending !== null) return true;
  const done = (): void => void (work.heldAt = to);
  const failed = (): void => undefined; // tried again with the next beat
  try {
    const answer = store.renew?.(policy, key, heldCosts(decision, policy), { from: work.heldAt, to });
    if (!(answer instanceof Promise)) done();
    else work.pending = answer.then(done, failed).finally(() => (work.pending = null));
  } catch {
    failed();
  }
  return true;
}
