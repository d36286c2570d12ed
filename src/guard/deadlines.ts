import { monotonicClock } from "../core/clock.js";

/** Something that is waited for, in the line of all that is. */
export abstract class Waiting {
  /** When the wait began. */
  since = 0;
  before: Waiting | null = null;
  after: Waiting | null = null;
  over = false;

  /** Its time is over. */
  abstract expire(): void;
}

/**
 * One deadline for many calls, with one timer for all of them: since each has the same time, they fall due in the order
 * they began. The timer keeps no process alive, and there is none while nothing is waited for.
 *
 * A deadline that has passed gives the event loop one more look at its sockets: after a loop that stalled, the answer is
 * often there already. Where the question had yet to be sent, that is not enough: a timer that fires late tells of the stall, and
 * the time that was lost is given once more.
 */
export class Deadlines {
  readonly #afterMs: number;
  #first: Waiting | null = null;
  #last: Waiting | null = null;
  #armed = false;

  constructor(afterMs: number) {
    this.#afterMs = afterMs;
  }

  /** Begins to wait: `waiting` expires when the time is over, unless `end` comes first. With an infinite time it never does. */
  begin(waiting: Waiting): void {
    waiting.since = monotonicClock();
    if (this.#afterMs === Infinity) return;
    waiting.before = this.#last;
    if (this.#last === null) this.#first = waiting;
    else this.#last.after = waiting;
    this.#last = waiting;
    if (!this.#armed) this.#arm();
  }

  /** Stops waiting. False when it was over already. */
  end(waiting: Waiting): boolean {
    if (waiting.over) return false;
    waiting.over = true;
    if (waiting.before === null) this.#first = waiting.after;
    else waiting.before.after = waiting.after;
    if (waiting.after === null) this.#last = waiting.before;
    else waiting.after.before = waiting.before;
    // A promise that never settles keeps what it waited with, and must not keep all that came after.
    waiting.before = waiting.after = null;
    return true;
  }

  #arm(): void {
    if (this.#first === null) return;
    this.#armed = true;
    const due = this.#first.since + this.#afterMs;
    startTimer(() => this.#look(due, -Infinity), Math.max(1, Math.ceil(due - monotonicClock())));
  }

  /** Looks who is due, by a timer that was to fire `at`. Those due by `waitedFor` have had their second chance. */
  #look(at: number, waitedFor: number): void {
    const now = monotonicClock();
    if (!this.#isDue(now)) return this.#again();
    const stalledMs = now - at >= STALL_MS ? now - at : 0;
    afterOnePoll(() => {
      this.#expire(stalledMs === 0 ? now : waitedFor);
      if (stalledMs === 0 || !this.#isDue(now)) return this.#again();
      const more = Math.min(stalledMs, this.#afterMs);
      const until = monotonicClock() + more;
      startTimer(() => this.#look(until, now), more);
    });
  }

  #expire(now: number): void {
    while (this.#isDue(now)) {
      const first = this.#first as Waiting;
      this.end(first);
      first.expire();
    }
  }

  #isDue(now: number): boolean {
    return this.#first !== null && this.#first.since + this.#afterMs <= now;
  }

  #again(): void {
    this.#armed = false;
    this.#arm();
  }
}

const LONGEST_TIMER = 2_147_483_647;

// Timers of a loop that turns are a millisecond or two late, or early by a fraction of one.
const STALL_MS = 5;

function startTimer(then: () => void, ms: number): void {
  const timer: unknown = setTimeout(then, Math.min(ms, LONGEST_TIMER));
  // Numbers in browsers, objects elsewhere.
  (timer as { unref?(): void }).unref?.();
}

// Timers, then sockets, then immediates: so turns Node's loop. Where there are no immediates, the next timer is next best.
function afterOnePoll(then: () => void): void {
  if (typeof setImmediate === "function") setImmediate(then);
  else setTimeout(then, 0);
}
