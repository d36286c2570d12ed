import { monotonicClock } from "../../core/clock.js";

/** How long a queue sleeps before it asks the store again, in case tokens came back. */
export const POLL_MS = 1_000;

// At most 10 in 10 ms: 1,000 a second.
const MOST_AT_ONCE = 10;
const PAUSE_MS = 10;

/**
 * Queues that sleep long. Each is woken once a second, and all together at most 1,000 times a second: the one that has
 * slept longest comes first. One timer serves them all.
 */
export class Polls {
  /** When each queue is due. In order, because all sleep equally long. */
  readonly #dueAt = new Map<() => void, number>();
  #pausedUntil = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Calls `poll` in a second, once. Does nothing if that is set already. */
  add(poll: () => void): void {
    if (this.#dueAt.has(poll)) return;
    this.#dueAt.set(poll, monotonicClock() + POLL_MS);
    if (this.#dueAt.size === 1) this.#sleep();
  }

  /** Forgets `poll`. */
  delete(poll: () => void): void {
    if (this.#dueAt.delete(poll) && this.#dueAt.size === 0) clearTimeout(this.#timer);
  }

  #sleep(): void {
    clearTimeout(this.#timer);
    for (const dueAt of this.#dueAt.values()) {
      const waitMs = Math.max(dueAt, this.#pausedUntil) - monotonicClock();
      this.#timer = setTimeout(() => this.#wake(), Math.max(0, Math.ceil(waitMs)));
      return;
    }
  }

  #wake(): void {
    const now = monotonicClock();
    const due = [...this.#first(MOST_AT_ONCE)].filter(([, dueAt]) => dueAt <= now);
    for (const [poll] of due) this.#dueAt.delete(poll);
    if (due.length > 0) this.#pausedUntil = now + PAUSE_MS;
    this.#sleep();
    for (const [poll] of due) poll();
  }

  *#first(count: number): Iterable<[() => void, number]> {
    for (const entry of this.#dueAt) {
      if (count-- === 0) return;
      yield entry;
    }
  }
}
