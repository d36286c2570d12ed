import type { Route } from "./caller.js";
import type { Timing, TrafficCall } from "./options.js";
import { abortReason } from "./sleep.js";

// Jitter comes on top of the longest wait that a call allows.
const MOST_JITTER_MS = 1_000;

/** A call that waits for its turn. */
export interface Waiter {
  readonly call: TrafficCall;
  readonly route: Route;
  /** Whether it was sent before. */
  readonly isRetry: boolean;
  /** Calls that asked for their first attempt earlier have a smaller one. */
  readonly place: number;
  /** When it gives up. */
  readonly deadline: number;
  readonly timing: Timing;
  /** Ends the wait: 0 to be sent, or the milliseconds that are too long. */
  readonly settle: (waitMs: number) => void;
}

/** The calls that wait, oldest first, and the one timer that wakes them. */
export interface Queue {
  readonly waiters: Waiter[];
  alarm: AbortController | null;
}

/** Waits in the queue until `look`, called now and whenever something changes, settles it. Rejects once the call aborts. */
export function waitIn(queue: Queue, who: Pick<Waiter, "call" | "route" | "isRetry" | "place" | "timing">, look: () => void): Promise<number> {
  const { call, place, timing } = who;
  const { signal } = call;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortReason(signal));
    const leave = (): void => {
      signal?.removeEventListener("abort", stop);
      queue.waiters.splice(queue.waiters.indexOf(waiter), 1);
    };
    const settle = (waitMs: number): void => {
      leave();
      resolve(waitMs);
    };
    const stop = (): void => {
      leave();
      reject(abortReason(signal as AbortSignal));
      look();
    };
    const waiter: Waiter = { ...who, deadline: timing.clock() + call.maxWaitMs + MOST_JITTER_MS, settle };
    const before = queue.waiters.findIndex((other) => other.place > place);
    queue.waiters.splice(before < 0 ? queue.waiters.length : before, 0, waiter);
    signal?.addEventListener("abort", stop, { once: true });
    look();
  });
}

/** Looks again in `ms`, and not at the time that was set before. */
export function setAlarm(queue: Queue, ms: number, look: () => void): void {
  queue.alarm?.abort();
  queue.alarm = null;
  const first = queue.waiters[0];
  if (first === undefined) return;
  queue.alarm = new AbortController();
  first.timing.sleep(ms, queue.alarm.signal).then(look, () => {});
}
