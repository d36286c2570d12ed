import { monotonicClock } from "../core/clock.js";

/** A call that is waited for until `due`. */
interface Waiting {
  readonly due: number;
  readonly expire: () => void;
  before: Waiting | null;
  after: Waiting | null;
  over: boolean;
}

/**
 * One deadline for many calls, with one timer for all of them: since each has the same time, they fall due in the order
 * they began. The timer keeps no process alive, and there is none while nothing is waited for.
 *
 * A deadline that has passed gives the event loop one more look at its sockets: after a loop that stalled, the answer is
 * often there already.
 */
export class Deadlines {
  readonly #afterMs: number;
  #first: Waiting | null = null;
  #last: Waiting | null = null;
  #armed = false;

  constructor(afterMs: number) {
    this.#afterMs = afterMs;
  }

  /** Begins to wait: calls `expire` when the time is over, unless `end` comes first. */
  begin(expire: () => void): Waiting {
    const waiting: Waiting = { due: monotonicClock() + this.#afterMs, expire, before: this.#last, after: null, over: false };
    if (this.#last === null) this.#first = waiting;
    else this.#last.after = waiting;
    this.#last = waiting;
    this.#arm(this.#afterMs);
    return waiting;
  }

  /** Stops waiting. False when it was over already. */
  end(waiting: Waiting): boolean {
    if (waiting.over) return false;
    waiting.over = true;
    if (waiting.before === null) this.#first = waiting.after;
    else waiting.before.after = waiting.after;
    if (waiting.after === null) this.#last = waiting.before;
    else waiting.after.before = waiting.before;
    return true;
  }

  #arm(ms: number): void {
    if (this.#armed) return;
    this.#armed = true;
    const timer: unknown = setTimeout(() => this.#look(), Math.min(ms, LONGEST_TIMER));
    // Numbers in browsers, objects elsewhere.
    (timer as { unref?(): void }).unref?.();
  }

  #look(): void {
    const now = monotonicClock();
    // Timers may fire a fraction of a millisecond early.
    if (this.#first === null || this.#first.due > now) this.#again();
    else afterOnePoll(() => this.#expire(now));
  }

  #expire(now: number): void {
    while (this.#first !== null && this.#first.due <= now) {
      const { expire } = this.#first;
      this.end(this.#first);
      expire();
    }
    this.#again();
  }

  #again(): void {
    this.#armed = false;
    if (this.#first !== null) this.#arm(Math.max(1, Math.ceil(this.#first.due - monotonicClock())));
  }
}

const LONGEST_TIMER = 2_147_483_647;

// Timers, then sockets, then immediates: so turns Node's loop. Where there are no immediates, the next timer is next best.
function afterOnePoll(then: () => void): void {
  if (typeof setImmediate === "function") setImmediate(then);
  else setTimeout(then, 0);
}
