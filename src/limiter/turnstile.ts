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
  /** The latest instant of the monotonic clock at which it may be served. */
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
 */
export class Turnstile {
  readonly #line = new Line<Waiting>();
  readonly #alarm = new Alarm(() => this.step());
  readonly #emptied: () => void;
  /** What is known of the bucket; null when nothing is, and while something else answers in its place. */
  #outlook: Outlook | null = null;
  /** The instant that the first of the line was told. */
  #notBefore = -Infinity;
  #asking = false;

  /** `emptied` is called whenever nobody is left. */
  constructor(emptied: () => void) {
    this.#emptied = emptied;
  }

  /** How many wait. */
  get length(): number {
    return this.#line.length;
  }

  /** Joins the line. Throws a WaitError when it is known that this would take too long. */
  join(who: Waiting): Place<Waiting> {
    const now = readClock(monotonicClock);
    const wait = this.#foresee(who.policy, this.#line.tokens + who.cost, now);
    if (wait > who.until - now) throw tooLong(wait);
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
      const wait = this.#foresee(place.who.policy, place.who.cost, readClock(monotonicClock));
      if (wait > 0) return this.#alarm.set(wait);
      this.#askFor(place);
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
    if (worse) this.#turnAwayLate(now);
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

  #turnAwayLate(now: number): void {
    let tokens = 0;
    for (let place = this.#line.first; place !== null; place = place.after) {
      const { who } = place;
      const wait = this.#foresee(who.policy, tokens + who.cost, now);
      if (wait <= who.until - now) {
        tokens += who.cost;
      } else {
        this.leave(place);
        who.turnAway(tooLong(wait));
      }
    }
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

function unavailable(decision: Decision): WaitError {
  const message = "Expected the store to answer, it failed: see `cause`";
  return new WaitError("ERR_WAIT_STORE_UNAVAILABLE", message, null, { cause: decision.error });
}
