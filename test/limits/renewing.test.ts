// Renewals of work at one store, beat by beat: which are made, when, and what ends them. Time is simulated.
import { definePolicy, perSecond, whenDone, type Costs, type StoreCall } from "sluice";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { consumeRecords } from "../helpers/records.js";
import { keepRenewing, stopRenewing } from "../../src/limits/renewals.js";
import { expectWarnings } from "../setup/warnings.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "Date"] }));
// Until the last work is over and its timer has ended: the next test begins one of its own.
afterEach(async () => {
  if (vi.getTimerCount() > 0) await pass(70_000);
  vi.restoreAllMocks();
  vi.useRealTimers();
});
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** A renewal is due after 3,000 ms, and is looked for each 1,500 ms. The date of 0 is 9,007. */
const STALE_MS = 9_000; // a number that no other test has a timer for, because it would be shared
const policy = definePolicy({ name: "held", limits: [{ name: "rate", capacity: 99, refill: perSecond(1) }, { name: "parallel", capacity: 99, returns: whenDone({ staleAfterMs: STALE_MS, maxWorkMs: 60_000 }) }] });

/** A store that answers when told to. */
class SlowStore {
  readonly asked: Array<[key: string, tokens: Costs, from: number]> = [];
  readonly answers: Array<(isHeld: boolean) => void> = [];
  readonly verbs = ["renew"];
  ask({ parts: [{ key, cost }], move }: StoreCall): Promise<readonly boolean[]> {
    this.asked.push([key, cost, move?.from as number]);
    return new Promise((resolve) => this.answers.push((isHeld) => resolve([isHeld])));
  }
}

function begin(store: object, key = "ann", life?: object, guarded: object | null = null) {
  const { decision } = consumeRecords(new Map(), policy, [0, 1], 0);
  keepRenewing({ store, guarded, policy, key, decision, life } as never);
  return () => stopRenewing(decision);
}

/** Work of its own life, which may be unwanted. */
const lifeThat = (isWanted: boolean) => ({ isWanted: () => isWanted, lapsed: vi.fn() });

test("L21 · one renewal is under way at a time, and the settlement learns of it", async () => {
  const store = new SlowStore();
  const stop = begin(store);
  await pass(7_500);
  expect(store.asked).toEqual([["ann", [0, 1], 0]]);
  const origin = stop();
  store.answers[0]?.(true);
  expect(await origin).toEqual({ at: 0, heldAt: 3_000 });
  await pass(STALE_MS);
  expect([store.asked.length, vi.getTimerCount()]).toEqual([1, 0]);
});

test("L12 · a renewal is a call in the background of the guard of its store", async () => {
  const store = new SlowStore();
  const ask = vi.fn((...[call]: [StoreCall, object]) => store.ask(call));
  const stop = begin(store, "ann", undefined, { ask });
  await pass(3_000);
  expect([ask.mock.calls[0]?.[1], store.asked.length]).toEqual([{ inBackground: true, late: expect.any(Function) as unknown }, 1]);
  void stop();
});

test("L21 · after a late answer the next renewal is made at once, without work that was settled", async () => {
  const store = new SlowStore();
  const [stop, other] = [begin(store), begin(store)];
  await pass(6_100);
  void other();
  store.answers[0]?.(true);
  await pass(0);
  expect(store.asked).toEqual([["ann", [0, 2], 0], ["ann", [0, 1], 3_000]]);
  void stop();
  await pass(STALE_MS);
});

test("L21 · after a pause of the process a store in memory makes all renewals that are due", async () => {
  const asked: number[] = [];
  const stop = begin({ verbs: ["renew"], ask: ({ move }: StoreCall) => [asked.push(move?.from as number) > 0] });
  const now = performance.now.bind(performance);
  const spy = vi.spyOn(performance, "now").mockImplementation(() => now() + 5_000);
  await pass(1_500);
  expect(asked).toEqual([0, 3_000]);
  spy.mockRestore();
  void stop();
  await pass(STALE_MS);
});

test("L12 · work waits for its turn once, and settled work holds nobody up", async () => {
  const store = new SlowStore();
  const stops = Array.from({ length: 19 }, (_, i) => begin(store, `work ${i}`));
  await pass(4_500); // a second beat while three wait
  expect(store.asked.length).toBe(16);
  void stops[16]?.();
  store.answers[0]?.(true);
  await pass(0);
  expect(store.asked.slice(16).map(([key]) => key)).toEqual(["work 17"]);
  for (let i = 1; i < 20; i++) {
    store.answers[i]?.(true);
    await pass(0);
  }
  expect(store.asked.slice(16).map(([key]) => key)).toEqual(["work 17", "work 18"]);
  for (const stop of stops) void stop();
  await pass(STALE_MS);
});

test("L21 · the warning about lost tokens tells what to do", async () => {
  expectWarnings(
    "SLUICE_RENEWALS_MISSED: Expected the store to renew the tokens in flight of work before their date, got 1 works whose tokens came " +
    "back too early, so that others may take their places. Raise `staleAfterMs` of `whenDone`, or make the store faster",
  );
  begin({ verbs: ["renew"], ask: () => Promise.reject(new Error("gone")) });
  await pass(12_000);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ["of a store that renews nothing", {}, true],
  ["that nobody wants", { verbs: ["renew"] }, false],
])("L21 · tokens of work %s come back at their date, and it hears of it", async (_, given, isWanted) => {
  const store = { ...given, ask: vi.fn(() => [true]) };
  const life = lifeThat(isWanted);
  begin(store, "ann", life);
  await pass(9_000);
  expect(life.lapsed).not.toHaveBeenCalled();
  await pass(1_500);
  expect([life.lapsed.mock.calls.length, store.ask.mock.calls, vi.getTimerCount()]).toEqual([1, [], 0]);
});
