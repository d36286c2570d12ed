// A service with some workers and one line before them, under arrivals at random: what a limit on requests in flight
// sees. Time is virtual, and a seed draws every number, so each run is the same on every machine.

/** What decides who may enter, and learns how long the service took. */
export interface Limit {
  /** The requests that may be in flight at `now`. */
  number(now: number): number;
  /** A request has got its first byte. `inFlight` counts it and those before it when it entered. */
  sample(now: number, ms: number, inFlight: number, failed: boolean): void;
}

/** Milliseconds of work of one request. `draw` gives numbers from 0 to 1, which 1 is not. */
export type WorkTime = (draw: () => number) => number;

/** What one caller of ten does to the others. */
export type Attack = "none" | "slow-readers" | "failures" | "slow-readers-held" | "slow-work";

/** One run. */
export interface Run {
  readonly workers: number;
  readonly work: WorkTime;
  /** Requests a millisecond. */
  readonly offered: number;
  /** What the time of work is multiplied by, from an instant on. */
  readonly steps?: readonly { readonly at: number; readonly times: number }[];
  readonly spans: readonly Span[];
  readonly seed: number;
  readonly attack?: Attack;
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

const READING_MS = 30_000;
const ATTACKING = 0.1;

interface Request {
  readonly at: number;
  readonly inFlight: number;
  readonly hostile: boolean;
}

/** Plays a run, and returns what each span saw. */
export function play(run: Run, limit: Limit): Seen[] {
  const { workers, work, offered, steps = [], spans, attack } = run;
  // Arrivals have draws of their own, so that every limit meets the same callers.
  const [arrivals, works] = [drawsOf(run.seed), drawsOf(run.seed ^ 0x5bd1e995)];
  const seen: Seen[] = spans.map(() => ({ good: 0, times: [] }));
  const end = Math.max(...spans.map(({ to }) => to));
  const ends = new Agenda<Request>();
  const readers = new Agenda<null>();
  const line: Request[] = [];
  let [first, busy, inFlight, factor, step] = [0, 0, 0, 1, 0];
  let arrival = exponential(arrivals, 1 / offered);

  const begin = (now: number, request: Request): void => {
    busy += 1;
    const ms = work(works) * factor;
    if (request.hostile && attack === "slow-work") {
      busy -= 1;
      ends.add(now + 10_000, request);
    } else ends.add(now + (attack === "failures" && request.hostile ? 1 : ms), request);
  };
  const finish = (now: number, request: Request): void => {
    if (!(request.hostile && attack === "slow-work")) busy -= 1;
    const held = attack === "slow-readers-held" && request.hostile;
    if (held) readers.add(now + READING_MS, null);
    else inFlight -= 1;
    const ms = now - request.at;
    limit.sample(now, ms, request.inFlight, attack === "failures" && request.hostile);
    if (!request.hostile) count(now, ms);
    if (first < line.length) begin(now, line[first++] as Request);
    if (first > 10_000) {
      line.splice(0, first);
      first = 0;
    }
  };
  const count = (now: number, ms: number): void => {
    for (const [index, { from, to, deadlineMs }] of spans.entries()) {
      if (now < from || now >= to) continue;
      const span = seen[index] as Seen;
      span.times.push(ms);
      if (ms <= deadlineMs) span.good += 1_000 / (to - from);
    }
  };

  for (;;) {
    const now = Math.min(arrival, ends.next, readers.next);
    if (now >= end) return seen;
    while (step < steps.length && (steps[step] as { at: number }).at <= now) factor = (steps[step++] as { times: number }).times;
    if (now === ends.next) finish(now, ends.shift());
    else if (now === readers.next) {
      readers.shift();
      inFlight -= 1;
    } else {
      arrival = now + exponential(arrivals, 1 / offered);
      const hostile = attack !== undefined && arrivals() < ATTACKING;
      if (inFlight >= limit.number(now)) continue;
      inFlight += 1;
      const request = { at: now, inFlight, hostile };
      if (busy < workers) begin(now, request);
      else line.push(request);
    }
  }
}

/** What comes next, in the order of time: a binary heap. */
class Agenda<T> {
  readonly #entries: { readonly at: number; readonly value: T }[] = [];

  get next(): number {
    return this.#entries[0]?.at ?? Infinity;
  }

  add(at: number, value: T): void {
    const heap = this.#entries;
    let child = heap.length;
    heap.push({ at, value });
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if ((heap[parent] as { at: number }).at <= at) break;
      heap[child] = heap[parent] as { at: number; value: T };
      child = parent;
    }
    heap[child] = { at, value };
  }

  shift(): T {
    const heap = this.#entries;
    const top = heap[0] as { value: T };
    const last = heap.pop() as { at: number; value: T };
    if (heap.length === 0) return top.value;
    let parent = 0;
    for (;;) {
      let child = 2 * parent + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && (heap[child + 1] as { at: number }).at < (heap[child] as { at: number }).at) child += 1;
      if ((heap[child] as { at: number }).at >= last.at) break;
      heap[parent] = heap[child] as { at: number; value: T };
      parent = child;
    }
    heap[parent] = last;
    return top.value;
  }
}
