// Calls that the library makes by itself take turns: how many works keep their tokens, and whom they keep waiting. Time is simulated.
import { createLimiter, createObserver, definePolicy, run, whenDone, type AsyncStore } from "sluice";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { callsAtOnce, moveAfter, renewalState, settlementsAtOnce } from "../../src/limits/held-work.js";
import { renewMany } from "./many-works.js";
import { PooledStore } from "./pooled-store.js";
import { expectWarnings } from "../setup/warnings.js";

// A copy of its own: settlements of another file may still wait, and then no timer begins here.
vi.resetModules();
const { settleLater } = await import("../../src/limits/settlements.js");

beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000, toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate", "clearImmediate", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe("renewals take turns", () => {
  test("L12 · 500 works over 4 ms for each call and 10 connections: none is lost, and no caller is decided without the store", () => {
    expectWarnings("SLUICE_SETTLEMENT_FAILED"); // 500 settlements at once take longer than the timeout
    return renewMany(4, 10, 500);
  });

  test("L12 · at most 16 calls are under way while that is enough", async () => {
    const store = new PooledStore(4, Infinity);
    const policy = definePolicy({ name: "held", limits: [{ name: "parallel", capacity: 1, returns: whenDone({ staleAfterMs: 9_017 }) }] });
    const limiter = createLimiter<AsyncStore>({ policy, store });
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const all = Array.from({ length: 400 }, (_, i) => run(limiter, `work ${i}`, () => ended));
    await pass(100);
    store.most = 0;
    await pass(8_000);
    expect(store.most).toBe(16);
    end();
    await pass(1_000);
    await Promise.all(all);
  });

  test("L12 · work that was settled leaves the line", async () => {
    const store = new PooledStore(50, Infinity);
    const policy = definePolicy({ name: "held", limits: [{ name: "parallel", capacity: 1, returns: whenDone({ staleAfterMs: 9_019 }) }] });
    const limiter = createLimiter<AsyncStore>({ policy, store });
    const renewed = vi.spyOn(store, "renew");
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const all = Array.from({ length: 100 }, (_, i) => run(limiter, `work ${i}`, () => ended));
    await pass(3_100);
    const { length } = renewed.mock.calls;
    end();
    await pass(20_000);
    await Promise.all(all);
    expect([length, renewed.mock.calls.length]).toEqual([16, 16]);
  });

  test("L12 · a renewal that fails opens no circuit, also with 40 in a row", async () => {
    expectWarnings("SLUICE_RENEWALS_MISSED: Expected the store to renew the tokens in flight of work before their date, got 40 works");
    const store = new PooledStore(1, Infinity);
    const events: string[] = [];
    const observe = createObserver((event) => void (event.type === "store" && events.push(event.state)));
    const policy = definePolicy({ name: "held", limits: [{ name: "parallel", capacity: 1, returns: whenDone({ staleAfterMs: 9_023 }) }] });
    const limiter = createLimiter<AsyncStore>({ policy, store, observe });
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const all = Array.from({ length: 40 }, (_, i) => run(limiter, `work ${i}`, () => ended));
    await pass(100);
    vi.spyOn(store, "renew").mockRejectedValue(new Error("no rights to renew"));
    await pass(20_000);
    const next = limiter.consume("somebody else");
    await pass(10);
    expect([events, (await next).degraded]).toEqual([[], false]);
    end();
    await pass(10_000);
    await Promise.all(all);
  });
});

test.each([
  ["16 while few wait", 10, 1, 10_000, 16],
  ["16 before the first answer", 20_000, 0, 10_000, 16],
  ["as many as end the line in half of the time", 20_000, 25, 10_000, 100],
  ["1,000 at most", 20_000, 25, 100, 1_000],
  ["1,000 at most, also when it is too late", 20_000, 25, -5, 1_000],
])("callsAtOnce: %s", (_, waiting, callMs, leftMs, calls) => {
  expect(callsAtOnce(waiting, callMs, leftMs)).toBe(calls);
});

test("L21 · what is to be done about work at each instant, and its next move", () => {
  const times = { staleAfterMs: 9_000, retryAfterMs: 1, maxWorkMs: 60_000 };
  const state = (renewals: number, ageMs: number) => renewalState(renewals, ageMs, times, 9_562);
  expect([state(0, 0), state(0, 2_999), state(0, 3_000), state(0, 9_562), state(0, 9_563)]).toEqual(["waits", "waits", "due", "due", "lost"]);
  expect([state(2, 8_999), state(2, 9_000), state(2, 15_562), state(2, 15_563)]).toEqual(["waits", "due", "due", "lost"]);
  expect([state(20, 60_000), state(20, 60_001)]).toEqual(["waits", "over"]);
  expect(moveAfter(100, 1, times)).toEqual({ from: 3_100, to: 6_100 });
});

describe("settlements that wait", () => {
  test("L12 · of one dead store do not hold up those of another, nor one bucket those of others", async () => {
    const [dead, alive] = [{}, {}];
    const made: string[] = [];
    let isOver = false;
    const refuse = (store: object) => {
      const again = (): unknown => isOver || settleLater(again, store);
      return again;
    };
    for (let i = 0; i < 40; i++) settleLater(refuse(dead), dead);
    settleLater(refuse(alive), alive);
    for (let i = 0; i < 10; i++) settleLater(() => made.push("alive"), alive);
    settleLater(() => made.push("behind it"), alive);
    await pass(1_000);
    await new Promise<void>((resolve) => queueMicrotask(resolve));
    await pass(0);
    expect(made).toEqual([...Array.from({ length: 10 }, () => "alive"), "behind it"]);
    isOver = true;
    await pass(5_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("go one by one until one was made, and then 16 at once", () => {
    expect([settlementsAtOnce(0, 0), settlementsAtOnce(1, 1), settlementsAtOnce(15, 15), settlementsAtOnce(1, 0)]).toEqual([1, 1, 1, 16]);
  });
});
