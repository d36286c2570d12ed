import { abortReason } from "../fetch/abort.js";
import type { Timing, TrafficCall } from "../fetch/options.js";
import type { Route } from "./caller.js";

// A call may wait this much longer than its `maxWaitMs`, because jitter comes on top of the server's wait.
const MAX_QUEUE_JITTER_MS = 1_000;

/** A call that waits to be sent. */
export interface QueuedCall {
  readonly call: TrafficCall;
  readonly route: Route;
  /** Whether the call was sent before. */
  readonly isRetry: boolean;
  /** The position of the call's first attempt. Earlier calls have smaller positions. */
  readonly position: number;
  /** When the call is dropped. */
  readonly deadline: number;
  /** When the call may be sent, as its caller was last told. */
  toldUntil: number;
  /** Ends the wait: with 0 to send the call, or with the milliseconds that are too long. */
  readonly settle: (waitMs: number) => void;
}

/**
 * The queued calls to one route, oldest first. While the first cannot be sent, none can. Retries may be sent sooner, so
 * they have a queue of their own.
 */
export interface RouteQueue {
  readonly route: Route;
  readonly isRetry: boolean;
  readonly calls: QueuedCall[];
}

/** All queued calls of one caller. */
export interface CallQueue {
  /** None of them is empty. */
  readonly routes: Set<RouteQueue>;
  /** The timer of the next check, and its time. Null without queued calls. */
  timer: { readonly at: number; readonly stop: AbortController } | null;
  /** When the deadlines are checked next, and when they were checked last. */
  nextDropAt: number;
  lastDropAt: number;
}

/** Creates an empty queue. */
export function createCallQueue(): CallQueue {
  return { routes: new Set(), timer: null, nextDropAt: Infinity, lastDropAt: -Infinity };
}

/**
 * Adds a call to the queue and calls `onQueued`, which may settle it at once. Resolves when the call is settled.
 * Rejects with the signal's reason when the call aborts.
 */
export function enqueue(
  queue: CallQueue,
  waiting: Pick<QueuedCall, "call" | "route" | "isRetry" | "position">,
  timing: Timing,
  onQueued: (queued: QueuedCall, routeQueue: RouteQueue) => void,
): Promise<number> {
  const { call, position } = waiting;
  const { signal } = call;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortReason(signal));
    const routeQueue = routeQueueOf(queue, waiting);
    const { calls } = routeQueue;
    const remove = (): void => {
      signal?.removeEventListener("abort", abort);
      const at = countAhead(routeQueue, position);
      // The caller may abort it while it is settled.
      if (calls[at] !== queued) return;
      calls.splice(at, 1);
      if (calls.length === 0) queue.routes.delete(routeQueue);
      if (queue.routes.size === 0) stopTimer(queue);
    };
    const settle = (waitMs: number): void => {
      remove();
      resolve(waitMs);
    };
    // No other call becomes ready by this: the calls wait for the server, not for each other.
    const abort = (): void => {
      remove();
      reject(abortReason(signal as AbortSignal));
    };
    const queued: QueuedCall = {
      ...waiting, deadline: timing.now() + call.maxWaitMs + MAX_QUEUE_JITTER_MS, toldUntil: -Infinity, settle,
    };
    calls.splice(countAhead(routeQueue, position), 0, queued);
    signal?.addEventListener("abort", abort, { once: true });
    onQueued(queued, routeQueue);
  });
}

/** Counts the calls with a smaller position. */
export function countAhead({ calls }: RouteQueue, position: number): number {
  let [low, high] = [0, calls.length];
  while (low < high) {
    // Most positions belong at one of the ends, so the binary search begins there.
    const middle = high === calls.length ? high - 1 : low === 0 ? 0 : (low + high) >> 1;
    if ((calls[middle] as QueuedCall).position < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Sets the queue's one timer: calls `check` at `at`, and no longer at the earlier set time. */
export function setTimer(queue: CallQueue, at: number, timing: Timing, check: () => void): void {
  if (queue.timer?.at === at) return;
  stopTimer(queue);
  if (queue.routes.size === 0) return;
  const stop = new AbortController();
  queue.timer = { at, stop };
  const fire = (): void => {
    if (stop.signal.aborted) return;
    queue.timer = null;
    check();
  };
  timing.sleep(at - timing.now(), stop.signal).then(fire, () => {});
}

function stopTimer(queue: CallQueue): void {
  queue.timer?.stop.abort();
  queue.timer = null;
  if (queue.routes.size === 0) queue.nextDropAt = Infinity;
}

function routeQueueOf(queue: CallQueue, { route, isRetry }: Pick<RouteQueue, "route" | "isRetry">): RouteQueue {
  for (const known of queue.routes) if (known.route === route && known.isRetry === isRetry) return known;
  const routeQueue = { route, isRetry, calls: [] };
  queue.routes.add(routeQueue);
  return routeQueue;
}
