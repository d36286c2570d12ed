import { closeLane, enterLane, giveBack, knownWait, laneWait, leaveLane, openLane, tellLane, type Lane } from "./lane.js";
import type { Timing, TrafficAnswer, TrafficCall } from "./options.js";
import type { Later } from "./pace.js";
import { setAlarm, type Queue } from "./queue.js";
import { recall } from "./recent.js";

// Beyond these the ones that were not used for longest are forgotten, and are learned anew.
const MOST_ROUTES = 200;
const MOST_LANES = 200;
const MOST_POLICIES = 16; // of one route

/** All that is known of one identity at one origin. */
export interface Caller extends Queue {
  /** By policy; by route where a server names no policy. */
  readonly lanes: Map<string, Lane>;
  readonly routes: Map<string, Route>;
  /** Calls that were sent and have no answer yet. */
  readonly flights: Map<TrafficCall, Flight>;
  /** Calls sent so far. */
  sent: number;
}

/** What answers told of one route. */
export interface Route {
  readonly name: string;
  /** The names of the lanes that it draws on, as far as they are known. */
  readonly lanes: Map<string, string>;
}

interface Flight {
  /** The caller's calls are numbered from 1 as they are sent. */
  readonly number: number;
  readonly route: Route;
  /** For each of the lanes that were known, the answers there had been when it was sent. */
  readonly answers: ReadonlyMap<Lane, number>;
}

/** A caller that nothing is known of. */
export function newCaller(): Caller {
  return { lanes: new Map(), routes: new Map(), flights: new Map(), sent: 0, waiters: [], alarm: null };
}

/** What is known of a route. */
export function routeOf(caller: Caller, name: string): Route {
  return recall(caller.routes, name, MOST_ROUTES, () => ({ name, lanes: new Map() }));
}

/** Milliseconds for which the server wants none of the route's calls. */
export function closedFor(caller: Caller, route: Route, now: number): number {
  return Math.max(0, ...lanesOf(caller, route).map((lane) => lane.until - now));
}

/** Notes that a call is on its way. */
export function send(caller: Caller, route: Route, call: TrafficCall, now: number): void {
  const lanes = lanesOf(caller, route);
  caller.flights.set(call, { number: ++caller.sent, route, answers: new Map(lanes.map((lane) => [lane, lane.answers])) });
  for (const lane of lanes) enterLane(lane, now);
}

/** Lets go whoever may go, oldest first, and whoever would wait for too long; and sets the alarm for the next. */
export function look(caller: Caller): void {
  const ahead = new Map<Lane, number>();
  let soonest = Infinity;
  for (const { call, route, isRetry, deadline, timing, settle } of caller.waiters.slice()) {
    const now = timing.clock();
    const lanes = lanesOf(caller, route);
    const waitMs = Math.max(0, ...lanes.map((lane) => laneWait(lane, isRetry, now)));
    const known = Math.max(0, ...lanes.map((lane) => knownWait(lane, ahead.get(lane) ?? 0, now)));
    if (waitMs === 0) {
      send(caller, route, call, now);
      settle(0);
    } else if (known > call.maxWaitMs || now + known >= deadline) {
      settle(Math.max(1, Math.ceil(known)));
    } else {
      soonest = Math.min(soonest, waitMs, deadline - now);
      for (const lane of lanes) ahead.set(lane, (ahead.get(lane) ?? 0) + 1);
    }
  }
  setAlarm(caller, soonest, () => look(caller));
}

/** Takes in an answer, or that there was none. */
export function hear(caller: Caller, call: TrafficCall, answer: TrafficAnswer | null, timing: Timing, pace: boolean): void {
  const flight = caller.flights.get(call);
  caller.flights.delete(call);
  if (flight !== undefined && answer !== null) learn(caller, flight, answer, timing, pace);
  look(caller);
}

function learn(caller: Caller, flight: Flight, answer: TrafficAnswer, timing: Timing, pace: boolean): void {
  const { number, route } = flight;
  const now = timing.clock();
  const refused = answer.status === 429;
  const limits = answer.limits ?? [];
  if (refused) for (const lane of lanesOf(caller, route)) giveBack(lane, now);
  for (const told of limits) {
    const name = told.policy ?? route.name;
    const lane = laneOf(caller, route, name);
    if (!pace || !tellLane(lane, told, number, laterThan(flight, lane, name, caller.flights), now)) continue;
    if (!refused && told.remaining === 0 && told.resetMs) closeLane(lane, told.resetMs, caller.sent, now, timing.random);
  }
  for (const lane of lanesOf(caller, route)) leaveLane(lane, number, refused, caller.waiters.length > 0);
  if (!refused) return;
  const spent = limits.filter(({ remaining }) => remaining === 0).map(({ policy }) => policy ?? route.name);
  const refusing = [answer.policies, spent, [route.name]].find((names) => names.length > 0) ?? [];
  for (const name of refusing) closeLane(laneOf(caller, route, name), answer.waitMs ?? 0, caller.sent, now, timing.random);
}

/** What the server may have counted on a lane after the call that it answers. */
function laterThan({ number, answers }: Flight, lane: Lane, name: string, flights: Caller["flights"]): Later {
  const under = [...flights.values()].filter(({ route }) => route.lanes.has(name));
  return {
    likely: under.filter((other) => other.number > number).length,
    perhaps: under.length + lane.answers - (answers.get(lane) ?? lane.answers),
  };
}

/** The lane of that name, which the route is now known to draw on. */
function laneOf(caller: Caller, route: Route, name: string): Lane {
  recall(route.lanes, name, MOST_POLICIES, () => name);
  return recall(caller.lanes, name, MOST_LANES, openLane);
}

function lanesOf(caller: Caller, route: Route): Lane[] {
  return [...route.lanes.keys()].map((name) => recall(caller.lanes, name, MOST_LANES, openLane));
}
