import { monotonicClock } from "../../core/clock.js";

// At most 10 in 10 ms: 1,000 a second.
const MOST_AT_ONCE = 10;
const PAUSE_MS = 10;

type Poll = () => void;

/**
 * Queues that sleep long. Each is woken after a time of its own, and all together at most 1,000 times a second: the one
 * that is due longest comes first. One timer serves them all.
 */
export class Polls {
  /**
   * When each queue is due, by the time after which it is woken. In order, because all of one list sleep equally long.
   */
  readonly #lists = new Map<number, Map<Poll, number>>();
  /** The time of each queue. */
  readonly #waits = new Map<Poll, number>();
  #pausedUntil = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Calls `poll` in `ms`, once. Does nothing if that is set already. */
  add(poll: Poll, ms: number): void {
    if (this.#waits.get(poll) === ms) return;
    this.#remove(poll);
    this.#waits.set(poll, ms);
    const list = this.#lists.get(ms) ?? new Map<Poll, number>();
    this.#lists.set(ms, list.set(poll, monotonicClock() + ms));
    if (list.size === 1) this.#sleep();
  }

  /** Forgets `poll`. */
  delete(poll: Poll): void {
    this.#remove(poll);
    if (this.#waits.size === 0) clearTimeout(this.#timer);
  }

  #remove(poll: Poll): void {
    const ms = this.#waits.get(poll);
    if (ms === undefined) return;
    this.#waits.delete(poll);
    const list = this.#lists.get(ms);
    list?.delete(poll);
    if (list?.size === 0) this.#lists.delete(ms);
  }

  #sleep(): void {
    clearTimeout(this.#timer);
    const first = this.#first();
    if (first === undefined) return;
    const waitMs = Math.max(first.dueAt, this.#pausedUntil) - monotonicClock();
    this.#timer = setTimeout(() => this.#wake(), Math.max(0, Math.ceil(waitMs)));
  }

  #wake(): void {
    const now = monotonicClock();
    const due: Poll[] = [];
    for (let first = this.#first(); due.length < MOST_AT_ONCE && first && first.dueAt <= now; first = this.#first()) {
      this.#remove(first.poll);
      due.push(first.poll);
    }
    if (due.length > 0) this.#pausedUntil = now + PAUSE_MS;
    this.#sleep();
    for (const poll of due) poll();
  }

  /** The queue that is due first. There are as many lists as different times, so a few. */
  #first(): { readonly poll: Poll; readonly dueAt: number } | undefined {
    let first: { readonly poll: Poll; readonly dueAt: number } | undefined;
    for (const list of this.#lists.values()) {
      for (const [poll, dueAt] of list) {
        if (first === undefined || dueAt < first.dueAt) first = { poll, dueAt };
        break;
      }
    }
    return first;
  }
}
