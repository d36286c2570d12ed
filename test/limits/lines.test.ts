// The calls that the library makes by itself wait in lines: which goes first, how many are under way, what a failure does. Time is simulated.
import { definePolicy, perSecond, whenDone } from "sluice";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { consumeRecords } from "../helpers/records.js";

// A copy of their own: settlements of another file may still wait, and then no timer begins here.
vi.resetModules();
const { releaseLate, settleLater } = await import("../../src/limits/settlements.js");
const { startBeat, stopBeat, takeTurns } = await import("../../src/limits/turns.js");

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"] }));
/** Whether the settlements of a test are no longer refused. */
let isOver = false;
// Until no settlement waits and the timer has ended: the next test begins one of its own.
afterEach(async () => {
  vi.unstubAllGlobals();
  isOver = true;
  if (vi.getTimerCount() > 0) await pass(5_000);
  isOver = false;
  vi.useRealTimers();
});
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** Turns that end when told to, and the numbers of those that began. */
function turnsOf() {
  const began: unknown[] = [];
  const ends: Array<{ resolve: () => void; reject: () => void }> = [];
  const run = (name: unknown) => (): Promise<void> => {
    began.push(name);
    return new Promise((resolve, reject) => ends.push({ resolve, reject: () => reject(new Error("gone")) }));
  };
  const many = (count: number, until: number) => Array.from({ length: count }, (_, i) => ({ until, run: run(i) }));
  const end = async (from: number, to = from + 1): Promise<void> => {
    for (const { resolve } of ends.slice(from, to)) resolve();
    await pass(0);
  };
  return { began, ends, run, many, end };
}

describe("L12 · calls at one store", () => {
  test("go by the instant at which their tokens come back, also those that join later", async () => {
    const { began, run, many, end } = turnsOf();
    const store = {};
    takeTurns(store, many(16, 100_000));
    takeTurns(store, [300_000, 200_000, 150_000].map((until) => ({ until, run: run(until) })));
    takeTurns(store, [{ until: 250_000, run: run(250_000) }]);
    expect(began.length).toBe(16);
    await end(0, 20);
    expect(began.slice(16)).toEqual([150_000, 200_000, 250_000, 300_000]);
  });

  test("are made once, also when others join while they are under way", async () => {
    const { began, many, end } = turnsOf();
    const store = {};
    takeTurns(store, many(20, 100_000));
    takeTurns(store, many(1, 100_000));
    await end(0, 16);
    await end(16, 21);
    expect([began.length, new Set(began).size]).toEqual([21, 20]);
  });

  test("are as many at once as end the line in half of the time, by the mean time of a call", async () => {
    const { began, many, end } = turnsOf();
    takeTurns({}, many(200, 2_640));
    await pass(800);
    expect(began.length).toBe(16);
    // An eighth of 800 ms counts: 100 ms. 184 calls of 100 ms in half of 1,840 ms are 20 at once.
    await end(0);
    expect(began.length - 1).toBe(20);
  });

  test("go on after failures, which say nothing about the time of an answer", async () => {
    const { began, ends, many } = turnsOf();
    takeTurns({}, many(200, 2_640));
    await pass(800);
    ends[0]?.reject();
    await pass(0);
    expect(began.length - 1).toBe(16);
    for (const { reject } of ends) reject();
    await pass(0);
    expect(began.length).toBe(33);
  });

  test("wait for no turn where requests share no work", () => {
    vi.stubGlobal("EdgeRuntime", "edge-runtime");
    const { began, many } = turnsOf();
    takeTurns({}, many(40, 100_000));
    expect(began.length).toBe(40);
  });
});

test("L12 · a beat begins also where timers are numbers", () => {
  const [set, clear] = [vi.fn(() => 5), vi.fn()];
  vi.stubGlobal("setInterval", set);
  vi.stubGlobal("clearInterval", clear);
  const run = (): void => undefined;
  stopBeat(startBeat(run, 50));
  expect([set.mock.calls, clear.mock.calls]).toEqual([[[run, 50]], [[5]]]);
});

describe("L12 · settlements that wait for a store", () => {
  /** Settlements that are refused while `isRefused` says so, and the numbers of those that were tried. */
  function settle(count: number, isRefused: (i: number) => boolean) {
    const store = {};
    const tried: number[] = [];
    for (let i = 0; i < count; i++) {
      const again = (isInBackground: unknown): void => {
        expect(isInBackground).toBe(true);
        tried.push(i);
        if (!isOver && isRefused(i)) settleLater(again, store);
      };
      settleLater(again, store);
    }
    const finish = async (): Promise<void> => {
      isOver = true;
      await pass(5_000);
      expect(vi.getTimerCount()).toBe(0);
    };
    return { tried, finish };
  }
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

  test("are tried again in the next second after 16 that were refused in a row", async () => {
    const { tried, finish } = settle(40, () => true);
    await pass(1_000);
    expect(tried).toEqual(upTo(16));
    await pass(1_000);
    expect(tried).toHaveLength(32);
    await finish();
  });

  test("go on when one of 16 is refused", async () => {
    const { tried, finish } = settle(40, (i) => i === 3);
    await pass(1_000);
    expect(tried).toEqual(upTo(40));
    await finish();
  });

  test("are not kept where requests share no timers", () => {
    vi.stubGlobal("EdgeRuntime", "edge-runtime");
    settleLater(() => undefined, {});
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("L21 · a late give-back", () => {
  const policy = definePolicy({ name: "p", limits: [{ name: "rate", capacity: 9, refill: perSecond(1) }, { name: "held", capacity: 9, returns: whenDone({ staleAfterMs: 1_000 }) }] });
  const taken = consumeRecords(new Map(), policy, [3, 2], 7).decision;

  test("returns the tokens in flight of a decision, and none of a rate", async () => {
    const ask = vi.fn();
    releaseLate({ store: { verbs: ["adjust"], ask }, policy, key: "ann", decision: taken } as never);
    await pass(0);
    expect(ask.mock.calls).toEqual([[{ verb: "adjust", parts: [{ policy, key: "ann", cost: [0, -2] }], from: 7 }]]);
  });

  test("returns nothing of a refusal", async () => {
    const ask = vi.fn();
    releaseLate({ store: { verbs: ["adjust"], ask }, policy, key: "ann", decision: { ...taken, allowed: false } } as never);
    await pass(0);
    expect(ask).not.toHaveBeenCalled();
  });

  test("is as urgent as the date of its tokens", async () => {
    const { began, run, many, end } = turnsOf();
    const store = { verbs: ["adjust"], ask: () => run("give-back")() };
    const now = performance.now();
    takeTurns(store, many(16, now));
    releaseLate({ store, policy, key: "ann", decision: taken } as never);
    takeTurns(store, [now + 1_001, now + 999].map((until) => ({ until, run: run(until - now) })));
    await end(0, 16);
    expect(began.slice(16)).toEqual([999, "give-back", 1_001]);
    await end(16, 20);
  });
});
