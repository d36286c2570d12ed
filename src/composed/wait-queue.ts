import { monotonicClock, readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import { storeTimeoutOf } from "../limiter/internals.js";
import type { Limiter } from "../limiter/limiter.js";
import { expectedWait, forecastAfter, FULL, refundForecast, type Forecast } from "./forecast.js";
import { neverFits, storeFailed, tooLate } from "./wait-error.js";

// The longest timer that platforms hold. A longer wait takes several.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** One caller of a {@link WaitQueue}. */
export interface QueuedWait {
  readonly cost: number;
  readonly policy: Policy;
  /** The latest instant of the monotonic clock at which its tokens may come. */
  readonly until: number;
  /** The instant that a refusal named: no call before it. -Infinity at first. */
  notBefore: number;
  resolve(decision: Decision): void;
  reject(error: unknown): void;
}

/** The store's answer to one call, until a caller has taken it. */
interface Answer {
  readonly cost: number;
  readonly policy: Policy;
  readonly decision: Decision;
  /** When it was received. */
  readonly now: number;
  /** Whole milliseconds that the call took. */
  readonly tripMs: number;
}

/** The time in whole milliseconds, rounded up: a wait that begins there does not end a fraction of a millisecond too early. */
export function nextMillisecond(): number {
  return readClock(() => Math.ceil(monotonicClock()));
}

/**
 * The callers that wait for one key, served in order of arrival.
 *
 * The queue asks the store in rounds. A round sends one call for each of the first callers, as many as the expected tokens
 * serve. Granted tokens go to the first caller of the queue that wants as many under the same policy. The next round begins
 * when all calls are answered, surplus tokens are refunded, and tokens are expected. A timer is set only until then.
 */
export class WaitQueue {
  readonly #limiter: Limiter;
  readonly #key: Key;
  readonly #jitterMs: number;
  readonly #storeTimeoutMs: number;
  readonly #onEmpty: () => void;
  readonly #waits = new Set<QueuedWait>();
  /** Tokens that all callers want. */
  #wanted = 0;
  /** No caller has an `until` before it. */
  #soonest = Infinity;
  /** Null while nothing is known: before the first decision, and while a fallback answers. */
  #forecast: Forecast | null = null;
  #tripMs = 0;
  #isDegraded = false;
  /** A round is out, or about to begin. */
  #isBusy = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `onEmpty` is called when no caller and no call is left. */
  constructor(limiter: Limiter, key: Key, jitterMs: number, onEmpty: () => void) {
    this.#limiter = limiter;
    this.#key = key;
    this.#jitterMs = jitterMs;
    this.#storeTimeoutMs = storeTimeoutOf(limiter);
    this.#onEmpty = onEmpty;
  }

  /** The number of callers, with those that the store is being asked for. */
  get length(): number {
    return this.#waits.size;
  }

  /** Adds a caller. Throws a WaitError when its tokens are known to come too late. */
  join(wait: QueuedWait, now: number): void {
    const waitMs = this.#knownWait(wait.policy, this.#wanted + wait.cost, this.#first?.notBefore ?? -Infinity, now);
    if (this.#isLate(wait, waitMs, now, 0)) throw tooLate(waitMs, 0);
    this.#waits.add(wait);
    this.#wanted += wait.cost;
    this.#soonest = Math.min(this.#soonest, wait.until);
    if (this.#isBusy || this.#waits.size > 1) return;
    this.#isBusy = true;
    // Callers that come together are asked for together.
    void Promise.resolve().then(() => this.#next());
  }

  /** Removes a caller, wherever it stands; call {@link step} afterwards. */
  leave(wait: QueuedWait): void {
    if (this.#waits.delete(wait)) this.#wanted -= wait.cost;
  }

  /** Begins a round when tokens should be there, and sets the timer when not. Does nothing while a round is out. */
  step(): void {
    if (this.#isBusy) return;
    clearTimeout(this.#timer);
    const late = nextMillisecond();
    if (late - this.#soonest > this.#storeTimeoutMs) this.#rejectLate(late, this.#storeTimeoutMs);
    for (const first of this.#waits) {
      const now = readClock(monotonicClock);
      const waitMs = this.#knownWait(first.policy, first.cost, first.notBefore, now);
      // A forecast that was early is no reason to reject: hence the grace.
      if (this.#isLate(first, waitMs, now, this.#storeTimeoutMs)) this.#reject(first, tooLate(waitMs, now - first.until));
      else if (waitMs > 0) return void (this.#timer = setTimeout(() => this.step(), Math.min(waitMs, LONGEST_TIMER_MS)));
      else return void this.#round(this.#affordable(now));
    }
    this.#onEmpty();
  }

  get #first(): QueuedWait | undefined {
    return this.#waits.values().next().value;
  }

  #next(): void {
    this.#isBusy = false;
    this.step();
  }

  // The first callers, as many as the expected tokens serve, and one at least. A call that is sent n ms after another is
  // decided n ms after it, so tokens that come during the last call's trip will be there.
  #affordable(now: number): QueuedWait[] {
    const waits: QueuedWait[] = [];
    let tokens = 0;
    for (const wait of this.#waits) {
      tokens += wait.cost;
      if (waits.length > 0 && (this.#isDegraded || expectedWait(this.#forecast ?? FULL, wait.policy, tokens, now + this.#tripMs) > 0)) break;
      waits.push(wait);
    }
    return waits;
  }

  async #round(asked: readonly QueuedWait[]): Promise<void> {
    this.#isBusy = true;
    const grants = new Set<Answer>();
    const answers = (await Promise.all(asked.map((wait) => this.#ask(wait, grants)))).filter((answer) => answer !== null);
    // The tokens of a caller that left, or that would overtake the first one.
    const refunds = [...grants].map((grant) => this.#refund(grant));
    const wasKnown = this.#forecast !== null;
    if (answers.length > 0) this.#learn(answers.reduce((last, answer) => (answer.decision.at >= last.decision.at ? answer : last)));
    const refusals = new Set(answers.filter(({ decision }) => !decision.allowed));
    const isRefused = refusals.size > 0;
    const now = nextMillisecond();
    for (const { policy, cost } of grants) if (this.#forecast !== null) refundForecast(this.#forecast, policy, cost, now);
    for (const wait of asked) {
      const refusal = this.#waits.has(wait) ? takeMatch(refusals, wait) : undefined;
      if (refusal !== undefined) this.#refuse(wait, refusal, grants.size > 0);
    }
    if (isRefused || !wasKnown) this.#rejectLate(now, 0);
    if (isRefused) this.#delayByJitter();
    await Promise.all(refunds);
    this.#next();
  }

  async #ask(wait: QueuedWait, grants: Set<Answer>): Promise<Answer | null> {
    const { cost, policy } = wait;
    const sentAt = monotonicClock();
    try {
      const decision = await this.#limiter.consume(this.#key, { cost, policy });
      const answer = { cost, policy, decision, now: nextMillisecond(), tripMs: Math.floor(monotonicClock() - sentAt) };
      if (decision.allowed) this.#handOut(grants.add(answer));
      return answer;
    } catch (error) {
      this.#reject(wait, error);
      return null;
    }
  }

  // In order of arrival, until a caller gets none.
  #handOut(grants: Set<Answer>): void {
    for (const wait of this.#waits) {
      const grant = takeMatch(grants, wait);
      if (grant === undefined) return;
      this.leave(wait);
      wait.resolve(grant.decision);
    }
  }

  async #refund({ decision, policy }: Answer): Promise<void> {
    try {
      await this.#limiter.refund(this.#key, decision, { policy });
    } catch {
      // The tokens are lost: less is granted, not more.
    }
  }

  #learn({ decision, policy, now, tripMs }: Answer): void {
    this.#tripMs = tripMs;
    this.#isDegraded = decision.degraded;
    this.#forecast = decision.degraded ? null : forecastAfter(decision, policy, now);
    if (!decision.degraded || !decision.allowed || decision.remaining > 0) return;
    if (this.#first !== undefined) this.#first.notBefore = now + decision.nextTokenMs;
  }

  // A refusal that counted tokens which were refunded since names an instant that is too late.
  #refuse(wait: QueuedWait, { decision, now }: Answer, isRefunded: boolean): void {
    const { retryAfterMs, resetMs, capacity, degraded, error } = decision;
    const waitMs = Math.max(1, isRefunded ? 0 : retryAfterMs);
    if (retryAfterMs === Infinity) this.#reject(wait, neverFits(wait.cost, capacity));
    // No bucket refused, so there is none to wait for.
    else if (degraded && resetMs === 0) this.#reject(wait, storeFailed(error));
    else if (now + waitMs > wait.until) this.#reject(wait, tooLate(waitMs, 0));
    else wait.notBefore = now + waitMs;
  }

  #delayByJitter(): void {
    const first = this.#first;
    if (first === undefined) return;
    const jitterMs = Math.floor(Math.random() * (this.#jitterMs + 1));
    first.notBefore = Math.max(first.notBefore, Math.min(first.notBefore + jitterMs, this.#soonest));
  }

  #reject(wait: QueuedWait, error: unknown): void {
    if (!this.#waits.has(wait)) return;
    this.leave(wait);
    wait.reject(error);
  }

  #rejectLate(now: number, graceMs: number): void {
    if (this.#soonest === Infinity) return;
    this.#soonest = Infinity;
    let tokens = 0;
    let notBefore = -Infinity;
    for (const wait of this.#waits) {
      const { cost, policy, until } = wait;
      const turn = Math.max(notBefore, wait.notBefore);
      const waitMs = this.#knownWait(policy, tokens + cost, turn, now);
      if (this.#isLate(wait, waitMs, now, graceMs)) {
        this.#reject(wait, tooLate(waitMs, now - until));
      } else {
        tokens += cost;
        notBefore = turn;
        this.#soonest = Math.min(this.#soonest, until);
      }
    }
  }

  // The store's time is not the tokens' time: a caller whose tokens are there gets as long as one more call may take.
  #isLate({ until }: QueuedWait, waitMs: number, now: number, graceMs: number): boolean {
    return now + waitMs - until > (waitMs > 0 ? graceMs : this.#storeTimeoutMs);
  }

  // That an unknown bucket is full is an assumption, and rejects no caller.
  #knownWait(policy: Policy, tokens: number, notBefore: number, now: number): number {
    return Math.max(expectedWait(this.#forecast ?? FULL, policy, this.#forecast === null ? 0 : tokens, now), notBefore - now);
  }
}

function takeMatch(answers: Set<Answer>, { cost, policy }: QueuedWait): Answer | undefined {
  for (const answer of answers) {
    if (answer.cost !== cost || answer.policy !== policy) continue;
    answers.delete(answer);
    return answer;
  }
  return undefined;
}
