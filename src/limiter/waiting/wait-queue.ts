import { lostTimeOf, monotonicClock, type Clock } from "../../core/clock.js";
import type { Decision } from "../../core/decision.js";
import { bucketId } from "../../core/policy.js";
import type { Charges } from "../charge.js";
import type { LimiterInternals } from "../internals.js";
import { orElse, thenAll } from "../now-or-later.js";
import { onReturned } from "../verbs/returned.js";
import type { Polls } from "./polls.js";
import { Round, type QueuedCaller } from "./round.js";
import { EARLY_MS, WaitLine } from "./wait-line.js";

// The longest delay of a timer. A longer wait uses several timers.
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** What the queues of one waiter have in common. */
export interface QueueSetup {
  readonly limiter: LimiterInternals;
  /** The longest time that the stores may take for one call. */
  readonly timeoutMs: number;
  readonly jitterMs: number;
  /** Whether other requests may wake the queue (law L15). */
  readonly isShared: boolean;
}

/**
 * A queue of callers that wait for one key, or for the same keys of several limiters.
 *
 * It calls the store in rounds. A round sends one call for each of the first callers, as many as the expected tokens
 * can serve. Granted tokens go to the first caller if it wants the same under the same policy. A round ends when all
 * its calls are answered and unused tokens are refunded. Then the queue sleeps until the next tokens are expected.
 */
export class WaitQueue {
  readonly #setup: QueueSetup;
  readonly #polls: Polls;
  readonly #onEnd: () => void;
  readonly #line: WaitLine;
  readonly #unsubscribe: readonly (() => void)[];
  /** Tokens may have come back, or it is time to ask whether they have. */
  readonly #look = (): void => {
    this.#line.isNews = true;
    if (this.#round !== null) this.#round.isNews = true;
    this.#goOn();
  };
  /** From the first call that is due until all unused tokens are refunded. */
  #round: Round | null = null;
  #sleepsUntil = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Those of the process and of the stores. */
  readonly #clocks: readonly Clock[];
  /** What the clocks had lost when the store was asked last. */
  #lostMs: number;

  /** `charges` are those of any caller. `onEnd` is called once, when no caller and no call is left. */
  constructor(setup: QueueSetup, polls: Polls, charges: Charges, onEnd: () => void) {
    this.#setup = setup;
    this.#polls = polls;
    this.#onEnd = onEnd;
    this.#line = new WaitLine(setup.limiter, setup.timeoutMs);
    const buckets = charges.filter((charge) => charge !== null && setup.isShared) as Exclude<Charges[number], null>[];
    this.#unsubscribe = buckets.map(({ limiter, policy, encoded }) => {
      return onReturned(limiter.store, bucketId(policy, encoded), this.#look);
    });
    const clocks = charges.flatMap((charge) => charge?.limiter.store.clock ?? []);
    this.#clocks = [monotonicClock, ...clocks.filter((clock) => clock !== "server")];
    this.#lostMs = this.#lostNow();
  }

  /** The number of callers, including those with a call under way. */
  get length(): number {
    return this.#line.length;
  }

  /** Adds a caller. Refuses it at once when its tokens will come too late. */
  join(caller: QueuedCaller): void {
    const now = monotonicClock();
    // After a suspension the store is asked before a caller is refused.
    const isOld = this.#lostNow() > this.#lostMs;
    if (isOld) this.#line.isNews = true;
    const mustWake = this.#line.join(caller, now);
    if (isOld) this.#look();
    else if (mustWake) this.#goOn();
  }

  /** Removes callers. Their promises reject with `reason`. */
  leave(callers: ReadonlySet<QueuedCaller>, reason: unknown): void {
    for (const caller of this.#line.remove(callers)) caller.reject(reason);
    this.#goOn();
  }

  #lostNow(): number {
    return this.#clocks.reduce((sum, clock) => sum + lostTimeOf(clock).lostMs, 0);
  }

  /** Begins a round if tokens should be there. Otherwise sleeps until then. During a round does nothing. */
  #goOn(): void {
    if (this.#round !== null) return;
    const now = monotonicClock();
    const sleep = this.#line.sleep(now);
    if (sleep !== null && sleep.until - now >= EARLY_MS) return this.#sleep(sleep.until, sleep.pollMs);
    clearTimeout(this.#timer);
    this.#sleepsUntil = -Infinity;
    this.#polls.delete(this.#look);
    if (sleep === null) {
      for (const unsubscribe of this.#unsubscribe) unsubscribe();
      return this.#onEnd();
    }
    const round = new Round();
    this.#round = round;
    // At the end of the tick, so that the callers of one tick share a round.
    void Promise.resolve().then(() => this.#send(round));
  }

  /** Asks for the first callers. All are asked before an answer is worked on, because a store may cancel a caller. */
  #send(round: Round): void {
    const now = monotonicClock();
    const callers = this.#line.ready(now);
    this.#lostMs = this.#lostNow();
    // One more, so that the round does not end before all answers of a synchronous store are handed out.
    Object.assign(round, { sentAt: now, open: callers.length + 1, isNews: false });
    for (const answer of callers.map((caller, place) => this.#ask(round, caller, place))) answer();
    this.#close(round);
  }

  /** Calls the store. Returns what to do with an answer or an error that is there already. */
  #ask(round: Round, caller: QueuedCaller, place: number): () => void {
    const answered = (decision: Decision): void => {
      round.take({ caller, place, decision, receivedAt: monotonicClock() });
      this.#handOut(round);
      this.#close(round);
    };
    const failed = (error: unknown): void => {
      for (const gone of this.#line.remove(new Set([caller]))) gone.reject(error);
      this.#close(round);
    };
    try {
      const made = this.#setup.limiter.ask(caller.charges);
      if (!(made instanceof Promise)) return () => answered(made);
      void made.then(answered, failed);
      return () => undefined;
    } catch (error) {
      return () => failed(error);
    }
  }

  /** Serves callers in order of arrival, up to the first caller that gets no tokens. */
  #handOut(round: Round): void {
    for (let first = this.#line.first; first !== undefined; first = this.#line.first) {
      const decision = round.grantFor(first);
      if (decision === undefined) return;
      this.#line.shift();
      first.resolve(decision);
    }
  }

  /** Counts an answered call. After the last one learns from the answers, and refunds the tokens that are left. */
  #close(round: Round): void {
    round.open -= 1;
    if (round.open > 0) return;
    const { limiter, jitterMs } = this.#setup;
    this.#line.learn(round, monotonicClock(), Math.floor(Math.random() * (jitterMs + 1)));
    // These tokens have no caller, or would serve a later caller before an earlier one. If the store fails here, fewer
    // tokens are granted, not more.
    const refunds = round.grants.map(({ caller: { charges }, decision }) => {
      return orElse<void>(() => limiter.giveBack(charges, decision), () => undefined);
    });
    void thenAll(refunds, () => {
      this.#round = null;
      this.#goOn();
    });
  }

  /** Longer than `pollMs`, it also looks after that time, for tokens that come back in other processes. */
  #sleep(until: number, pollMs: number): void {
    // Read again, because judging many callers takes time.
    const waitMs = until - monotonicClock();
    if (waitMs > pollMs) this.#polls.add(this.#look, pollMs);
    else this.#polls.delete(this.#look);
    if (this.#sleepsUntil === until) return;
    clearTimeout(this.#timer);
    this.#sleepsUntil = until;
    this.#timer = setTimeout(() => {
      this.#sleepsUntil = -Infinity;
      this.#goOn();
    }, Math.min(Math.round(waitMs), LONGEST_DELAY_MS));
  }
}
