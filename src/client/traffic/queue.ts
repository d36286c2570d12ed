import type { Route } from "./caller.js";
import type { Timing, TrafficCall } from "../fetch/options.js";
import { abortReason } from "../fetch/sleep.js";

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
  /** Ends the wait: 0 to be sent, or the milliseconds that are too long. */
  readonly settle: (waitMs: number) => void;
}

/** The calls to one route that wait, oldest first. While the first cannot go, none can; retries may sooner, so they have a line of their own. */
export interface Line {
  readonly route: Route;
  readonly isRetry: boolean;
  readonly waiters: Waiter[];
}

/** All lines of a caller, none of them empty, and the one timer that wakes them. */
export interface Queue {
  readonly lines: Set<Line>;
  alarm: { readonly at: number; readonly off: AbortController } | null;
  /** When it is to be seen next who waits for too long, and when it was last. */
  weedAt: number;
  weededAt: number;
}

/** Nobody waits. */
export function newQueue(): Queue {
  return { lines: new Set(), alarm: null, weedAt: Infinity, weededAt: -Infinity };
}

/** Waits in the queue until somebody settles it; `enter` may do so at once. Rejects once the call aborts. */
export function waitIn(
  queue: Queue,
  who: Pick<Waiter, "call" | "route" | "isRetry" | "place">,
  timing: Timing,
  enter: (waiter: Waiter, line: Line) => void,
): Promise<number> {
  const { call, place } = who;
  const { signal } = call;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortReason(signal));
    const line = lineOf(queue, who);
    const leave = (): void => {
      signal?.removeEventListener("abort", stop);
      line.waiters.splice(countBefore(line, place), 1);
      if (line.waiters.length === 0) queue.lines.delete(line);
      if (queue.lines.size === 0) silence(queue);
    };
    const settle = (waitMs: number): void => {
      leave();
      resolve(waitMs);
    };
    // Nobody can go sooner for it: those who wait, wait for the server.
    const stop = (): void => {
      leave();
      reject(abortReason(signal as AbortSignal));
    };
    const waiter: Waiter = { ...who, deadline: timing.clock() + call.maxWaitMs + MOST_JITTER_MS, settle };
    line.waiters.splice(countBefore(line, place), 0, waiter);
    signal?.addEventListener("abort", stop, { once: true });
    enter(waiter, line);
  });
}

/** How many of the line have a smaller place. */
export function countBefore({ waiters }: Line, place: number): number {
  let [low, high] = [0, waiters.length];
  while (low < high) {
    // Most often it belongs at one of the ends.
    const middle = high === waiters.length ? high - 1 : low === 0 ? 0 : (low + high) >> 1;
    if ((waiters[middle] as Waiter).place < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Looks again at that time, and not at the one that was set before. */
export function setAlarm(queue: Queue, at: number, timing: Timing, look: () => void): void {
  if (queue.alarm?.at === at) return;
  silence(queue);
  if (queue.lines.size === 0) return;
  const off = new AbortController();
  queue.alarm = { at, off };
  const wake = (): void => {
    if (off.signal.aborted) return;
    queue.alarm = null;
    look();
  };
  timing.sleep(at - timing.clock(), off.signal).then(wake, () => {});
}

function silence(queue: Queue): void {
  queue.alarm?.off.abort();
  queue.alarm = null;
  if (queue.lines.size === 0) queue.weedAt = Infinity;
}

function lineOf(queue: Queue, { route, isRetry }: Pick<Line, "route" | "isRetry">): Line {
  for (const line of queue.lines) if (line.route === route && line.isRetry === isRetry) return line;
  const line = { route, isRetry, waiters: [] };
  queue.lines.add(line);
  return line;
}
