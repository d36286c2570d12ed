// L6 · A clock that stands still while the machine is suspended, beside a wall clock that goes on. Time is told.
import { afterMs, combine, createLimiter, daily, MemoryStore, perHour, perMinute, perSecond, TokenBucket, whenDone, type Clock, type Decision } from "sluice";
import { ManualClock } from "sluice/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { lostTimeOf, monotonicClock, readClock } from "../../src/core/clock.js";
import { freshSluice } from "../helpers/warned.js";

const HOUR = 3_600_000;
const rate = { capacity: 3, refill: perMinute(3) };

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Each kind of limit that refuses by a clock of this process: a call of one token for each `ask`. */
const kinds: readonly (readonly [name: string, make: (clock: Clock) => () => Decision, durations: number])[] = [
  ["a TokenBucket", (clock) => {
    const bucket = new TokenBucket({ ...rate, clock });
    return () => bucket.consume();
  }, 0],
  ["a memory store", (clock) => {
    const limiter = createLimiter({ policy: rate, store: new MemoryStore({ clock }) });
    return () => limiter.consume("ann");
  }, 0],
  ["several limits", (clock) => {
    const limits = [{ name: "burst", ...rate }, { name: "hour", capacity: 100, refill: perHour(100) }] as const;
    const limiter = createLimiter({ policy: { name: "api", limits }, store: new MemoryStore({ clock }) });
    return () => limiter.consume("ann");
  }, 0],
  ["a combination", (clock) => {
    const store = new MemoryStore({ clock });
    const limiter = combine({ a: createLimiter({ policy: { name: "a", ...rate }, store }), b: createLimiter({ policy: { name: "b", ...rate }, store }) });
    return () => limiter.consume({ a: "ann", b: "ann" });
  }, 1],
];

// A combination also reads the time, once, to tell how long its stores took.
describe.each(kinds)("%s", (_, make, durations) => {
  const spend = (ask: () => Decision): number => {
    let granted = 0;
    while (granted < 1_000 && ask().allowed) granted += 1;
    return granted;
  };

  test("L6 · who waited as told is served after a suspension, and gets no more than was refilled", () => {
    const clock = new ManualClock(1e9);
    const ask = make(clock);
    expect(spend(ask)).toBe(3);
    const { retryAfterMs } = ask();
    clock.suspend(retryAfterMs - 1);
    expect(ask()).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.suspend(1_001);
    expect([spend(ask), ask().retryAfterMs]).toEqual([1, 19_000]);
  });

  test("L6 · each suspension grants one capacity at most, however long it is", () => {
    const clock = new ManualClock();
    const ask = make(clock);
    const granted = [0, 400 * 24 * HOUR, HOUR].map((ms) => (clock.suspend(ms), spend(ask)));
    expect(granted).toEqual([3, 3, 3]);
  });

  test.each([["back first", -1], ["ahead first", 1]])("L6 · two clocks that step against each other for an hour grant no more than one, %s", (_name, first) => {
    const clock = new ManualClock(1e9);
    const ask = make(clock);
    let granted = 0;
    for (let second = 0; second < 3_600; second++) {
      clock.suspend(30_000 * (second % 2 === 0 ? first : -first));
      for (let i = 0; i < 4; i++) if (ask().allowed) granted += 1;
      clock.advance(1_000);
    }
    // 3, and one more each 20 seconds. A first step ahead is a suspension of 30 seconds.
    expect(granted).toBe(3 + Math.floor((3_599 + (first > 0 ? 30 : 0)) / 20));
  });

  test("L6 · a function is the only clock: it stands still as long as it likes, and no wall clock is read", () => {
    const wall = vi.spyOn(Date, "now");
    const clock = new ManualClock();
    const ask = make(clock.now);
    expect(spend(ask)).toBe(3);
    clock.suspend(2_000_000);
    expect(ask()).toMatchObject({ allowed: false, retryAfterMs: 20_000 });
    expect(wall).not.toHaveBeenCalled();
  });

  test("L6 · an allowed call reads one clock, and a refusal the other one once", () => {
    const clock = { now: vi.fn(() => 0), wallNow: vi.fn(() => 0) };
    const ask = make(clock);
    const reads = (calls: number): number[] => {
      clock.now.mockClear();
      clock.wallNow.mockClear();
      for (let i = 0; i < calls; i++) ask();
      return [clock.now.mock.calls.length, clock.wallNow.mock.calls.length];
    };
    expect(reads(3)).toEqual([3, 0]);
    expect(reads(1)[0]).toBe(1);
    expect(reads(1)[1]).toBeGreaterThan(0);
  });

  test("L6 · the default clock reads `performance.now` alone while it allows", () => {
    const ask = make(monotonicClock);
    const [now, wall] = [vi.spyOn(performance, "now"), vi.spyOn(Date, "now")];
    expect([ask().allowed, now.mock.calls.length, wall.mock.calls.length]).toEqual([true, 1 + durations, 0]);
  });
});

describe("the rule", () => {
  test("L6, L22 · a window, too: its tokens are older by what was lost, and works in flight are not", () => {
    const clock = new ManualClock(1e9);
    const limits = [{ name: "window", capacity: 3, returns: afterMs(60_000) }, { name: "parallel", capacity: 9, returns: whenDone() }] as const;
    const limiter = createLimiter({ policy: { name: "api", limits }, store: new MemoryStore({ clock }) });
    const ask = (): Decision => limiter.consume("ann");
    expect([1, 2, 3, 4].map(() => ask().allowed)).toEqual([true, true, true, false]);
    clock.suspend(59_999);
    expect(ask()).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.advance(1);
    expect([1, 2, 3, 4].map(() => ask().allowed)).toEqual([true, true, true, false]);
    expect(limiter.peek("ann", 0).limits?.map(({ remaining }) => remaining)).toEqual([0, 3]);
  });

  test.each([
    [1_000, [0]],
    [1_001, [1_001]],
    [-HOUR, [0]],
  ])("L6 · what the lead grows by more than a second counts: %i ms", (ms, [lost]) => {
    const clock = new ManualClock();
    const time = lostTimeOf(clock);
    clock.suspend(ms);
    time.look(clock.now());
    expect(time.lostMs).toBe(lost);
  });

  test("L6 · short suspensions add up, and each counts once for the whole process", () => {
    const clock = new ManualClock(0.75);
    const time = lostTimeOf(clock);
    const looks = [600, 600, 600, 600, 0].map((ms) => (clock.suspend(ms), time.look(clock.now())));
    expect([looks, time.lostMs]).toEqual([[false, true, false, true, false], 2_400]);
    expect(lostTimeOf(clock)).toBe(time);
  });

  test("L6 · a step ahead to a lead that was seen before adds nothing", () => {
    const clock = new ManualClock();
    const time = lostTimeOf(clock);
    for (const ms of [5_000, -3_000, 3_000, -9_000, 9_000, 2_000]) {
      clock.suspend(ms);
      time.look(clock.now());
    }
    expect(time.lostMs).toBe(7_000);
  });

  test("L9 · a wall clock that is not finite is told, and of two clocks `readClock` reads `now`", () => {
    const clock = { now: () => 7.5, wallNow: () => 0 };
    const bucket = new TokenBucket({ ...rate, clock });
    clock.wallNow = () => Number.NaN;
    expect(readClock(clock)).toBe(7);
    bucket.consume(3);
    expect(() => bucket.consume()).toThrow("Expected `clock()` to be a finite number of milliseconds below 2^53, got NaN");
  });

  test.each([{ now: () => 0 }, { now: () => 0, wallNow: 5 }, { wallNow: () => 0 }])("L9 · half of two clocks is none: %#", (clock) => {
    const message = "Expected `clock` to be a function that returns milliseconds, or { now, wallNow }, got an object";
    for (const make of [() => new MemoryStore({ clock: clock as never }), () => new TokenBucket({ ...rate, clock: clock as never })]) {
      expect(make).toThrow(new TypeError(message));
    }
  });

  test.each([
    ["fake timers", () => vi.useFakeTimers()],
    ["a fake date", () => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 365 * 24 * HOUR })],
    ["a mocked date", () => vi.spyOn(Date, "now").mockReturnValue(Date.now() + HOUR)],
  ])("L6 · %s that begin after the limiter was made are other clocks, and no suspension", (_, begin) => {
    const limiter = createLimiter({ policy: rate });
    for (let i = 0; i < 3; i++) limiter.consume("ann");
    begin();
    expect(limiter.consume("ann").allowed).toBe(false);
  });
});

describe("a memory store", () => {
  const make = () => {
    const clock = new ManualClock(1e6);
    const store = new MemoryStore({ clock });
    return { clock, store, limiter: createLimiter({ policy: rate, store }) };
  };

  test("L6 · all keys count the lost time once, also those that are asked for later, and what is taken afterwards does not", () => {
    const { clock, limiter, store } = make();
    const keys = Array.from({ length: 20_000 }, (_, i) => `user ${i}`);
    for (const key of keys) limiter.consume(key, 3);
    clock.suspend(20_000);
    expect(limiter.consume("user 0").allowed).toBe(true);
    limiter.consume("after", 3);
    const left = keys.map((key) => limiter.peek(key).remaining);
    expect([left[0], new Set(left.slice(1)), limiter.peek("after").remaining]).toEqual([0, new Set([1]), 0]);
    clock.advance(40_000);
    expect([limiter.peek("user 1").remaining, limiter.peek("after").remaining, store.stats().evictedBusy]).toEqual([3, 2, 0]);
  });

  test("L6 · a peek and a settlement after a suspension tell the truth", () => {
    const { clock, limiter } = make();
    const taken = limiter.consume("ann", 3);
    clock.suspend(30_000);
    expect(limiter.peek("ann")).toMatchObject({ allowed: true, remaining: 1, at: 1e6 });
    expect([limiter.settle("ann", taken, 1), limiter.peek("ann").remaining]).toEqual([true, 3]);
  });

  test("L6 · a block ends by the clock alone: no wall clock lifts a ban, and a rate beside it is refilled", () => {
    const { clock, limiter } = make();
    limiter.consume("ann", 3);
    limiter.block("ann", HOUR);
    clock.suspend(2 * HOUR);
    expect(limiter.consume("ann")).toMatchObject({ allowed: false, blocked: true, retryAfterMs: HOUR });
    clock.advance(HOUR - 1);
    expect(limiter.consume("ann")).toMatchObject({ blocked: true, retryAfterMs: 1 });
    clock.advance(1);
    expect(limiter.consume("ann")).toMatchObject({ allowed: true, remaining: 2 });
  });

  test("L6, L13 · a suspension makes no block idle, so nothing that is swept or removed lifts one", () => {
    const clock = new ManualClock();
    const limiter = createLimiter({ policy: rate, store: new MemoryStore({ maxKeys: 300, clock }) });
    limiter.block("ann", HOUR);
    limiter.consume("bob", 3);
    clock.suspend(2 * HOUR);
    limiter.consume("bob", 3);
    for (let i = 0; i < 5_000; i++) limiter.consume(`spray ${i}`);
    expect(limiter.consume("ann", 0)).toMatchObject({ allowed: false, blocked: true });
  });

  test("L6, L21 · works in flight stand still with the clock: nobody gets their places, and they give them back", () => {
    const clock = new ManualClock();
    const held = [{ name: "parallel", capacity: 2, returns: whenDone({ staleAfterMs: 15_000 }) }, { name: "rate", ...rate }] as const;
    const limiter = createLimiter({ policy: { name: "work", limits: held }, store: new MemoryStore({ clock }) });
    const works = [limiter.consume("ann"), limiter.consume("ann")];
    const third = (): readonly [boolean, string] => [limiter.consume("ann").allowed, limiter.consume("ann").limit];
    clock.suspend(60_000);
    expect(third()).toEqual([false, "parallel"]);
    clock.suspend(60_000);
    expect(third()).toEqual([false, "parallel"]);
    for (const work of works) expect(limiter.settle("ann", work, { cost: { rate: 1 } })).toBe(true);
    expect(limiter.peek("ann").limits).toMatchObject([{ remaining: 2 }, { remaining: 3 }]);
  });

  test("L6, L21 · works that run through suspensions are renewed, and lose no place", async () => {
    vi.useFakeTimers();
    const sluice = await freshSluice(); // the works of other files keep one real timer for all
    const policy = sluice.definePolicy({ name: "long", capacity: 2, returns: sluice.whenDone({ staleAfterMs: 15_000 }) });
    const limiter = sluice.createLimiter({ policy, store: new sluice.MemoryStore() });
    const ends: Array<() => void> = [];
    const works = [1, 2].map(() => sluice.run(limiter, "ann", () => new Promise<void>((resolve) => void ends.push(resolve))));
    for (let i = 0; i < 20; i++) {
      vi.setSystemTime(Date.now() + HOUR); // suspended
      expect(limiter.consume("ann").allowed).toBe(false);
      await vi.advanceTimersByTimeAsync(4_000);
    }
    for (const end of ends) end();
    await Promise.all(works);
    expect(limiter.peek("ann").remaining).toBe(2);
  });

  test("L6, L20 · a quota goes by the date alone: its store has one clock, that of dates", () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1, 12));
    const quota = { name: "day", capacity: 1, renews: daily() };
    expect(() => createLimiter({ policy: quota, store: new MemoryStore({ clock }) })).toThrow(
      'Expected a clock of dates for the quota of policy "day", got two clocks. Pass `clock: clock.wallNow` to the store',
    );
    const limiter = createLimiter({ policy: quota, store: new MemoryStore({ clock: clock.wallNow }) });
    expect([limiter.consume("ann").allowed, limiter.consume("ann").allowed]).toEqual([true, false]);
    clock.suspend(12 * HOUR - 1);
    expect(limiter.consume("ann").allowed).toBe(false);
    clock.suspend(1);
    expect(limiter.consume("ann").allowed).toBe(true);
  });
});

test("L6 · the default clock of a process that is suspended", () => {
  vi.useFakeTimers();
  const limiter = createLimiter({ policy: { capacity: 2, refill: perSecond(1) } });
  for (let i = 0; i < 2; i++) limiter.consume("ann");
  expect(limiter.consume("ann")).toMatchObject({ allowed: false, retryAfterMs: 1_000 });
  vi.setSystemTime(Date.now() + 1_999);
  expect([1, 2].map(() => limiter.consume("ann").allowed)).toEqual([true, false]);
});
