// Callers are served in order of arrival, each at the first millisecond at which the bucket holds its tokens. The model that they
// are compared with tries every millisecond.
import fc from "fast-check";
import { createLimiter, MemoryStore, TokenBucket, createWaiter, type Store } from "sluice";
import { ManualClock } from "sluice/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { histories } from "../../helpers/histories.js";
import { LaterStore } from "../../helpers/stores.js";
import type { RateNumbers } from "../../helpers/arbitraries.js";
import { spyOnVerb } from "../../helpers/spy-on-verb.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

interface Arrival {
  /** Milliseconds after the one before. */
  readonly after: number;
  readonly cost: number;
  readonly patience: number;
  /** Milliseconds until it is cancelled; null for never. */
  readonly cancelAfter: number | null;
}

/** The outcome of one wait. */
type Fate = readonly [at: number, how: "served" | "too long" | "cancelled"];

const arrivals = (limit: RateNumbers, patience: fc.Arbitrary<number>): fc.Arbitrary<readonly Arrival[]> =>
  fc.array(
    fc.record({
      after: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat(120) }),
      cost: fc.integer({ min: 0, max: limit.capacity }),
      patience,
      cancelAfter: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(200) }),
    }),
    { minLength: 1, maxLength: 14, size: "max" },
  );

const limitWith = (tokens: fc.Arbitrary<number>): fc.Arbitrary<RateNumbers> =>
  fc.record({
    capacity: fc.integer({ min: 1, max: 9 }),
    refill: fc.record({ tokens, everyMs: fc.integer({ min: 1, max: 90 }) }),
  });

/** Tries every millisecond, with a bucket and an array. */
function model(limit: RateNumbers, list: readonly Arrival[]): Fate[] {
  const clock = new ManualClock();
  const bucket = new TokenBucket({ ...limit, clock: clock.now });
  const fates: Fate[] = [];
  let line: number[] = [];
  const events = schedule(list);
  const serve = (): void => {
    while (line.length > 0 && bucket.consume((list[line[0] as number] as Arrival).cost).allowed) fates[line.shift() as number] = [clock.now(), "served"];
  };
  for (let now = 0; events.length > 0 || line.length > 0; now++) {
    clock.set(now);
    serve();
    while (events[0]?.at === now) {
      const { who, what } = events.shift() as Event;
      if (what === "cancel" && line.includes(who)) {
        line = line.filter((one) => one !== who);
        fates[who] = [now, "cancelled"];
      } else if (what === "arrive") {
        line.push(who);
        if (whenServed(limit, bucket, clock, line.map((one) => (list[one] as Arrival).cost)) > now + (list[who] as Arrival).patience) {
          line.pop();
          fates[who] = [now, "too long"];
        }
      }
      serve();
      clock.set(now);
    }
  }
  return fates;
}

/** The instant at which the last of these callers gets its tokens, if no other caller takes any. */
function whenServed(limit: RateNumbers, bucket: TokenBucket, clock: ManualClock, costs: readonly number[]): number {
  const then = new ManualClock(clock.now());
  const copy = new TokenBucket({ ...limit, clock: then.now });
  // The copy spends what the bucket has spent: exact where a token takes whole milliseconds.
  const { remaining, nextTokenMs, capacity } = bucket.peek(0);
  const everyMs = limit.refill.everyMs / limit.refill.tokens;
  if (remaining < capacity) {
    then.advance(nextTokenMs - everyMs);
    copy.consume(capacity - remaining);
    then.set(clock.now());
  }
  for (const cost of costs) while (!copy.consume(cost).allowed) then.advance(1);
  return then.now();
}

type Event = { readonly at: number; readonly who: number; readonly what: "arrive" | "cancel" };

/** All events in order of time; at one instant, arrivals come before cancellations. */
function schedule(list: readonly Arrival[]): Event[] {
  let at = 0;
  const events = list.flatMap(({ after, cancelAfter }, who): Event[] => {
    at += after;
    return [{ at, who, what: "arrive" }, ...(cancelAfter === null ? [] : [{ at: at + cancelAfter, who, what: "cancel" } as const])];
  });
  return events.sort((a, b) => a.at - b.at || (a.what === b.what ? a.who - b.who : a.what === "arrive" ? -1 : 1));
}

/** The outcomes that a waiter over this store produces. */
async function play(limit: RateNumbers, list: readonly Arrival[], storeOf: (clock: () => number) => Store): Promise<{ fates: Fate[]; served: number[] }> {
  const start = performance.now();
  const now = (): number => Math.round(performance.now() - start);
  const waiter = createWaiter(createLimiter({ policy: limit, store: storeOf(() => Math.floor(performance.now())) }));
  const cancels = list.map(() => new AbortController());
  const fates: Fate[] = [];
  const served: number[] = [];
  for (const { at, who, what } of schedule(list)) {
    await vi.advanceTimersByTimeAsync(at - now());
    if (what === "cancel") {
      (cancels[who] as AbortController).abort("cancelled");
    } else {
      const { cost, patience, cancelAfter } = list[who] as Arrival;
      const signal = cancelAfter === null ? undefined : (cancels[who] as AbortController).signal;
      void waiter.consume("alice", { cost, maxWaitMs: patience, signal }).then(
        ({ allowed }) => {
          if (allowed) served.push(who);
          fates[who] = [now(), allowed ? "served" : "too long"];
        },
        (error: unknown) => void (fates[who] = [now(), error as "cancelled"]),
      );
    }
    await vi.advanceTimersByTimeAsync(0);
  }
  await vi.advanceTimersByTimeAsync(60_000);
  expect([waiter.waiting, vi.getTimerCount()]).toEqual([0, 0]);
  return { fates, served };
}

const stores: readonly [string, (clock: () => number) => Store][] = [
  ["a store that answers at once", (clock) => new MemoryStore({ clock })],
  ["a store that answers later", (clock) => new LaterStore(clock, { timeoutMs: Infinity })],
];

describe.each(stores)("waiting over %s", (_, storeOf) => {
  test("L2 · waiting serves in order of arrival, each at the first millisecond at which its tokens are there", async () => {
    const cases = limitWith(fc.integer({ min: 1, max: 40 })).chain((limit) => fc.tuple(fc.constant(limit), arrivals(limit, fc.constant(Infinity))));
    await fc.assert(
      fc.asyncProperty(cases, async ([limit, list]) => {
        const { fates, served } = await play(limit, list, storeOf);
        expect(fates).toEqual(model(limit, list));
        expect(served).toEqual([...served].sort((a, b) => a - b));
      }),
      { numRuns: histories(150) },
    );
  });

  test("L2 · waiting refuses at once exactly the callers whose tokens come after `maxWaitMs`", async () => {
    const cases = limitWith(fc.constant(1)).chain((limit) => fc.tuple(fc.constant(limit), arrivals(limit, fc.nat(500))));
    await fc.assert(
      fc.asyncProperty(cases, async ([limit, list]) => {
        const { fates } = await play(limit, list, storeOf);
        expect(fates).toEqual(model(limit, list));
      }),
      { numRuns: histories(150) },
    );
  });
});

describe("2,000 callers that wait for one key", () => {
  const COUNT = 2_000;
  const policy = { capacity: 10, refill: { tokens: 1, everyMs: 10 } };

  test.each(stores)("over %s cost one call each, in order, with one timer for all", async (_, storeOf) => {
    const store = storeOf(() => Math.floor(performance.now()));
    const asked = spyOnVerb(store, "consume");
    const timers = vi.spyOn(globalThis, "setTimeout");
    const waiter = createWaiter(createLimiter({ policy, store }), { maxWaitersPerKey: COUNT });
    const served: number[] = [];
    const all = Array.from({ length: COUNT }, async (_unused, i) => {
      await waiter.consume("alice");
      served.push(i);
    });
    await vi.advanceTimersByTimeAsync(0);
    expect([waiter.waiting, vi.getTimerCount()]).toEqual([COUNT - 10, 1]);
    await vi.advanceTimersByTimeAsync((COUNT - 10) * 10);
    await Promise.all(all);
    expect(served).toEqual(Array.from({ length: COUNT }, (_unused, i) => i));
    // One more for the first caller that has to wait: an empty queue knows nothing of the bucket.
    expect(asked.mock.calls.length).toBeLessThanOrEqual(COUNT + 1);
    expect(timers.mock.calls.length).toBeLessThanOrEqual(COUNT);
  });

  test("under one signal share one listener, and leave at once", async () => {
    const limiter = createLimiter({ policy });
    const waiter = createWaiter(limiter, { maxWaitersPerKey: COUNT });
    const cancel = new AbortController();
    const listens = vi.spyOn(cancel.signal, "addEventListener");
    limiter.consume("alice", 10);
    const all = Array.from({ length: COUNT }, () => waiter.consume("alice", { signal: cancel.signal }));
    expect([waiter.waiting, listens.mock.calls.length]).toEqual([COUNT, 1]);
    cancel.abort("enough");
    expect([waiter.waiting, vi.getTimerCount()]).toEqual([0, 0]);
    expect(new Set((await Promise.allSettled(all)).map((one) => one.status === "rejected" && (one.reason as unknown)))).toEqual(new Set(["enough"]));
    await vi.advanceTimersByTimeAsync(100);
    expect(limiter.peek("alice").remaining).toBe(10);
  });
});
