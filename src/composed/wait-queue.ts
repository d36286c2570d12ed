import { monotonicClock, readClock } from "../core/clock.js";
import { sameCosts } from "../core/limit.js";
import type { Decision } from "../core/decision.js";
import { storeTimeoutOf } from "../limiter/internals.js";
import { expectedWait, forecastAfter, FULL, refundForecast, want, type Forecast, type Wanted } from "./forecast.js";
import type { LimiterCharge } from "../limiter/charge.js";
import type { Subject } from "./subject.js";
import { storeFailed, tooLarge, tooLate } from "./wait-error.js";

// The longest delay of a timer. A longer wait uses several timers.
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** One caller of a {@link WaitQueue}. */
export interface QueuedWait {
  readonly charges: readonly LimiterCharge[];
  /** The latest instant at which the tokens may come, by the monotonic clock. */
  readonly until: number;
  /** The instant stated by the last refusal. No call is sent before it. -Infinity at first. */
  notBefore: number;
  /** The last refusal of this caller. */
  refusal: Decision | null;
  resolve(decision: Decision): void;
  reject(error: unknown): void;
}

/** The store's answer to one call. */
interface Answer {
  /** The caller for which the call was sent. Another caller may get its tokens. */
  readonly asked: QueuedWait;
  readonly decision: Decision;
  /** When the answer came, by the monotonic clock, with fractions. */
  readonly receivedAt: number;
}

/**
 * A queue of callers that wait for one key, or for the same keys of several limiters. It serves them in order of
 * arrival.
 *
 * The queue calls the store in rounds. A round sends one call for each of the first callers, as many as the expected
 * tokens can serve. Granted tokens go to the first caller in the queue if it wants the same number under the same
 * policy. A round ends when all its calls are answered and unused tokens are refunded. A timer runs only until the next
 * tokens are expected.
 */
export class WaitQueue {
  readonly #subject: Subject;
  readonly #jitterMs: number;
  readonly #storeTimeoutMs: number;
  readonly #onEmpty: () => void;
  readonly #waits = new Set<QueuedWait>();
  /** Tokens that all callers want. */
  readonly #wanted: Wanted = new Map();
  /** The earliest `until` of all callers, or an instant before it. */
  #soonest = Infinity;
  /** Null without information: before the first decision, and while a fallback answers. */
  #forecast: Forecast | null = null;
  /** The last decision, if a fallback made it. */
  #degraded: Decision | null = null;
  /** The duration of the last call in whole milliseconds. */
  #tripMs = 0;
  #isInRound = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `onEmpty` is called once, when no caller and no call is left. */
  constructor(subject: Subject, jitterMs: number, onEmpty: () => void) {
    this.#subject = subject;
    this.#jitterMs = jitterMs;
    // Several limiters may be called one after another.
    this.#storeTimeoutMs = subject.limiters.reduce((sum, limiter) => sum + storeTimeoutOf(limiter), 0);
    this.#onEmpty = onEmpty;
  }

  /** The number of callers, including those with a call in flight. */
  get length(): number {
    return this.#waits.size;
  }

  /** Adds a caller. Rejects it at once when its tokens will come too late. */
  join(wait: QueuedWait, now: number): void {
    this.#waits.add(wait);
    want(this.#wanted, wait.charges);
    const { notBefore } = this.#first ?? wait;
    if (this.#rejectIfLate(wait, this.#knownWait(wait, this.#wanted, notBefore, now), now, 0)) return;
    this.#soonest = Math.min(this.#soonest, wait.until);
    if (!this.#isInRound && this.#waits.size === 1) void this.#round();
  }

  /** Removes a caller from any place in the queue. Call {@link step} afterwards. */
  leave(wait: QueuedWait): void {
    if (this.#waits.delete(wait)) want(this.#wanted, wait.charges, -1);
  }

  /** Begins a round if tokens should be there. Otherwise sets the timer. Does nothing during a round. */
  step(): void {
    if (this.#isInRound) return;
    clearTimeout(this.#timer);
    const now = readClock(monotonicClock);
    if (now - this.#soonest > this.#storeTimeoutMs) this.#rejectLate(now, this.#storeTimeoutMs);
    for (const first of this.#waits) {
      const waitMs = this.#knownWait(first, want(new Map(), first.charges), first.notBefore, now);
      // The forecast may be early, and that must not reject a caller. Hence the grace.
      if (this.#rejectIfLate(first, waitMs, now, this.#storeTimeoutMs)) continue;
      if (waitMs > 0) this.#timer = setTimeout(() => this.step(), Math.min(waitMs, LONGEST_DELAY_MS));
      else void this.#round();
      return;
    }
    this.#onEmpty();
  }

  async #round(): Promise<void> {
    this.#isInRound = true;
    await Promise.resolve(); // Callers that arrive in one turn share a round.
    const asked = this.#affordable();
    const sentAt = monotonicClock();
    const grants = new Set<Answer>();
    const answers = (await Promise.all(asked.map((wait) => this.#ask(wait, grants)))).filter((answer) => answer !== null);
    // These tokens have no caller, or would serve a later caller before an earlier one. If the store fails here, fewer
    // tokens are granted, not more.
    const refunds = [...grants].map(async ({ asked, decision }) => this.#subject.refund(asked.charges, decision));
    if (answers.length > 0) this.#learn(answers, grants, sentAt);
    await Promise.allSettled(refunds);
    this.#isInRound = false;
    this.step();
  }

  // The first callers that the expected tokens can serve, and at least one. A call that is sent n ms later is decided n
  // ms later. So the tokens that refilled during the last call will be there as well.
  #affordable(): QueuedWait[] {
    const decidedAt = readClock(monotonicClock) + this.#tripMs;
    const asked: QueuedWait[] = [];
    const wanted: Wanted = new Map();
    for (const wait of this.#waits) {
      want(wanted, wait.charges);
      if (asked.length > 0 && (this.#degraded !== null || expectedWait(this.#forecast ?? FULL, wait.charges, wanted, decidedAt) > 0)) break;
      asked.push(wait);
    }
    return asked;
  }

  async #ask(asked: QueuedWait, grants: Set<Answer>): Promise<Answer | null> {
    try {
      const decision = await this.#subject.consume(asked.charges);
      const answer = { asked, decision, receivedAt: monotonicClock() };
      if (decision.allowed) this.#handOut(grants.add(answer));
      return answer;
    } catch (error) {
      this.#reject(asked, error);
      return null;
    }
  }

  // Serves callers in order of arrival, up to the first caller that gets none.
  #handOut(grants: Set<Answer>): void {
    for (const wait of this.#waits) {
      const grant = matchingGrant(grants, wait);
      if (grant === undefined) return;
      grants.delete(grant);
      this.leave(wait);
      wait.resolve(grant.decision);
    }
  }

  // The call that the store decided last describes the bucket.
  #learn(answers: readonly Answer[], refunded: ReadonlySet<Answer>, sentAt: number): void {
    const last = answers.reduce((latest, answer) => (answer.decision.at >= latest.decision.at ? answer : latest));
    const { degraded, remaining, nextTokenMs } = last.decision;
    const now = Math.ceil(last.receivedAt);
    const refusals = answers.filter(({ decision }) => !decision.allowed);
    const mayBeLate = refusals.length > 0 || this.#forecast === null;
    this.#tripMs = Math.floor(last.receivedAt - sentAt);
    this.#degraded = degraded ? last.decision : null;
    this.#forecast = degraded ? null : forecastAfter(this.#subject.partsOf(last.decision), last.asked.charges, now);
    for (const { asked } of refunded) refundForecast(this.#forecast ?? FULL, asked.charges, now);
    // The forecast does not include a fallback's bucket, but its next token is known.
    if (degraded && remaining === 0) this.#delayFirst(now + nextTokenMs);
    for (const refusal of refusals) this.#refuse(refusal, refunded.size > 0);
    if (mayBeLate) this.#rejectLate(now, 0);
    if (refusals.length > 0 && this.#first !== undefined) {
      const jitterMs = Math.floor(Math.random() * (this.#jitterMs + 1));
      this.#delayFirst(Math.min(this.#first.notBefore + jitterMs, this.#soonest));
    }
  }

  #refuse({ asked, decision, receivedAt }: Answer, isRefunded: boolean): void {
    const { retryAfterMs, resetMs, cost, capacity, degraded } = decision;
    asked.refusal = decision;
    // The refusal may count tokens that are refunded now. In that case the forecast gives the wait.
    asked.notBefore = Math.ceil(receivedAt) + (isRefunded ? 1 : Math.max(1, retryAfterMs));
    if (retryAfterMs === Infinity) this.#reject(asked, tooLarge(cost, capacity, decision));
    // No bucket refused, so there are no tokens to wait for.
    else if (degraded && resetMs === 0) this.#reject(asked, storeFailed(decision));
  }

  #delayFirst(at: number): void {
    const first = this.#first;
    if (first !== undefined) first.notBefore = Math.max(first.notBefore, at);
  }

  #reject(wait: QueuedWait, error: unknown): void {
    if (!this.#waits.has(wait)) return;
    this.leave(wait);
    wait.reject(error);
  }

  // This visits all callers. It runs only when tokens may come later than predicted, or when a caller's time is over.
  #rejectLate(now: number, graceMs: number): void {
    if (this.#soonest === Infinity) return;
    this.#soonest = Infinity;
    const wanted: Wanted = new Map();
    let notBefore = -Infinity;
    for (const wait of this.#waits) {
      notBefore = Math.max(notBefore, wait.notBefore);
      want(wanted, wait.charges);
      if (this.#rejectIfLate(wait, this.#knownWait(wait, wanted, notBefore, now), now, graceMs)) {
        want(wanted, wait.charges, -1);
        continue;
      }
      this.#soonest = Math.min(this.#soonest, wait.until);
    }
  }

  // `until` bounds the wait for tokens, not for the store. If the tokens are there, the caller gets the time of one
  // more call.
  #rejectIfLate(wait: QueuedWait, waitMs: number, now: number, graceMs: number): boolean {
    const isLate = now + waitMs - wait.until > (waitMs > 0 ? graceMs : this.#storeTimeoutMs);
    if (isLate) this.#reject(wait, tooLate(waitMs, now - wait.until, this.#degraded ?? wait.refusal));
    return isLate;
  }

  // An unknown bucket is assumed to be full, and this assumption must not reject a caller.
  #knownWait({ charges }: QueuedWait, wanted: Wanted, notBefore: number, now: number): number {
    const waitMs = this.#forecast === null ? 0 : expectedWait(this.#forecast, charges, wanted, now);
    return Math.max(waitMs, notBefore - now);
  }

  get #first(): QueuedWait | undefined {
    return this.#waits.values().next().value;
  }
}

function matchingGrant(grants: Set<Answer>, { charges }: QueuedWait): Answer | undefined {
  for (const grant of grants) if (grant.asked.charges.every(({ policy, cost }, i) => policy === charges[i]?.policy && sameCosts(cost, charges[i].cost))) return grant;
  return undefined;
}
