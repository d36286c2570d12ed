import type { Timing, TrafficCall, TrafficResponse } from "../fetch/options.js";
import { createCaller, drawsOf, holdWait, observeResponse, recordCall, type Caller } from "./caller.js";
import { countAhead, createCallQueue, enqueue, setTimer, type CallQueue, type QueuedCall, type RouteQueue } from "./queue.js";
import { ageThrottle, leastWait, throttleWait, type Draw, type Throttle } from "./throttle.js";

// The deadlines of all queued calls are checked at most this often, however fast responses arrive.
const DROP_INTERVAL_MS = 100;

/** Sends and drops the queued calls of one caller. */
export interface Scheduler {
  readonly caller: Caller;
  readonly queue: CallQueue;
}

/** Creates a scheduler without calls. */
export function createScheduler(): Scheduler {
  return { caller: createCaller(), queue: createCallQueue() };
}

/** Resolves with 0 when the call may be sent, or with the milliseconds that are too long for it. */
export function scheduleCall(
  scheduler: Scheduler,
  waiting: Pick<QueuedCall, "call" | "route" | "isRetry" | "position">,
  timing: Timing,
): Promise<number> {
  return enqueue(scheduler.queue, waiting, timing, (queued, routeQueue) => checkNew(scheduler, queued, routeQueue, timing));
}

/**
 * Updates the throttles from a response, or from null without one, and then sends the calls that may be sent. Calls
 * that wait by themselves are not in the queue: then `isShared` is false.
 */
export function observeCall(
  { caller, queue }: Scheduler,
  call: TrafficCall,
  response: TrafficResponse | null,
  timing: Timing,
  { pace, isShared }: { readonly pace: boolean; readonly isShared: boolean },
): void {
  const isKnown = observeResponse(caller, call, response, { timing, pace, hasQueue: !isShared || queue.routes.size > 0 });
  if (!isKnown || queue.routes.size === 0) return;
  queue.nextDropAt = Math.min(queue.nextDropAt, queue.lastDropAt + DROP_INTERVAL_MS);
  checkQueue({ caller, queue }, timing);
}

/** Makes all pauses end `ms` earlier, and sends the calls that may be sent then. */
export function endPauses(scheduler: Scheduler, ms: number, timing: Timing): void {
  for (const throttle of scheduler.caller.throttles.values()) ageThrottle(throttle, ms);
  checkQueue(scheduler, timing);
}

// Sends or drops the new call, or leaves it queued. Looks at no other call, so thousands of calls may be queued.
function checkNew(scheduler: Scheduler, queued: QueuedCall, routeQueue: RouteQueue, timing: Timing): void {
  const { caller, queue } = scheduler;
  const held = holdWait(queued.route, timing.now());
  if (held > queued.call.maxWaitMs) {
    recordCall(caller, queued.route, queued.call, timing.now());
    return queued.settle(0);
  }
  queue.nextDropAt = Math.min(queue.nextDropAt, queued.deadline);
  // A call that is not the first of its route cannot be sent now.
  if (routeQueue.calls[0] === queued || queued.deadline < (queue.timer?.at ?? 0)) checkQueue(scheduler, timing);
  if (routeQueue.calls[countAhead(routeQueue, queued.position)] !== queued) return;
  const now = timing.now();
  const ahead = new Map<Throttle, number>();
  for (const other of queue.routes) {
    const before = countAhead(other, queued.position);
    for (const { throttle, cost } of drawsOf(caller, other.route)) {
      ahead.set(throttle, (ahead.get(throttle) ?? 0) + before * cost);
    }
  }
  dropIfTooLong(queued, drawsOf(caller, queued.route), ahead, now);
}

/** Sends all calls that may be sent, drops calls that would wait too long, and sets the timer for the next check. */
function checkQueue(scheduler: Scheduler, timing: Timing): void {
  const { caller, queue } = scheduler;
  const now = timing.now();
  sendReady(scheduler, now);
  if (now >= queue.nextDropAt) dropLate(scheduler, now);
  const waits = [...queue.routes].map((routeQueue) => routeQueueWait(caller, routeQueue, now));
  setTimer(queue, Math.min(queue.nextDropAt, now + Math.min(...waits)), timing, () => checkQueue(scheduler, timing));
}

/** Sends calls, oldest first, while the first call of any route may be sent. */
function sendReady({ caller, queue }: Scheduler, now: number): void {
  const isReady = (routeQueue: RouteQueue): boolean =>
    routeQueue.calls.length > 0 && routeQueueWait(caller, routeQueue, now) === 0;
  for (let ready = [...queue.routes].filter(isReady); ready.length > 0; ready = ready.filter(isReady)) {
    const { call, route, settle } = ready
      .map(({ calls }) => calls[0] as QueuedCall)
      .reduce((a, b) => (b.position < a.position ? b : a));
    recordCall(caller, route, call, now);
    settle(0);
  }
}

/** Drops all calls that would wait too long. */
function dropLate({ caller, queue }: Scheduler, now: number): void {
  const ahead = new Map<Throttle, number>();
  const draws = new Map([...queue.routes].map(({ route }) => [route, drawsOf(caller, route)]));
  const queued = [...queue.routes].flatMap(({ calls }) => calls).sort((a, b) => a.position - b.position);
  let soonest = Infinity;
  for (const each of queued) {
    const own = draws.get(each.route) as Draw[];
    if (dropIfTooLong(each, own, ahead, now)) continue;
    soonest = Math.min(soonest, each.deadline);
    for (const { throttle, cost } of own) ahead.set(throttle, (ahead.get(throttle) ?? 0) + cost);
  }
  queue.lastDropAt = now;
  queue.nextDropAt = Math.max(soonest, now + DROP_INTERVAL_MS);
}

/**
 * Settles a call that would wait too long behind the calls ahead of it on each throttle, and returns true. Tells
 * another call of its wait.
 */
function dropIfTooLong(queued: QueuedCall, draws: Draw[], ahead: ReadonlyMap<Throttle, number>, now: number): boolean {
  const { call, deadline, settle } = queued;
  const waitMs = Math.max(0, ...draws.map((draw) => leastWait(draw, ahead.get(draw.throttle) ?? 0, now)));
  const isTooLong = waitMs > call.maxWaitMs || now + waitMs >= deadline;
  if (isTooLong) settle(Math.max(1, Math.ceil(waitMs)));
  else tellWait(queued, Math.max(waitMs, ...draws.map((draw) => throttleWait(draw, queued.isRetry, now))), now);
  return isTooLong;
}

/** Tells the caller of a wait that is new, or longer than it was told. */
function tellWait(queued: QueuedCall, waitMs: number, now: number): void {
  // A held call may go at any moment.
  if (waitMs === 0 || now + waitMs < queued.toldUntil + DROP_INTERVAL_MS) return;
  queued.toldUntil = now + waitMs;
  queued.call.onQueued(Math.ceil(waitMs));
}

/** Milliseconds until the first call of a route may be sent. */
function routeQueueWait(caller: Caller, { route, isRetry }: RouteQueue, now: number): number {
  return Math.max(holdWait(route, now), ...drawsOf(caller, route).map((draw) => throttleWait(draw, isRetry, now)));
}
