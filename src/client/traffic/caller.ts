import { ownMembers } from "../../core/check.js";
import type { Timing, TrafficCall, TrafficResponse } from "../fetch/options.js";
import { getOrCreate } from "./lru.js";
import type { LaterCalls } from "./pace.js";
import {
  createThrottle, endProbe, pauseThrottle, pauseWait, recordLimit, recordResponse, recordSent, uncountRefused,
  type Draw, type Throttle,
} from "./throttle.js";

// Beyond these, the least recently used are forgotten and learned again.
const MAX_ROUTES = 200;
const MAX_THROTTLES = 200;
const MAX_POLICIES_PER_ROUTE = 16;
// A request that ends early on Cloudflare Workers never reports its response.
const MAX_PENDING = 10_000;

/** The limits that responses reported to one identity at one origin. */
export interface Caller {
  /** By policy name, or by route name if the server names no policy. */
  readonly throttles: Map<string, Throttle>;
  readonly routes: Map<string, Route>;
  /** Calls that were sent and have no response yet. */
  readonly pending: Map<TrafficCall, PendingCall>;
  /** The number of calls sent so far. */
  sent: number;
}

/** The calls that draw on the same policies. */
export interface Route {
  readonly name: string;
  /** The throttles that hold the route's calls back, as far as responses named them. */
  readonly draws: Map<string, NamedDraw>;
  /** Whether a call of the route has ended. Before, nothing is known of its limits. */
  isKnown: boolean;
  /** How many calls were sent before the first one ended, and when the others go without it. */
  sentNew: number;
  heldUntil: number;
}

// A new route sends this many calls, and holds the others until the first of them ends, at most so long.
const FIRST_CALLS = 3;
const MOST_HELD_MS = 1_000;

/** Milliseconds for which the calls of a new route are held. */
export function holdWait(route: Route, now: number): number {
  return route.isKnown || route.sentNew < FIRST_CALLS ? 0 : Math.max(0, route.heldUntil - now);
}

/** What a call of a route takes of one throttle: what the last response said, or 1. */
interface NamedDraw {
  readonly name: string;
  cost: number;
}

interface PendingCall {
  /** The caller's calls are numbered from 1 in the order in which they are sent. */
  readonly number: number;
  readonly route: Route;
  /** For each throttle known when the call was sent, its `responded` at that time. */
  readonly responded: ReadonlyMap<Throttle, number>;
}

/** Creates a caller without any response. */
export function createCaller(): Caller {
  return { throttles: new Map(), routes: new Map(), pending: new Map(), sent: 0 };
}

/** Returns the caller's route of this name. Where requests share no work, it holds no call (law L15). */
export function routeOf(caller: Caller, name: string, isShared: boolean): Route {
  const create = (): Route => ({ name, draws: new Map(), isKnown: !isShared, sentNew: 0, heldUntil: 0 });
  return getOrCreate(caller.routes, name, MAX_ROUTES, create);
}

/** Returns what a call of the route takes of each throttle. */
export function drawsOf(caller: Caller, route: Route): Draw[] {
  return [...route.draws.values()].map((draw) =>
    drawOf(draw, getOrCreate(caller.throttles, draw.name, MAX_THROTTLES, createThrottle)),
  );
}

// A call that costs more than the pace holds, nine tenths of the limit, would otherwise wait for ever.
function drawOf({ cost }: NamedDraw, throttle: Throttle): Draw {
  return { throttle, cost: Math.min(cost, throttle.pace?.limit.capacity ?? Number.MAX_SAFE_INTEGER) };
}

/** Milliseconds for which the server refuses all calls of the route. */
export function routePause(caller: Caller, route: Route, now: number): number {
  return Math.max(0, ...drawsOf(caller, route).map(({ throttle }) => pauseWait(throttle, now)));
}

/** Records that a call is sent. */
export function recordCall(caller: Caller, route: Route, call: TrafficCall, now: number): void {
  const draws = drawsOf(caller, route);
  const number = ++caller.sent;
  if (!route.isKnown && route.sentNew++ === 0) route.heldUntil = now + MOST_HELD_MS;
  caller.pending.set(call, { number, route, responded: new Map(draws.map(({ throttle }) => [throttle, throttle.responded])) });
  if (caller.pending.size > MAX_PENDING) caller.pending.delete(caller.pending.keys().next().value as TrafficCall);
  for (const draw of draws) recordSent(draw, number, now);
}

/** The facts that {@link observeResponse} needs besides the response. */
export interface ObserveContext {
  readonly timing: Timing;
  /** Whether calls are paced. */
  readonly pace: boolean;
  /** Whether calls of this caller are queued, or may be where each waits by itself. */
  readonly hasQueue: boolean;
}

/** Updates the throttles from a response, or from null without one. Returns false for an unknown call. */
export function observeResponse(
  caller: Caller, call: TrafficCall, response: TrafficResponse | null, context: ObserveContext,
): boolean {
  const pending = caller.pending.get(call);
  caller.pending.delete(call);
  if (pending === undefined) return false;
  pending.route.isKnown = true;
  for (const throttle of pending.responded.keys()) endProbe(throttle, pending.number, response !== null, context.timing.now());
  if (response !== null) updateThrottles(caller, pending, response, context);
  return true;
}

function updateThrottles(
  caller: Caller, pending: PendingCall, response: TrafficResponse, { timing, pace, hasQueue }: ObserveContext,
): void {
  const { number, route } = pending;
  const now = timing.now();
  const isRefused = response.isRefusal;
  const limits = response.limits ?? [];
  const pause = (throttle: Throttle, waitMs: number): void => pauseThrottle(throttle, waitMs, caller.sent, now, timing.random);
  if (isRefused) for (const draw of drawsOf(caller, route)) uncountRefused(draw, now);
  for (const told of limits.map(ownMembers)) {
    const name = told.policy ?? route.name;
    const throttle = linkThrottle(caller, route, name, told.cost ?? 1);
    if (!pace || !recordLimit(throttle, told, number, countLater(caller, pending, throttle, name), now)) continue;
    // Tokens in flight come back when work is done, whatever the reset says.
    if (!isRefused && !told.concurrent && told.remaining === 0 && told.resetMs) pause(throttle, told.resetMs);
  }
  for (const draw of drawsOf(caller, route)) recordResponse(draw, number, isRefused, hasQueue, now);
  if (!isRefused) return;
  const exhausted = limits.filter(({ remaining }) => remaining === 0).map(({ policy }) => policy ?? route.name);
  const refusing = [response.policies, exhausted, [route.name]].find((names) => names.length > 0) ?? [];
  for (const name of refusing) pause(linkThrottle(caller, route, name), response.waitMs ?? 0);
}

/** Counts the tokens that the server may have counted on a throttle after the pending call. */
function countLater(caller: Caller, { number, responded }: PendingCall, throttle: Throttle, name: string): LaterCalls {
  let [likely, others] = [0, 0];
  for (const other of caller.pending.values()) {
    const draw = other.route.draws.get(name);
    if (draw === undefined) continue;
    const { cost } = drawOf(draw, throttle);
    others += cost;
    if (other.number > number) likely += cost;
  }
  return { likely, atMost: others + throttle.responded - (responded.get(throttle) ?? throttle.responded) };
}

/** Returns the throttle of this name, and records that it holds the route's calls back, and their cost if stated. */
function linkThrottle(caller: Caller, route: Route, name: string, cost?: number): Throttle {
  const draw = getOrCreate(route.draws, name, MAX_POLICIES_PER_ROUTE, () => ({ name, cost: 1 }));
  draw.cost = cost ?? draw.cost;
  return getOrCreate(caller.throttles, name, MAX_THROTTLES, createThrottle);
}
