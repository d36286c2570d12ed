/**
 * Calls that know of each other: they wait together after a 429, and slow down before one.
 * @module sluice/client/traffic
 */
import { checkOptions, expected } from "../../core/check.js";
import { closedFor, enter, hear, newCaller, routeOf, send, type Caller } from "./caller.js";
import type { Traffic, TrafficCall } from "../fetch/options.js";
import { waitIn } from "./queue.js";
import { recall } from "./recent.js";

export type { Timing, Traffic, TrafficAnswer, TrafficCall } from "../fetch/options.js";
export type { RateLimit } from "../reading/rate-limit.js";

/** What {@link createTraffic} takes. Everything has a default. */
export interface TrafficOptions {
  /**
   * Whether calls slow down when little is left, so that few are ever refused. Needs a server that tells what is left.
   * Default true; false only lets calls wait together after a refusal.
   */
  readonly pace?: boolean | undefined;
  /**
   * Names what a call asks for. Calls of one name are expected to draw on the same policies, those that earlier answers
   * told of. Default: the method and the path, with `*` for each part that has a digit in it: `GET /users/*`.
   */
  readonly route?: ((call: TrafficCall) => string) | undefined;
}

// Beyond these the one that was not used for longest is forgotten.
const MOST_CALLERS = 1_000;

/**
 * Lets the calls of one or more `createFetch` clients tell each other what the server said.
 *
 * After a 429 all calls to the same origin, of the same identity, that draw on the same policy wait until the server wants
 * them back, in the order they were made. Then one goes first, and two that are not refused let three more go. When a tenth
 * or less of a limit is left, calls are spaced so that it lasts. Which route draws on which policy is learned from answers
 * (`RateLimit`, `violated-policies`); where they name none, only calls to the same route wait for each other.
 *
 * A call that would have to wait for longer than its `maxWaitMs` is not sent and rejects at once, as does a sensitive one
 * that would have to wait at all. Whatever a server said, one call is let through after an hour without an answer from it, to
 * ask again. What is remembered is bounded: 1000 callers, each with 200 routes and 200 policies. Clients
 * of one traffic need one clock. Throws a TypeError for a wrong option.
 *
 * Source: RFC 9110, section 10.2.3; draft-ietf-httpapi-ratelimit-headers-11, sections 6 and 7.
 * @example
 * const traffic = createTraffic();
 * const fetch = createFetch({ traffic });
 * const quiet = createFetch({ traffic, maxAttempts: 1 }); // waits for the same limits
 */
export function createTraffic(options: TrafficOptions = {}): Traffic {
  checkOptions(options, ["pace", "route"]);
  const { pace = true, route = nameRoute } = options;
  if (typeof pace !== "boolean") throw new TypeError(expected("pace", "true or false", pace));
  if (typeof route !== "function") throw new TypeError(expected("route", "a function that names a call", route));

  const callers = new Map<string, Caller>();
  /** Who calls, and when a call first asked: its retries need not go to the end of the queue. */
  const tickets = new WeakMap<TrafficCall, { readonly caller: Caller; readonly place: number }>();
  let place = 0;

  return {
    async turn(call, timing) {
      const isRetry = tickets.has(call);
      const ticket = tickets.get(call) ?? { caller: callerOf(call), place: place++ };
      tickets.set(call, ticket);
      const { caller } = ticket;
      const known = routeOf(caller, route(call));
      if (!call.sensitive) return waitIn(caller, { call, route: known, isRetry, place: ticket.place }, timing, enter(caller, timing));
      const waitMs = closedFor(caller, known, timing.clock());
      if (waitMs === 0) send(caller, known, call, timing.clock());
      return waitMs;
    },
    heard(call, answer, timing) {
      const ticket = tickets.get(call);
      if (ticket !== undefined) hear(ticket.caller, call, answer, timing, pace);
    },
  };

  function callerOf({ origin, identity }: TrafficCall): Caller {
    return recall(callers, JSON.stringify([origin, identity]), MOST_CALLERS, newCaller);
  }
}

// Numbers and identifiers are what differs between calls of one kind; nearly all of them have a digit.
function nameRoute({ method, path }: TrafficCall): string {
  const parts = path.split("/").map((part) => (/\d/.test(part) ? "*" : part));
  return `${method} ${parts.join("/")}`;
}
