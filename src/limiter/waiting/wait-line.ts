import type { LimiterInternals } from "../internals.js";
import type { Decision } from "../../core/decision.js";
import { bindingPart } from "../several/charge-all.js";
import {
  addTokens, allFull, areThere, expectedAt, forecastAfter, heldUntil, mayReturn, predicted, type Forecast, type Tokens,
} from "./forecast.js";
import { isHopeless, refusedFor, type Answer, type QueuedCaller, type Round } from "./round.js";

// A timer counts in whole milliseconds. A call that is early by less than half of one is sent.
export const EARLY_MS = 0.5;
/** How long a queue sleeps before it asks the store again, in case another process returned tokens. */
const POLL_MS = 1_000;

/** When the tokens of a caller should be there. Both instants may be in the past. */
interface Due {
  /** They are not there before. */
  readonly at: number;
  /** Missing tokens in flight come back at this instant, or any time before. -Infinity when none are missing. */
  readonly latest: number;
}

/**
 * The callers of a queue in order of arrival, and what is known of their tokens. It answers the callers that it
 * refuses. It is told the time, and calls no store.
 */
export class WaitLine {
  /** Whether tokens may have come back since the last answer. Then the first caller is asked for at once. */
  isNews = false;
  readonly #limiter: LimiterInternals;
  readonly #timeoutMs: number;
  /** The callers, from `#head` on. */
  #callers: QueuedCaller[] = [];
  #head = 0;
  /** The tokens that all callers want. */
  #wanted: Tokens = new Map();
  /** The earliest `until` of all callers, or an instant before it. */
  #soonest = Infinity;
  /** Null without information: before the first answer, and while a fallback answers. */
  #forecast: Forecast | null = null;
  /** The last decision, if a fallback made it. */
  #degraded: Decision | null = null;
  /** The instant that the refusal of the first caller names. -Infinity for a caller without one. */
  #notBefore = -Infinity;
  /** Whether a caller joined whose wait was unknown. */
  #isUnjudged = false;
  /** The duration of the last round's calls in milliseconds. */
  #tripMs = 0;

  /** `timeoutMs` is the longest time that the stores may take for one call. */
  constructor(limiter: LimiterInternals, timeoutMs: number) {
    this.#limiter = limiter;
    this.#timeoutMs = timeoutMs;
  }

  get length(): number {
    return this.#callers.length - this.#head;
  }

  get first(): QueuedCaller | undefined {
    return this.#callers[this.#head];
  }

  /**
   * Adds a caller, or refuses it when its tokens will come too late. Returns whether the queue may have to wake
   * earlier: for its first caller, or for the end of this caller's time.
   */
  join(caller: QueuedCaller, now: number): boolean {
    const isFirst = this.length === 0;
    const due = this.#dueOf(caller, addTokens(this.#wanted, caller.wants));
    if (this.#isLate(caller, due, now, 0)) {
      addTokens(this.#wanted, caller.wants, -1);
      this.#refuse(caller, due.at, this.#wanted, now);
      return isFirst;
    }
    this.#callers.push(caller);
    if (this.#forecast === null || this.isNews) this.#isUnjudged = true;
    const isSoonest = caller.until < this.#soonest;
    if (isSoonest) this.#soonest = caller.until;
    return isFirst || isSoonest;
  }

  /** Removes callers from any place, and returns those that were there. */
  remove(callers: ReadonlySet<QueuedCaller>): readonly QueuedCaller[] {
    const all = this.#callers.slice(this.#head);
    const gone = all.filter((caller) => callers.has(caller));
    if (gone[0] === all[0]) this.#notBefore = -Infinity;
    this.#keep(all.filter((caller) => !callers.has(caller)));
    for (const { wants } of gone) addTokens(this.#wanted, wants, -1);
    return gone;
  }

  /** Removes the first caller, in constant time. */
  shift(): void {
    addTokens(this.#wanted, (this.first as QueuedCaller).wants, -1);
    this.#notBefore = -Infinity;
    this.#head += 1;
    // Drops the callers that have left as soon as they are more than those that are left.
    if (this.#head > 32 && this.#head * 2 > this.#callers.length) this.#keep(this.#callers.slice(this.#head));
  }

  /**
   * When to ask for the first caller, and after how long to look before that. Null without callers. Refuses callers
   * that were held up for too long.
   */
  sleep(now: number): { readonly until: number; readonly pollMs: number } | null {
    // The forecast may be early, and that must not refuse a caller. Hence the grace.
    if (now - this.#soonest > this.#timeoutMs) this.#refuseLate(now, this.#timeoutMs);
    const { first } = this;
    if (first === undefined) return null;
    const due = this.#dueOf(first);
    if (!isUnsure(due, now)) return { until: Math.max(due.at, due.latest), pollMs: POLL_MS };
    // At the end of a caller's time the store is asked once more for tokens in flight.
    return { until: Math.min(due.latest, this.#soonest), pollMs: pollMsOf(first) };
  }

  /** The callers to ask for: the first ones, as many as the expected tokens can serve, and at least one. */
  ready(now: number): readonly QueuedCaller[] {
    // A call that is sent n ms later is decided n ms later. So the tokens that refill on its way will be there as well.
    const decidedAt = now + this.#tripMs / 2;
    const forecast = this.#forecast ?? allFull(decidedAt);
    const wanted: Tokens = new Map();
    let end = this.#head;
    for (; end < this.#callers.length; end++) {
      const { wants } = this.#callers[end] as QueuedCaller;
      addTokens(wanted, wants);
      if (end > this.#head && (this.#degraded !== null || !areThere(forecast, wants, wanted, decidedAt))) break;
    }
    return this.#callers.slice(this.#head, end);
  }

  /** Makes the forecast of the answer that the store gave last. Refuses the callers whose tokens then come too late. */
  learn(round: Round, now: number, jitterMs: number): void {
    const { last, refusals } = round;
    if (last === null) return;
    const { caller: { wants }, decision: { degraded, remaining, nextTokenMs } } = last;
    const unused = addTokens(new Map(), round.grants.flatMap(({ caller }) => caller.wants));
    const asBefore = addTokens(new Map(this.#wanted), round.served);
    const expected = this.#forecast === null ? -Infinity : expectedAt(this.#forecast, wants, asBefore);

    this.#tripMs = last.receivedAt - round.sentAt;
    this.isNews = round.isNews;
    this.#degraded = degraded ? last.decision : null;
    const parts = this.#limiter.partsOf(last.decision);
    this.#forecast = degraded ? null : forecastAfter(parts, wants, unused, round.decidedAt(last));
    const hopeless = new Set([...refusals.keys()].filter((caller) => isHopeless((refusals.get(caller) as Answer).decision)));
    if (hopeless.size > 0) {
      for (const caller of this.remove(hopeless)) caller.resolve((refusals.get(caller) as Answer).decision);
    }

    const { first } = this;
    const refusal = first && refusals.get(first);
    // The refusal may count tokens that are refunded now. Then the forecast gives the wait.
    if (refusal && (degraded || !mayReturn(refusal.decision))) {
      this.#notBefore = round.decidedAt(refusal) + (unused.size > 0 ? 1 : Math.max(1, refusal.decision.retryAfterMs));
    }
    // The forecast does not include a fallback's bucket, but its next token is known.
    if (first && degraded && remaining === 0) this.#notBefore = Math.max(this.#notBefore, last.receivedAt + nextTokenMs);

    const isWorse = this.#forecast === null || expectedAt(this.#forecast, wants, this.#wanted) > expected + 1;
    const due = first && this.#dueOf(first);
    const isAnyOver = due && isUnsure(due, now) && this.#soonest - now < EARLY_MS;
    if (isWorse || this.#isUnjudged || isAnyOver || (due && this.#isLate(first, due, now, 0))) this.#refuseLate(now, 0, refusals);
    if (refusals.size > 0) {
      this.#notBefore = Math.max(this.#notBefore, Math.min(this.#notBefore + jitterMs, this.#soonest));
    }
  }

  /** When the tokens of a caller should be there. `wanted` are its tokens and those of the callers before it. */
  #dueOf({ wants }: QueuedCaller, wanted = addTokens(new Map(), wants)): Due {
    if (this.isNews) return { at: -Infinity, latest: -Infinity };
    if (this.#degraded !== null && mayReturn(this.#degraded)) return { at: -Infinity, latest: this.#notBefore };
    if (this.#forecast === null) return { at: this.#notBefore, latest: -Infinity };
    const at = Math.max(expectedAt(this.#forecast, wants, wanted), this.#notBefore);
    return { at, latest: heldUntil(this.#forecast, wants, wanted) };
  }

  /**
   * Whether the tokens of a caller come after its `until`. `until` bounds the wait for tokens, not for the store: if
   * the tokens are there, the caller gets the time of one more call. A caller who waits for tokens in flight waits to
   * its end.
   */
  #isLate({ until }: QueuedCaller, due: Due, now: number, graceMs: number): boolean {
    if (isUnsure(due, now) && until - now < EARLY_MS) return true;
    return Math.max(due.at, now) - until > (due.at > now ? graceMs : this.#timeoutMs);
  }

  /**
   * Refuses every caller whose tokens come too late. `own` has the answers of the last round. This visits all callers,
   * so it runs only when tokens may come later than predicted, or when a caller's time is over.
   */
  #refuseLate(now: number, graceMs: number, own?: ReadonlyMap<QueuedCaller, Answer>): void {
    this.#isUnjudged = this.isNews && this.#soonest < Infinity;
    if (this.#soonest === Infinity) return;
    const kept: QueuedCaller[] = [];
    const wanted: Tokens = new Map();
    let [soonest, front] = [Infinity, -Infinity];
    for (const caller of this.#callers.slice(this.#head)) {
      const { at, latest } = this.#dueOf(caller, addTokens(wanted, caller.wants));
      // It also waits for the tokens in flight of the callers before it.
      const due = { at, latest: Math.max(latest, front) };
      if (this.#isLate(caller, due, now, graceMs)) {
        addTokens(wanted, caller.wants, -1);
        this.#refuse(caller, at, wanted, now, own?.get(caller));
        if (kept.length === 0) this.#notBefore = -Infinity;
        continue;
      }
      kept.push(caller);
      soonest = Math.min(soonest, caller.until);
      front = due.latest;
    }
    this.#keep(kept);
    this.#wanted = wanted;
    this.#soonest = soonest;
  }

  /**
   * Refuses a caller whose tokens come at `at`, behind callers who want `front`. `own` is the answer to its own call,
   * if it has one. The part that binds refuses, and names the wait.
   */
  #refuse({ charges, wants, resolve }: QueuedCaller, at: number, front: Tokens, now: number, own?: Answer): void {
    const limiter = this.#limiter;
    const known = own?.decision ?? this.#degraded;
    const parts = known ? limiter.partsOf(known) : predicted(this.#forecast ?? allFull(now), charges, wants, front, now);
    const binding = bindingPart(parts, charges);
    resolve(limiter.decisionOf(parts.map((part, i) => (i === binding ? refusedFor(part as Decision, at - now) : part)), charges));
  }

  #keep(callers: QueuedCaller[]): void {
    this.#callers = callers;
    this.#head = 0;
  }
}

/** Whether a caller waits for tokens in flight, and nobody knows when they come back. */
function isUnsure({ at, latest }: Due, now: number): boolean {
  return latest > Math.max(at, now);
}

/** How often a caller asks for tokens in flight that another process returns. */
function pollMsOf({ wants }: QueuedCaller): number {
  return Math.min(...wants.map(({ limit }) => limit.kind.retryAfterMs));
}
