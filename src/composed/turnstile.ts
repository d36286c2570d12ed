import { monotonicClock, readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import type { Policy } from "../core/policy.js";
import { Alarm } from "./alarm.js";
import { comesIn, isLater, outlookOf, takeFrom, type Outlook } from "./forecast.js";
import { Line, type Place } from "./line.js";
import { WaitError } from "./wait-error.js";

/** Somebody who waits at a {@link Turnstile}. */
export interface Waiting {
  readonly cost: number;
  readonly policy: Policy;
  /** The latest instant of the monotonic clock at which its tokens may come. */
  readonly until: number;
  /** Takes the tokens, or not. */
  ask(): Decision | Promise<Decision>;
  /** Gives back what was taken for nothing, as well as it can. Never throws. */
  giveBack(decision: Decision): void | Promise<void>;
  serve(decision: Decision): void;
  turnAway(error: unknown): void;
}

/**
 * Lets through those who wait for one bucket, in order of arrival. Only the first ever asks, when its tokens should be there
 * and one question at a time; so there is one timer, and nothing is taken for anybody who could still be overtaken.
 *
 * Whoever's tokens come after `until` is turned away. Where they are there in time and those in front keep the store busy,
 * as long again is waited as one call to it may take, and no question is asked for anybody after that.
 */
export class Turnstile {
  readonly #line = new Line<Waiting>();
  readonly #alarm = new Alarm(() => this.step());
  readonly #storeMs: number;
  readonly #emptied: () => void;
  /** What is known of the bucket; null when nothing is, and while something else answers in its place. */
  #outlook: Outlook | null = null;
  /** The instant that the first of the line was told. */
  #notBefore = -Infinity;
  /** No `until` of the line is before this instant. */
  #soonest = Infinity;
  #asking = false;

  /** `storeMs` is the longest that a call to the store may take; `emptied` is called whenever nobody is left. */
  constructor(storeMs: number, emptied: () => void) {
    this.#storeMs = storeMs;
    this.#emptied = emptied;
  }

  /** How many wait. */
  get length(): number {
    return this.#line.length;
  }

  /** Joins the line at `now`. Throws a WaitError when it is known that this would take too long. */
  join(who: Waiting, now: number): Place<Waiting> {
    const wait = this.#foresee(who.policy, this.#line.tokens + who.cost, now);
    if (this.#isLate(who, wait, now, 0)) throw tooLong(wait);
    this.#soonest = Math.min(this.#soonest, who.until);
    return this.#line.join(who);
  }

  /** Leaves the line. The rest of it goes on with the next {@link step}. */
  leave(place: Place<Waiting>): void {
    if (place === this.#line.first) this.#notBefore = -Infinity;
    this.#line.leave(place);
  }

  /** Goes on as far as possible. To be called when somebody joined who is the first, and after somebody left. */
  step(): void {
    while (!this.#asking) {
      const place = this.#line.first;
      if (place === null) {
        this.#alarm.clear();
        return this.#emptied();
      }
      const { who } = place;
      const now = readClock(monotonicClock);
      const wait = this.#foresee(who.policy, who.cost, now);
      // What was foreseen is short by less than a millisecond for each who was served, which turns nobody away.
      if (this.#isLate(who, wait, now, this.#storeMs)) this.#fail(place, tooLate(wait, now - who.until));
      else if (wait > 0) return this.#alarm.set(wait);
      else this.#askFor(place);
    }
  }

  #askFor(place: Place<Waiting>): void {
    this.#asking = true;
    let done: void | Promise<void> = undefined;
    try {
      const answer = place.who.ask();
      done = "then" in answer ? this.#takeLater(place, answer) : this.#take(place, answer);
    } catch (error) {
      this.#fail(place, error);
    }
    if (done === undefined) this.#asking = false;
    else void done.then(() => ((this.#asking = false), this.step()));
  }

  async #takeLater(place: Place<Waiting>, answer: Promise<Decision>): Promise<void> {
    try {
      await this.#take(place, await answer);
    } catch (error) {
      this.#fail(place, error);
    }
  }

  #fail(place: Place<Waiting>, error: unknown): void {
    this.leave(place);
    place.who.turnAway(error);
  }

  #take(place: Place<Waiting>, decision: Decision): void | Promise<void> {
    const { who, left } = place;
    const now = readClock(monotonicClock);
    const worse = this.#learn(decision, who.policy, now);
    if (decision.allowed && left) {
      // Whoever is next shall find what comes back.
      this.#outlook = null;
      return who.giveBack(decision);
    }
    if (decision.allowed) {
      this.leave(place);
      who.serve(decision);
    } else if (decision.retryAfterMs === Infinity) {
      this.#fail(place, never(who.cost, decision.capacity));
    } else if (decision.resetMs === 0) {
      // No bucket said this, so there is none to wait for.
      this.#fail(place, unavailable(decision));
    } else if (!left) {
      this.#notBefore = now + decision.retryAfterMs;
    }
    if (worse) this.#turnAwayLate(now, 0);
    else if (now - this.#soonest > this.#storeMs) this.#turnAwayLate(now, this.#storeMs);
  }

  // True when those who wait must be told: others take from the bucket, too. What comes as foreseen changes nothing, so that
  // a long line is gone through only when there is a reason, and not once for each who is served.
  #learn(decision: Decision, policy: Policy, now: number): boolean {
    const foreseen = this.#outlook;
    const news = decision.degraded ? null : outlookOf(decision, policy, now);
    if (foreseen !== null && news !== null) {
      if (decision.allowed) takeFrom(foreseen, policy, decision.cost, now);
      const worse = isLater(news, foreseen, policy, now);
      if (worse || isLater(foreseen, news, policy, now)) this.#outlook = news;
      return worse;
    }
    this.#outlook = news;
    return true;
  }

  #turnAwayLate(now: number, slackMs: number): void {
    let tokens = 0;
    this.#soonest = Infinity;
    for (let place = this.#line.first; place !== null; place = place.after) {
      const { who } = place;
      const wait = this.#foresee(who.policy, tokens + who.cost, now);
      if (this.#isLate(who, wait, now, slackMs)) {
        this.#fail(place, tooLate(wait, now - who.until));
      } else {
        tokens += who.cost;
        this.#soonest = Math.min(this.#soonest, who.until);
      }
    }
  }

  // Time that the store takes is not time that the tokens take: whoever's are there has as long as one call more.
  #isLate(who: Waiting, wait: number, now: number, slackMs: number): boolean {
    return now + wait - who.until > (wait > 0 ? slackMs : this.#storeMs);
  }

  // Nobody is served before the first.
  #foresee(policy: Policy, tokens: number, now: number): number {
    const wait = this.#outlook === null ? 0 : comesIn(this.#outlook, policy, tokens, now);
    return Math.max(wait, this.#notBefore - now);
  }
}

/** The error for a cost that no waiting helps. */
export function never(cost: number, capacity: number): WaitError {
  return new WaitError("ERR_WAIT_NEVER", `Expected \`cost\` to be at most the capacity, ${capacity}, got ${cost}`, Infinity);
}

function tooLong(waitMs: number): WaitError {
  return new WaitError("ERR_WAIT_TOO_LONG", `Expected to wait for at most \`maxWaitMs\`, would have to for ${waitMs} ms`, waitMs);
}

// Its turn may have come too late although its tokens are there: then the store is what it waited for.
function tooLate(waitMs: number, lateMs: number): WaitError {
  if (waitMs > 0) return tooLong(waitMs);
  const message = `Expected the store to answer those in front within \`maxWaitMs\`, it took ${Math.round(lateMs)} ms more`;
  return new WaitError("ERR_WAIT_TOO_LONG", message, 0);
}

function unavailable(decision: Decision): WaitError {
  const message = "Expected the store to answer, it failed: see `cause`";
  return new WaitError("ERR_WAIT_STORE_UNAVAILABLE", message, null, { cause: decision.error });
}
