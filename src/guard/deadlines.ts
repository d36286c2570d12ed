import { monotonicClock } from "../core/clock.js";
import { sharesWork, startTimer } from "../platform.js";

/** A call that has to end in time. */
export interface Deadline {
  /** When the wait began. */
  since: number;
  before: Deadline | null;
  after: Deadline | null;
  over: boolean;
  /** Called once when the time is over. */
  expire(): void;
}

/**
 * One timeout for many calls. No timer keeps a process alive.
 *
 * A timeout first gives the event loop one poll phase: after a blocked loop the answer is often in the socket already.
 * If the timer fires 5 ms late or more, the loop was blocked. Pending calls then get that much extra time, once,
 * because their request may not have been sent yet.
 */
export interface Deadlines {
  /** When the event loop was last found to have been blocked, by the monotonic clock. */
  readonly stalledAt: number;
  /** Starts the time of `entry`, which expires unless `end` comes first. With a timeout of Infinity it never does. */
  begin(entry: Deadline): void;
  /** Ends the time of `entry`. False when it ended or expired before. */
  end(entry: Deadline): boolean;
}

/** Makes a timeout of `afterMs`. */
export function createDeadlines(afterMs: number): Deadlines {
  return sharesWork() ? new SharedDeadlines(afterMs) : new OwnDeadlines(afterMs);
}

/**
 * One timer for all calls: each call has the same time, so they expire in the order they began. No timer is set while
 * no call is pending.
 */
class SharedDeadlines implements Deadlines {
  readonly #afterMs: number;
  #first: Deadline | null = null;
  #last: Deadline | null = null;
  #armed = false;
  stalledAt = -Infinity;

  constructor(afterMs: number) {
    this.#afterMs = afterMs;
  }

  begin(entry: Deadline): void {
    entry.since = monotonicClock();
    if (this.#afterMs === Infinity) return;
    entry.before = this.#last;
    if (this.#last === null) this.#first = entry;
    else this.#last.after = entry;
    this.#last = entry;
    if (!this.#armed) this.#arm();
  }

  end(entry: Deadline): boolean {
    if (entry.over) return false;
    entry.over = true;
    if (entry.before === null) this.#first = entry.after;
    else entry.before.after = entry.after;
    if (entry.after === null) this.#last = entry.before;
    else entry.after.before = entry.before;
    // A client may keep a call forever, and must not keep the calls after it through these links.
    entry.before = entry.after = null;
    return true;
  }

  #arm(): void {
    if (this.#first === null) return;
    this.#armed = true;
    const due = this.#first.since + this.#afterMs;
    startTimer(() => this.#onTimer(due, -Infinity), due - monotonicClock());
  }

  /** Runs when a timer fires that was set to `dueAt`. Entries due by `extendedUntil` have had their extra time. */
  #onTimer(dueAt: number, extendedUntil: number): void {
    const now = monotonicClock();
    if (!this.#isDue(now)) return this.#rearm();
    const lateMs = now - dueAt >= LATE_MS ? now - dueAt : 0;
    if (lateMs > 0) this.stalledAt = now;
    afterOnePoll(() => {
      this.#expire(lateMs === 0 ? now : extendedUntil);
      if (lateMs === 0 || !this.#isDue(now)) return this.#rearm();
      const extraMs = Math.min(lateMs, this.#afterMs);
      const until = monotonicClock() + extraMs;
      startTimer(() => this.#onTimer(until, now), extraMs);
    });
  }

  #expire(now: number): void {
    while (this.#isDue(now)) {
      const first = this.#first as Deadline;
      this.end(first);
      first.expire();
    }
  }

  #isDue(now: number): boolean {
    return this.#first !== null && this.#first.since + this.#afterMs <= now;
  }

  #rearm(): void {
    this.#armed = false;
    this.#arm();
  }
}

/** A timer for each call, where requests share none (law L15). */
class OwnDeadlines implements Deadlines {
  readonly #afterMs: number;
  readonly #timers = new WeakMap<Deadline, unknown>();
  stalledAt = -Infinity;

  constructor(afterMs: number) {
    this.#afterMs = afterMs;
  }

  begin(entry: Deadline): void {
    entry.since = monotonicClock();
    if (this.#afterMs < Infinity) this.#wait(entry, this.#afterMs, true);
  }

  end(entry: Deadline): boolean {
    if (entry.over) return false;
    clearTimeout(this.#timers.get(entry) as number);
    return (entry.over = true);
  }

  #wait(entry: Deadline, ms: number, mayExtend: boolean): void {
    const due = monotonicClock() + ms;
    const onTimer = (): void => {
      const now = monotonicClock();
      // A fraction early, or the longest timer of several.
      if (now < due) return this.#wait(entry, due - now, mayExtend);
      const lateMs = now - due;
      if (lateMs >= LATE_MS) this.stalledAt = now;
      // Not an immediate: Next.js's edge runtime has one that throws.
      startTimer(() => {
        if (mayExtend && lateMs >= LATE_MS && !entry.over) this.#wait(entry, Math.min(lateMs, this.#afterMs), false);
        else if (this.end(entry)) entry.expire();
      }, 0);
    };
    this.#timers.set(entry, startTimer(onTimer, ms));
  }
}

// Timers of a loop that is not blocked fire up to two milliseconds late, or a fraction of one early.
const LATE_MS = 5;

// Node runs timers, then sockets, then immediates. Platforms without immediates get the next timer instead.
function afterOnePoll(then: () => void): void {
  if (typeof setImmediate === "function") setImmediate(then);
  else setTimeout(then, 0);
}
