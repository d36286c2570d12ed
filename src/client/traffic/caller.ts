import { closedWait, closeLane, enterLane, forgetAsked, giveBack, knownWait, laneWait, leaveLane, openLane, tellLane, type Lane } from "./lane.js";
import type { Timing, TrafficAnswer, TrafficCall } from "../fetch/options.js";
import type { Later } from "./pace.js";
import { countBefore, newQueue, setAlarm, type Line, type Queue, type Waiter } from "./queue.js";
import { recall } from "./recent.js";

// Beyond these the ones that were not used for longest are forgotten, and are learned anew.
const MOST_ROUTES = 200;
const MOST_LANES = 200;
const MOST_POLICIES = 16; // of one route

// All who wait are looked at no more often than this, however fast answers come.
const WEED_MS = 100;

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
  return { lanes: new Map(), routes: new Map(), flights: new Map(), sent: 0, ...newQueue() };
}

/** What is known of a route. */
export function routeOf(caller: Caller, name: string): Route {
  return recall(caller.routes, name, MOST_ROUTES, () => ({ name, lanes: new Map() }));
}

/** Milliseconds for which the server wants none of the route's calls. */
export function closedFor(caller: Caller, route: Route, now: number): number {
  return Math.max(0, ...lanesOf(caller, route).map((lane) => closedWait(lane, now)));
}

/** Notes that a call is on its way. */
export function send(caller: Caller, route: Route, call: TrafficCall, now: number): void {
  const lanes = lanesOf(caller, route);
  const number = ++caller.sent;
  caller.flights.set(call, { number, route, answers: new Map(lanes.map((lane) => [lane, lane.answers])) });
  for (const lane of lanes) enterLane(lane, number, now);
}

/** Sends a newcomer, or tells it at once that its wait is too long, or sees to it that it is woken. Nobody else is judged. */
export function enter(caller: Caller, timing: Timing): (waiter: Waiter, line: Line) => void {
  return (waiter, line) => {
    caller.weedAt = Math.min(caller.weedAt, waiter.deadline);
    // Behind another of its line it cannot go.
    if (line.waiters[0] === waiter || waiter.deadline < (caller.alarm?.at ?? 0)) look(caller, timing);
    if (line.waiters[countBefore(line, waiter.place)] !== waiter) return;
    const now = timing.clock();
    const ahead = new Map<Lane, number>();
    for (const other of caller.lines) {
      const before = countBefore(other, waiter.place);
      for (const lane of lanesOf(caller, other.route)) ahead.set(lane, (ahead.get(lane) ?? 0) + before);
    }
    judge(waiter, lanesOf(caller, waiter.route), ahead, now);
  };
}

/** Lets go whoever may go, and now and then whoever would wait for too long; and sets the alarm for the next. */
function look(caller: Caller, timing: Timing): void {
  const now = timing.clock();
  letGo(caller, now);
  if (now >= caller.weedAt) weed(caller, now);
  const waits = [...caller.lines].map((line) => lineWait(caller, line, now));
  setAlarm(caller, Math.min(caller.weedAt, now + Math.min(...waits)), timing, () => look(caller, timing));
}

/** Oldest first, of those who are first in their line. */
function letGo(caller: Caller, now: number): void {
  const canGo = (line: Line): boolean => line.waiters.length > 0 && lineWait(caller, line, now) === 0;
  for (let lines = [...caller.lines].filter(canGo); lines.length > 0; lines = lines.filter(canGo)) {
    const { call, route, settle } = lines.map(({ waiters }) => waiters[0] as Waiter).reduce((a, b) => (b.place < a.place ? b : a));
    send(caller, route, call, now);
    settle(0);
  }
}

/** Tells whoever would wait for too long. */
function weed(caller: Caller, now: number): void {
  const ahead = new Map<Lane, number>();
  const lanes = new Map([...caller.lines].map(({ route }) => [route, lanesOf(caller, route)]));
  const waiters = [...caller.lines].flatMap((line) => line.waiters).sort((a, b) => a.place - b.place);
  let soonest = Infinity;
  for (const waiter of waiters) {
    const own = lanes.get(waiter.route) as Lane[];
    if (judge(waiter, own, ahead, now)) continue;
    soonest = Math.min(soonest, waiter.deadline);
    for (const lane of own) ahead.set(lane, (ahead.get(lane) ?? 0) + 1);
  }
  caller.weededAt = now;
  caller.weedAt = Math.max(soonest, now + WEED_MS);
}

/** Settles a call that would wait for too long behind those ahead of it on each lane; true if it does. */
function judge({ call, deadline, settle }: Waiter, lanes: Lane[], ahead: ReadonlyMap<Lane, number>, now: number): boolean {
  const known = Math.max(0, ...lanes.map((lane) => knownWait(lane, ahead.get(lane) ?? 0, now)));
  const isTooLong = known > call.maxWaitMs || now + known >= deadline;
  if (isTooLong) settle(Math.max(1, Math.ceil(known)));
  return isTooLong;
}

/** Milliseconds until the first of a line may go. */
function lineWait(caller: Caller, { route, isRetry }: Line, now: number): number {
  return Math.max(0, ...lanesOf(caller, route).map((lane) => laneWait(lane, isRetry, now)));
}

/** Takes in an answer, or that there was none. */
export function hear(caller: Caller, call: TrafficCall, answer: TrafficAnswer | null, timing: Timing, pace: boolean): void {
  const flight = caller.flights.get(call);
  caller.flights.delete(call);
  if (flight === undefined) return;
  for (const lane of flight.answers.keys()) forgetAsked(lane, flight.number, answer !== null, timing.clock());
  if (answer !== null) learn(caller, flight, answer, timing, pace);
  if (caller.lines.size === 0) return;
  caller.weedAt = Math.min(caller.weedAt, caller.weededAt + WEED_MS);
  look(caller, timing);
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
  for (const lane of lanesOf(caller, route)) leaveLane(lane, number, refused, caller.lines.size > 0, now);
  if (!refused) return;
  const spent = limits.filter(({ remaining }) => remaining === 0).map(({ policy }) => policy ?? route.name);
  const refusing = [answer.policies, spent, [route.name]].find((names) => names.length > 0) ?? [];
  for (const name of refusing) closeLane(laneOf(caller, route, name), answer.waitMs ?? 0, caller.sent, now, timing.random);
}

/** What the server may have counted on a lane after the call that it answers. */
function laterThan({ number, answers }: Flight, lane: Lane, name: string, flights: Caller["flights"]): Later {
  let [likely, under] = [0, 0];
  for (const other of flights.values()) {
    if (!other.route.lanes.has(name)) continue;
    under++;
    if (other.number > number) likely++;
  }
  return { likely, perhaps: under + lane.answers - (answers.get(lane) ?? lane.answers) };
}

/** The lane of that name, which the route is now known to draw on. */
function laneOf(caller: Caller, route: Route, name: string): Lane {
  recall(route.lanes, name, MOST_POLICIES, () => name);
  return recall(caller.lanes, name, MOST_LANES, openLane);
}

function lanesOf(caller: Caller, route: Route): Lane[] {
  return [...route.lanes.keys()].map((name) => recall(caller.lanes, name, MOST_LANES, openLane));
}
