import { definePolicy, type Limit, type Refill } from "sluice";
import type { RequestList } from "./request-list.js";

/** What a limit of these numbers would refuse. */
export interface Effect {
  readonly capacity: number;
  readonly refused: number;
  readonly refusedCallers: number;
  readonly requestsOfRefused: number;
}

/** For one rate, capacities that stay within the share: the smallest ones, unless requests differ in their costs. */
export interface Recommendation {
  readonly refill: Refill;
  /** At most the share of all requests is refused. Null if no capacity that a limit can have does that. */
  readonly byRequests: Effect | null;
  /** At most the share of all callers is refused at least once. */
  readonly byCallers: Effect | null;
}

/** The rates that are tried, the slowest first. */
const RATES: readonly Refill[] = [
  ...[1, 2, 5, 10, 20, 30].map((tokens) => ({ tokens, everyMs: 60_000 })),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000].map((tokens) => ({ tokens, everyMs: 1_000 })),
];

/** Counts the requests that a limit refuses. Made once for all limits, because the lists are long. */
interface LogTrial {
  readonly traffic: ReturnType<RequestList["lists"]>;
  /** For each caller, the units that it has spent, and the instant of that number. */
  readonly spent: Float64Array;
  readonly spentAt: Float64Array;
  /** Requests, and refused requests, of each caller. */
  readonly requests: Float64Array;
  readonly refused: Float64Array;
}

/**
 * For a row of rates, the smallest capacity that refuses at most `share` of the requests, and at most `share` of the
 * callers. Rates that lower neither are left out. See {@link hasOneCost}.
 *
 * With costs that differ, a larger capacity may refuse more: it lets one large request in, and that takes the tokens of
 * several small ones. The capacity found is then one that stays within the share, and perhaps not the smallest.
 *
 * `costAt` is the position of the cost in the list. A request costs 1 without one.
 */
export function recommend(traffic: RequestList, share: number, costAt: number): readonly Recommendation[] {
  const lists = traffic.lists(costAt);
  const trial: LogTrial = {
    traffic: lists,
    spent: new Float64Array(traffic.callers),
    spentAt: new Float64Array(traffic.callers),
    requests: new Float64Array(traffic.callers),
    refused: new Float64Array(traffic.callers),
  };
  const costs = new Float64Array(traffic.callers);
  for (let i = 0; i < traffic.length; i++) {
    const [caller, cost] = [lists.caller[i] as number, lists.cost[i] as number];
    trial.requests[caller] = (trial.requests[caller] as number) + 1;
    costs[caller] = (costs[caller] as number) + cost;
  }
  const most = costs.reduce((a, b) => Math.max(a, b), 1);
  const [mostRequests, mostCallers] = [wholeShare(share, traffic.length), wholeShare(share, traffic.callers)];
  const found: Recommendation[] = [];
  for (const refill of RATES) {
    const effectOf = remembered((capacity) => effect(trial, capacity, refill));
    const largest = Math.min(most, Math.floor(Number.MAX_SAFE_INTEGER / limitOf(1, refill).unitsPerToken));
    const before = found.at(-1);
    const capacities = { effectOf, most: largest };
    const byRequests = smallest(capacities, ({ refused }) => refused <= mostRequests, before?.byRequests);
    const byCallers = smallest(capacities, ({ refusedCallers }) => refusedCallers <= mostCallers, before?.byCallers);
    const isKnown = before?.byRequests?.capacity === byRequests?.capacity && before?.byCallers?.capacity === byCallers?.capacity;
    // A higher rate that needs the same capacities would be no better. One above it may need smaller ones.
    if (before === undefined || !isKnown) found.push({ refill, byRequests, byCallers });
    if (byRequests?.capacity === 1 && byCallers?.capacity === 1) break;
  }
  return found;
}

/** Whether all requests that cost something cost the same. Only then are the recommended capacities the smallest. */
export function hasOneCost(traffic: RequestList, costAt: number): boolean {
  const costs = traffic.lists(costAt).cost.filter((cost) => cost > 0);
  return costs.every((cost) => cost === costs[0]);
}

/** So many of `count` are `share` of them: 29 of 100 for 0.29, although 0.29 * 100 is less than 29. */
export function wholeShare(share: number, count: number): number {
  return Math.floor(share * count + 1e-9);
}

/** The least share that is one of so many callers, rounded up to two digits: "5%" of 20, "0.34%" of 302. */
export function leastShare(callers: number): string {
  const percent = 100 / callers;
  const step = 10 ** (Math.floor(Math.log10(percent)) - 1);
  return `${Number((Math.ceil(percent / step - 1e-9) * step).toPrecision(2))}%`;
}

function limitOf(capacity: number, refill: Refill): Limit {
  return definePolicy({ capacity, refill }).limits[0] as Limit;
}

/** Capacities up to `most`, each with its effect. Each new one costs a pass over the log. */
interface Capacities {
  readonly effectOf: (capacity: number) => Effect;
  readonly most: number;
}

/** The smallest capacity whose effect is right. Null if none is. `before` is that of a lower rate. */
function smallest(
  { effectOf, most }: Capacities, isRight: (effect: Effect) => boolean, before: Effect | null = null,
): Effect | null {
  let [below, high] = [0, 1];
  if (before !== null && isRight(effectOf(before.capacity))) {
    // A higher rate needs at most the same capacity, and often one that is close to it.
    high = before.capacity;
    for (let step = 1; high > 1 && below === 0; step *= 2) {
      const next = Math.max(1, high - step);
      if (isRight(effectOf(next))) high = next;
      else below = next;
    }
  } else {
    // Doubling first: the capacity is far below the most that a caller spent.
    while (high < most && !isRight(effectOf(high))) [below, high] = [high, high * 2];
    high = Math.min(high, most);
  }
  while (high - below > 1) {
    const middle = below + Math.floor((high - below) / 2);
    if (isRight(effectOf(middle))) high = middle;
    else below = middle;
  }
  return isRight(effectOf(high)) ? effectOf(high) : null;
}

function remembered(make: (capacity: number) => Effect): (capacity: number) => Effect {
  const known = new Map<number, Effect>();
  return (capacity) => {
    const made = known.get(capacity) ?? make(capacity);
    known.set(capacity, made);
    return made;
  };
}

/**
 * Passes over the log with the arithmetic that docs/arithmetic.md tells, which is the limiter's. A limiter would take a
 * hundred times as long, because it makes a decision of each request, and here only refusals are counted.
 */
function effect(
  { traffic: { at, cost, caller }, spent, spentAt, requests, refused }: LogTrial,
  capacity: number,
  refill: Refill,
): Effect {
  const { unitsPerMs, unitsPerToken, size } = limitOf(capacity, refill);
  for (const list of [refused, spent, spentAt]) list.fill(0);
  for (let i = 0; i < at.length; i++) {
    const number = caller[i] as number;
    const now = at[i] as number;
    const units = (cost[i] as number) * unitsPerToken;
    const left = Math.max(0, (spent[number] as number) - unitsPerMs * (now - (spentAt[number] as number)));
    if (left + units <= size) {
      spent[number] = left + units;
      spentAt[number] = now;
    } else if (units > 0) refused[number] = (refused[number] as number) + 1;
  }
  let [all, callers, requestsOfRefused] = [0, 0, 0];
  for (let i = 0; i < refused.length; i++) {
    const times = refused[i] as number;
    if (times === 0) continue;
    all += times;
    callers += 1;
    requestsOfRefused += requests[i] as number;
  }
  return { capacity, refused: all, refusedCallers: callers, requestsOfRefused };
}
