// A service with some workers and one line before them, under arrivals at random: what a limit on requests in flight
// sees. Time is virtual, and a seed draws every number, so each run is the same on every machine.

import type { Entry } from "../../src/adaptive/peaks.js";

/** What decides who may enter, and learns how long the service took. */
export interface Limit {
  /** The requests that may be in flight at `now`. */
  number(now: number): number;
  /** A request has got its first byte. `share` is the part of the number that it might use. */
  sample(now: number, ms: number, entry: Entry, failed: boolean, share: number): void;
  /** A request has entered. `inFlight` counts it and those before it. */
  enter?(inFlight: number): Entry;
  /** A client has left before its first byte. Its work goes on. */
  left?(now: number, ms: number, entry: Entry, share: number): void;
  /** Four times this after its admission, the place of such a request comes back, if its work has not ended. */
  readonly typicalMs?: number;
}

/** Milliseconds of work of one request. `draw` gives numbers from 0 to 1, which 1 is not. */
export type WorkTime = (draw: () => number) => number;

/**
 * What one caller does, whose requests are a tenth: nothing, reads each answer for 30 s (with its place given back at the
 * first byte, or held until the last), makes the service fail after 1 ms, has work that waits 10 s for something else, or
 * work of 5 ms that needs no worker.
 */
export type Attack = "none" | "slow-readers" | "slow-readers-held" | "failures" | "slow-work" | "quick";

/** One run. */
export interface Run {
  readonly workers: number;
  readonly work: WorkTime;
  /** Requests a millisecond. */
  readonly offered: number;
  /** What the time of work is multiplied by, from an instant on. */
  readonly steps?: readonly Step[];
  /** What the number of workers is multiplied by, from an instant on. */
  readonly crews?: readonly Step[];
  /** What the requests offered are multiplied by, from an instant on. */
  readonly tides?: readonly Step[];
  /** In the order of time, apart from each other. */
  readonly spans: readonly Span[];
  readonly seed: number;
  readonly attack?: Attack;
  /** Its part of all requests. Default a tenth. */
  readonly attacking?: number;
  readonly batch?: Batch;
  /** Milliseconds after which clients leave. */
  readonly patienceMs?: number;
}

/** Requests that may use a share of the number: this part of all. */
export interface Batch {
  readonly part: number;
  readonly share: number;
}

export interface Step {
  readonly at: number;
  readonly times: number;
}

/** A stretch of time that is measured. */
export interface Span {
  readonly from: number;
  readonly to: number;
  /** Milliseconds after which an answer is of no use any more. */
  readonly deadlineMs: number;
}

/** What one span saw. Callers who attack are left out. */
export interface Seen {
  /** Useful answers a second. */
  good: number;
  /** The times of all answers, in no order. */
  readonly times: number[];
  /** Requests that might use the whole number, and found no place. */
  refused: number;
}

/** Random numbers from a seed. */
export function drawsOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export const exponential = (draw: () => number, mean: number): number => -Math.log(1 - draw()) * mean;

/** The three services: work of 20 ms always, of 20 ms on average, and of 400 ms for one request in twenty. */
export const SERVICES = {
  constant: { work: () => 20, meanMs: 20, p99Ms: 20 },
  exponential: { work: (draw) => exponential(draw, 20), meanMs: 20, p99Ms: 20 * Math.log(100) },
  mixed: { work: (draw) => (draw() < 0.05 ? 400 : 20), meanMs: 39, p99Ms: 400 },
} as const satisfies Record<string, { work: WorkTime; meanMs: number; p99Ms: number }>;

const [READING_MS, ELSEWHERE_MS, QUICK_MS] = [30_000, 10_000, 5];
const ATTACKING = 0.1;

interface Request {
  readonly at: number;
  readonly entry: Entry;
  readonly hostile: boolean;
  readonly share: number;
  /** Whether its client has left, and whether its place has come back. */
  hasLeft: boolean;
  isFree: boolean;
}

/** Plays a run, and returns what each span saw. */
export function play(run: Run, limit: Limit): Seen[] {
  const { work, offered, steps = [], crews = [], tides = [], spans, attack, attacking = ATTACKING, batch, patienceMs } = run;
  // Arrivals have draws of their own, so that every limit meets the same callers.
  const [arrivals, works] = [drawsOf(run.seed), drawsOf(run.seed ^ 0x5bd1e995)];
  const seen: Seen[] = spans.map(() => ({ good: 0, times: [], refused: 0 }));
  const end = (spans.at(-1) as Span).to;
  const ends = new Agenda<Request>();
  const readers = new Agenda<null>();
  const leaving = new Agenda<Request>();
  const line: Request[] = [];
  const [factorAt, crewAt, tideAt] = [walk(steps), walk(crews), walk(tides)];
  let [first, busy, inFlight, factor, current, workers] = [0, 0, 0, 1, 0, run.workers];
  let arrival = exponential(arrivals, 1 / offered);

  const free = (request: Request): void => {
    if (!request.isFree) inFlight -= 1;
    request.isFree = true;
  };
  const leave = (now: number, request: Request): void => {
    if (request.isFree) return;
    if (request.hasLeft) return free(request);
    request.hasLeft = true;
    limit.left?.(now, now - request.at, request.entry, request.share);
    leaving.add(Math.max(now, request.at + 4 * (limit.typicalMs ?? 0)), request);
  };
  const waitsElsewhere = ({ hostile }: Request): boolean => hostile && (attack === "slow-work" || attack === "quick");
  const begin = (now: number, request: Request): void => {
    const ms = work(works) * factor;
    if (waitsElsewhere(request)) return ends.add(now + (attack === "quick" ? QUICK_MS : ELSEWHERE_MS), request);
    busy += 1;
    ends.add(now + (attack === "failures" && request.hostile ? 1 : ms), request);
  };
  const finish = (now: number, request: Request): void => {
    if (!waitsElsewhere(request)) busy -= 1;
    const held = attack === "slow-readers-held" && request.hostile;
    if (held) readers.add(now + READING_MS, null);
    else free(request);
    const ms = now - request.at;
    if (!request.hasLeft) {
      limit.sample(now, ms, request.entry, attack === "failures" && request.hostile, request.share);
      if (!request.hostile) count(now, ms);
    }
    while (busy < workers && first < line.length) begin(now, line[first++] as Request);
    if (first > 10_000) {
      line.splice(0, first);
      first = 0;
    }
  };
  const spanAt = (now: number): Span | undefined => {
    while (now >= (spans[current] as Span).to) current += 1;
    const span = spans[current] as Span;
    return now < span.from ? undefined : span;
  };
  const count = (now: number, ms: number): void => {
    const span = spanAt(now);
    if (span === undefined) return;
    const { from, to, deadlineMs } = span;
    const counted = seen[current] as Seen;
    counted.times.push(ms);
    if (ms <= deadlineMs) counted.good += 1_000 / (to - from);
  };

  for (;;) {
    const now = Math.min(arrival, ends.next, readers.next, leaving.next);
    if (now >= end) return seen;
    factor = factorAt(now);
    workers = Math.round(run.workers * crewAt(now));
    if (now === ends.next) finish(now, ends.shift());
    else if (now === leaving.next) leave(now, leaving.shift());
    else if (now === readers.next) {
      readers.shift();
      inFlight -= 1;
    } else {
      arrival = now + exponential(arrivals, 1 / (offered * tideAt(now)));
      const hostile = attack !== undefined && arrivals() < attacking;
      const share = batch !== undefined && arrivals() < batch.part ? batch.share : 1;
      const number = limit.number(now);
      const places = share < 1 ? Math.max(1, Math.floor(share * number)) : number;
      if (inFlight >= places) {
        if (share === 1 && spanAt(now) !== undefined) (seen[current] as Seen).refused += 1;
        continue;
      }
      inFlight += 1;
      const request = { at: now, entry: limit.enter?.(inFlight) ?? { inFlight, order: 0 }, hostile, share: share < 1 ? places / number : 1, hasLeft: false, isFree: false };
      if (patienceMs !== undefined) leaving.add(now + patienceMs, request);
      if (busy < workers || (hostile && attack === "quick")) begin(now, request);
      else line.push(request);
    }
  }
}

/** Returns what holds at an instant, 1 before the first step. Each instant is at or after the one before it. */
function walk(steps: readonly Step[]): (now: number) => number {
  let [times, next] = [1, 0];
  return (now) => {
    while (next < steps.length && (steps[next] as Step).at <= now) times = (steps[next++] as Step).times;
    return times;
  };
}

/** What comes next, in the order of time: a binary heap. */
class Agenda<T> {
  readonly #at: number[] = [];
  readonly #values: T[] = [];
  next = Infinity;

  add(at: number, value: T): void {
    const [instants, values] = [this.#at, this.#values];
    let child = instants.length;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if ((instants[parent] as number) <= at) break;
      instants[child] = instants[parent] as number;
      values[child] = values[parent] as T;
      child = parent;
    }
    instants[child] = at;
    values[child] = value;
    this.next = instants[0] as number;
  }

  shift(): T {
    const [instants, values] = [this.#at, this.#values];
    const top = values[0] as T;
    const [at, value] = [instants.pop() as number, values.pop() as T];
    const { length } = instants;
    let parent = 0;
    for (let child = 1; child < length; child = 2 * parent + 1) {
      if (child + 1 < length && (instants[child + 1] as number) < (instants[child] as number)) child += 1;
      if ((instants[child] as number) >= at) break;
      instants[parent] = instants[child] as number;
      values[parent] = values[child] as T;
      parent = child;
    }
    if (length > 0) {
      instants[parent] = at;
      values[parent] = value;
    }
    this.next = length > 0 ? (instants[0] as number) : Infinity;
    return top;
  }
}
