import { monotonicClock, readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import { storeTimeoutOf } from "../limiter/internals.js";
import type { Limiter } from "../limiter/limiter.js";
import { ArrivalOrder, type Attempt, type QueuedWait, type WaitRequest } from "./arrival-order.js";
import { Forecast, nextMillisecond } from "./forecast.js";
import { neverFits, storeFailed, tooLate } from "./wait-error.js";

// The longest timer that platforms hold. A longer wait takes several.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The callers that wait for one key, served in order of arrival. There is one timer, and only while a caller waits for tokens.
 *
 * Each caller is asked for by a call of its own, sent as soon as the {@link Forecast} has tokens for it: many at once while
 * tokens are there, then one by one at the refill's pace. Granted tokens go to the first caller of the queue if it wants as
 * many under the same policy. Tokens that would let a caller overtake the first are refunded.
 */
export class WaitQueue {
  readonly #limiter: Limiter;
  readonly #key: Key;
  readonly #jitterMs: number;
  readonly #storeTimeoutMs: number;
  readonly #onEmpty: (queue: WaitQueue) => void;
  readonly #order = new ArrivalOrder();
  readonly #forecast = new Forecast();
  /** Tokens asked for so far, minus those given back. */
  #sent = 0;
  #calls = 0;
  /** The number of the newest call that was answered. */
  #learned = 0;
  #inFlight = 0;
  #refunding = 0;
  /** Granted attempts whose turn has not come. */
  #granted: Attempt[] = [];
  /** The store is down: a fallback answers, whose buckets the forecast does not know. */
  #oneByOne = false;
  /** Tokens come later than predicted, so callers may have to be rejected. */
  #recheck = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerAt = NaN;
  #stepping = false;

  /** `onEmpty` is called when no caller and no call is left, possibly several times. */
  constructor(limiter: Limiter, key: Key, jitterMs: number, onEmpty: (queue: WaitQueue) => void) {
    this.#limiter = limiter;
    this.#key = key;
    this.#jitterMs = jitterMs;
    this.#storeTimeoutMs = storeTimeoutOf(limiter);
    this.#onEmpty = onEmpty;
  }

  /** The number of callers, with those that the store is being asked for. */
  get length(): number {
    return this.#order.length;
  }

  /** Adds a caller; call {@link step} afterwards. Throws a WaitError when its tokens are known to come too late. */
  join(request: WaitRequest, now: number): QueuedWait {
    const waitMs = this.#knownWait(request.policy, this.#order.wanted + request.cost, now);
    if (this.#isLate(request, waitMs, now, 0)) throw tooLate(waitMs, 0);
    return this.#order.join(request);
  }

  /** Removes a caller, wherever it stands; call {@link step} afterwards. */
  leave(wait: QueuedWait): void {
    this.#order.leave(wait);
  }

  /** Sends every call whose tokens should be there, and sets the timer for the next one. */
  step(): void {
    this.#handOut();
    for (;;) {
      this.#rejectLate(nextMillisecond());
      const now = readClock(monotonicClock);
      const wait = this.#order.next;
      if (wait === null || this.#refunding > 0 || (this.#oneByOne && this.#inFlight > 0)) break;
      const { cost, policy, until } = wait.request;
      const knownMs = this.#knownWait(policy, cost, now);
      const waitMs = Math.max(knownMs, this.#forecast.waitFor(policy, cost, now));
      // A forecast that was early is no reason to reject: hence the grace.
      if (this.#isLate(wait.request, knownMs, now, this.#storeTimeoutMs)) this.#reject(wait, tooLate(knownMs, now - until));
      else if (waitMs > 0) return this.#wakeAt(now, now + waitMs);
      else this.#ask(wait, now);
    }
    clearTimeout(this.#timer);
    this.#timerAt = NaN;
    if (this.length === 0 && this.#inFlight === 0 && this.#refunding === 0) this.#onEmpty(this);
  }

  // Answers that come together are followed by one step.
  #stepSoon(): void {
    if (this.#stepping) return;
    this.#stepping = true;
    void Promise.resolve().then(() => {
      this.#stepping = false;
      this.step();
    });
  }

  #wakeAt(now: number, at: number): void {
    if (this.#timerAt === at) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => {
      this.#timerAt = NaN;
      this.step();
    }, Math.min(at - now, LONGEST_TIMER_MS));
  }

  #ask(wait: QueuedWait, now: number): void {
    const { cost, policy } = wait.request;
    this.#inFlight += 1;
    this.#charge(policy, cost, now);
    const attempt: Attempt = { cost, policy, number: ++this.#calls, sent: this.#sent, wait, decision: null };
    this.#order.assign(wait, attempt);
    const failed = (error: unknown): void => {
      this.#inFlight -= 1;
      this.#charge(policy, -cost, readClock(monotonicClock));
      if (attempt.wait !== null) this.#reject(attempt.wait, error);
    };
    try {
      const answer = this.#limiter.consume(this.#key, { cost, policy });
      if (!("then" in answer)) return this.#answered(attempt, answer);
      void answer.then((decision) => this.#answered(attempt, decision), failed).then(() => this.#stepSoon());
    } catch (error) {
      failed(error);
    }
  }

  #answered(attempt: Attempt, decision: Decision): void {
    this.#inFlight -= 1;
    attempt.decision = decision;
    const now = nextMillisecond();
    this.#recheck = this.#learn(attempt, decision, now) || this.#recheck;
    if (decision.allowed) this.#granted.push(attempt);
    else if (attempt.wait !== null) this.#refused(attempt.wait, decision, now);
    this.#handOut();
  }

  // What the forecast counts as taken, also for decisions that are under way.
  #charge(policy: Policy, tokens: number, now: number): void {
    this.#sent += tokens;
    this.#forecast.charge(policy, tokens, now);
  }

  // Returns whether tokens come later than predicted.
  #learn({ policy, cost, number, sent }: Attempt, decision: Decision, now: number): boolean {
    if (number < this.#learned) return false; // a newer call was answered before
    this.#learned = number;
    if (!decision.allowed) this.#forecast.charge(policy, -cost, now);
    this.#oneByOne = decision.degraded;
    if (!decision.degraded) return this.#forecast.learn(decision, policy, this.#sent - sent, now);
    this.#forecast.forget();
    const { next } = this.#order;
    if (next !== null && decision.allowed && decision.remaining === 0 && decision.nextTokenMs > 0) next.notBefore = now + decision.nextTokenMs;
    return true;
  }

  #refused(wait: QueuedWait, { retryAfterMs, resetMs, capacity, degraded, error }: Decision, now: number): void {
    if (retryAfterMs === Infinity) return this.#reject(wait, neverFits(wait.request.cost, capacity));
    // No bucket refused, so there is none to wait for.
    if (degraded && resetMs === 0) return this.#reject(wait, storeFailed(error));
    const at = now + Math.max(1, retryAfterMs);
    if (at > wait.request.until) return this.#reject(wait, tooLate(retryAfterMs, 0));
    const jitterMs = Math.floor(Math.random() * (this.#jitterMs + 1));
    wait.notBefore = Math.max(at, Math.min(at + jitterMs, wait.request.until));
    this.#order.assign(wait, null);
    this.#recheck = true;
  }

  #handOut(): void {
    if (this.#granted.length === 0) return;
    let { first } = this.#order;
    for (; first !== null; first = this.#order.first) {
      const { cost, policy } = first.request;
      const index = this.#granted.findIndex((attempt) => attempt.cost === cost && attempt.policy === policy);
      if (index < 0) break;
      this.#serve(first, this.#granted.splice(index, 1)[0] as Attempt);
    }
    // While the first caller is being asked for, those behind it keep their tokens.
    const isAsked = first !== null && first.attempt !== null;
    const surplus = this.#granted.filter(({ wait }) => !isAsked || wait === null);
    if (surplus.length === 0) return;
    this.#granted = isAsked ? this.#granted.filter(({ wait }) => wait !== null) : [];
    for (const attempt of surplus) void this.#giveBack(attempt);
  }

  // The first caller and the one that the call was made for swap their attempts.
  #serve(first: QueuedWait, attempt: Attempt): void {
    const [own, other] = [first.attempt, attempt.wait];
    this.#order.assign(first, attempt);
    if (other !== null) this.#order.assign(other, own);
    else if (own !== null) own.wait = null;
    this.#order.leave(first);
    first.request.resolve(attempt.decision as Decision);
  }

  async #giveBack({ wait, cost, policy, decision }: Attempt): Promise<void> {
    if (wait !== null) this.#order.assign(wait, null);
    this.#charge(policy, -cost, readClock(monotonicClock));
    this.#refunding += 1;
    try {
      await this.#limiter.refund(this.#key, decision as Decision, { policy });
    } catch {
      // The tokens are lost: less is granted, not more.
    }
    this.#refunding -= 1;
    this.#stepSoon();
  }

  #reject(wait: QueuedWait, error: unknown): void {
    this.#order.leave(wait);
    wait.request.reject(error);
  }

  // Goes through the queue only when tokens come later than predicted, or when the store has used up a caller's time.
  #rejectLate(now: number): void {
    const { soonest } = this.#order;
    if (soonest === Infinity || !(this.#recheck || now - soonest > this.#storeTimeoutMs)) return;
    const graceMs = this.#recheck ? 0 : this.#storeTimeoutMs;
    this.#recheck = false;
    this.#order.soonest = Infinity;
    let tokens = 0;
    for (let wait = this.#order.next; wait !== null; wait = wait.after) {
      if (wait.attempt !== null) continue;
      const { cost, policy, until } = wait.request;
      const waitMs = this.#knownWait(policy, tokens + cost, now);
      if (this.#isLate(wait.request, waitMs, now, graceMs)) {
        this.#reject(wait, tooLate(waitMs, now - until));
      } else {
        tokens += cost;
        this.#order.soonest = Math.min(this.#order.soonest, until);
      }
    }
  }

  // The store's time is not the tokens' time: a caller whose tokens are there gets as long as one more call may take.
  #isLate({ until }: WaitRequest, waitMs: number, now: number, graceMs: number): boolean {
    return now + waitMs - until > (waitMs > 0 ? graceMs : this.#storeTimeoutMs);
  }

  // No caller is served before the next one. That an unknown bucket is full is an assumption, and rejects no caller.
  #knownWait(policy: Policy, tokens: number, now: number): number {
    const waitMs = this.#forecast.known ? this.#forecast.waitFor(policy, tokens, now) : 0;
    return Math.max(waitMs, (this.#order.next?.notBefore ?? -Infinity) - now);
  }
}
