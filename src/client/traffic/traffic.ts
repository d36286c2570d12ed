/**
 * A scheduler for the calls of one or more `createFetch` clients. After a 429 calls queue together. Near a limit they
 * are spaced so that few are refused.
 *
 * Experimental: names, defaults and scheduling may change in a minor version.
 * @module sluice/client/traffic
 * @experimental
 */
import { checkOptions, expected } from "../../core/check.js";
import { lostTimeOf, monotonicClock, type LostTime } from "../../core/clock.js";
import type { Timing, Traffic, TrafficCall } from "../fetch/options.js";
import { platformNow } from "../fetch/sleep.js";
import { believedLimits } from "../reading/rate-limit-fields.js";
import { sharesWork } from "../../platform.js";
import { recordCall, routeOf, routePause } from "./caller.js";
import { getOrCreate } from "./lru.js";
import { createCallQueue } from "./queue.js";
import { createScheduler, endPauses, observeCall, scheduleCall, type Scheduler } from "./scheduler.js";

export type { Timing, Traffic, TrafficCall } from "../fetch/options.js";
export type { ToldLimit } from "../reading/rate-limit.js";

/** The options of {@link createTraffic}. Each has a default. */
export interface TrafficOptions {
  /**
   * Whether calls slow down when a tenth of a limit or less is left. Works with servers that report what is left. False
   * only queues calls after a refusal. Default true.
   */
  readonly pace?: boolean | undefined;
  /**
   * Names the route of a call. Calls of one route are expected to draw on the same policies. Default: the method and
   * the path, with `*` for each path segment that contains a digit, such as `GET /users/*`.
   */
  readonly route?: ((call: TrafficCall) => string) | undefined;
}

// Beyond these, the least recently used is forgotten.
const MAX_CALLERS = 1_000;

/**
 * Creates a {@link Traffic} that clients share: the responses to earlier calls schedule each call.
 *
 * - **After a 429**, calls to the same origin, with the same identity, on the same policy queue until the server's wait
 *   is over. Then the oldest call is sent, and every two responses that are not refusals let three more calls go.
 * - **Near a limit**, with a tenth or less left, calls are spaced so that the rest lasts.
 * - **A new route** sends 3 calls, and holds the others until the first of them ends, at most 1 second. A call whose
 *   `maxWaitMs` is shorter than that is not held.
 * - **Policies** are learned from responses (`RateLimit`, `violated-policies`). If the server names none, only calls to
 *   the same route wait for each other.
 * - **A call that would wait longer than its `maxWaitMs`** is not sent and rejects at once. So does a sensitive call
 *   that would have to wait.
 * - **One call is sent as a probe** after an hour without a response, even if the server asked for a longer wait.
 *
 * On Cloudflare Workers and in edge runtimes a call must not wait for another request. There each call waits by itself,
 * in no order, and checks at most once a second whether it may be sent.
 *
 * Memory is bounded: 1000 callers (an identity at an origin), each with 200 routes and 200 policies. All clients of one
 * traffic need the same clock. Throws a TypeError for a wrong option.
 *
 * Source: RFC 9110, section 10.2.3; draft-ietf-httpapi-ratelimit-headers-11, sections 6 and 7.
 * @experimental
 * @example
 * const traffic = createTraffic();
 * const fetch = createFetch({ traffic });
 * const once = createFetch({ traffic, maxAttempts: 1 }); // is scheduled by the same limits
 */
export function createTraffic(options: TrafficOptions = {}): Traffic {
  const { pace = true, route = defaultRoute } = checkOptions(options, ["pace", "route"]);
  if (typeof pace !== "boolean") throw new TypeError(expected("pace", "true or false", pace));
  if (typeof route !== "function") throw new TypeError(expected("route", "a function that names a call's route", route));

  const isShared = sharesWork();
  const schedulers = new Map<string, Scheduler>();
  // The scheduler and position of each call's first attempt: its retries keep both.
  const tickets = new WeakMap<TrafficCall, { readonly scheduler: Scheduler; readonly position: number }>();
  let position = 0;
  let lost: LostTime | undefined;
  let agedMs = 0;

  return {
    limits: believedLimits,
    async schedule(call, timing) {
      countLostTime(timing);
      const isRetry = tickets.has(call);
      const ticket = tickets.get(call) ?? { scheduler: schedulerOf(call), position: position++ };
      tickets.set(call, ticket);
      const { scheduler } = ticket;
      const { caller } = scheduler;
      const known = routeOf(caller, route(call), isShared);
      // A queue of one call where requests share no timers (law L15).
      const queue = isShared ? scheduler.queue : createCallQueue();
      if (!call.sensitive) {
        return scheduleCall({ caller, queue }, { call, route: known, isRetry, position: ticket.position }, timing);
      }
      const waitMs = routePause(caller, known, timing.now());
      if (waitMs === 0) recordCall(caller, known, call, timing.now());
      return waitMs;
    },
    observe(call, response, timing) {
      const ticket = tickets.get(call);
      if (ticket !== undefined) observeCall(ticket.scheduler, call, response, timing, { pace, isShared });
    },
  };

  /** A pause that ended while the machine was suspended must refuse no call. */
  function countLostTime(timing: Timing): void {
    // A `now` of one's own, without a `wallNow`, is the only clock.
    const own = timing.wallNow === Date.now ? timing.now : timing;
    lost ??= lostTimeOf(timing.now === platformNow ? monotonicClock : own);
    lost.look(timing.now());
    const ms = lost.lostMs - agedMs;
    agedMs += ms;
    if (ms > 0) for (const scheduler of schedulers.values()) endPauses(scheduler, ms, timing);
  }

  function schedulerOf({ origin, identity }: TrafficCall): Scheduler {
    return getOrCreate(schedulers, JSON.stringify([origin, identity]), MAX_CALLERS, createScheduler);
  }
}

// Numbers and identifiers are what differs between calls of one route, and nearly all of them contain a digit.
function defaultRoute({ method, path }: TrafficCall): string {
  const segments = path.split("/").map((segment) => (/\d/.test(segment) ? "*" : segment));
  return `${method} ${segments.join("/")}`;
}
