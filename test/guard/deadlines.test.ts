// A loop that stands still, in the test's own time: how late each timer fires is exact. `stalled-loop.test.ts` has a real one.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createLimiter, perHour } from "sluice";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createDeadlines, type Deadline } from "../../src/guard/deadlines.js";
import { UnsteadyStore, type Health } from "../helpers/unsteady-store.js";
import { expectWarnings } from "../setup/warnings.js";

// A timer for all calls, and one for each where requests share none (law L15).
describe.each(["Node", "Cloudflare Workers"])("L12 · a loop that stalled is not a dead store, on %s", (name) => {
  let stalledMs = 0;

  beforeEach(() => {
    if (name !== "Node") vi.stubGlobal("WebSocketPair", class WebSocketPair {});
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "performance", "Date"] });
    const turning = performance.now.bind(performance);
    stalledMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => turning() + stalledMs);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  /** Lets time pass, and with it turns of the loop. */
  const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
  /** Lets time pass without a turn: what timers there are will fire so much later. */
  const stall = (ms: number): void => void (stalledMs += ms);

  function open(health: Health) {
    const store = new UnsteadyStore(() => 0, { breaker: false });
    store.health = health;
    const limiter = createLimiter({ policy: { capacity: 1_000, refill: perHour(1) }, store, onStoreError: "unavailable" });
    const ended: string[] = [];
    const ask = (name: string): void => void limiter.consume("ann").then(({ reason }) => ended.push(`${name} ${reason}`));
    return { store, limiter, ask, ended };
  }

  test("L12 · the time that a stall took from a call is given once more, for the question may not have been sent", async () => {
    const { store, ask, ended } = open("held");
    ask("a");
    stall(50);
    await pass(101);
    await pass(49);
    expect(ended).toEqual([]);
    store.release();
    await pass(0);
    expect(ended).toEqual(["a null"]);
  });

  test.each([[5, 5], [50, 50], [5_000, 100]])("L12 · and no more than that: late by %d ms, %d ms more", async (late, more) => {
    const { ask, ended } = open("hangs");
    ask("a");
    stall(late);
    await pass(101);
    await pass(more - 1);
    expect(ended).toEqual([]);
    await pass(3);
    expect(ended).toEqual(["a store_unavailable"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("L12 · a loop that turned gives nothing more", async () => {
    const { ask, ended } = open("hangs");
    ask("a");
    stall(2);
    await pass(101);
    expect(ended).toEqual(["a store_unavailable"]);
  });

  test("L12 · what was asked in a second stall, while the first was made good, has its time as well", async () => {
    const { store, ask, ended } = open("hangs");
    ask("a");
    stall(50);
    await pass(101);
    store.health = "held";
    ask("b");
    stall(300);
    await pass(52);
    expect(ended).toEqual(["a store_unavailable"]);
    await pass(90);
    store.release();
    await pass(0);
    expect(ended).toEqual(["a store_unavailable", "b null"]);
  });

  test("L12 · after a stall that nobody waited through, the next one counts as the first", async () => {
    const { store, ask, ended } = open("held");
    for (const name of ["a", "b"]) {
      ask(name);
      stall(50);
      await pass(101);
      store.release();
      await pass(60);
    }
    expect(ended).toEqual(["a null", "b null"]);
  });

  test("L12 · a loop that stalls all the time still ends every call", async () => {
    expectWarnings("SLUICE_STORE_UNAVAILABLE");
    const { limiter } = open("hangs");
    const waits: number[] = [];
    for (let i = 0; i < 200; i++) {
      const start = performance.now();
      void limiter.consume("ann").then(() => waits.push(performance.now() - start));
      stall(7);
      await pass(13);
    }
    await pass(1_000);
    expect(waits).toHaveLength(200);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(100);
    expect(Math.max(...waits)).toBeLessThan(300);
  });

  test("L12 · no timer of it keeps the process alive", async () => {
    const timers = vi.spyOn(globalThis, "setTimeout");
    const { ask } = open("hangs");
    ask("a");
    stall(50);
    await pass(101);
    const kept = timers.mock.results.filter(({ value }) => (value as NodeJS.Timeout).hasRef());
    expect([timers.mock.results.length > 1, kept]).toEqual([true, []]);
  });
});

test("L12 · nothing outlives a request: one that is never answered keeps none of those after it", async () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const deadlines = createDeadlines(100_000);
  const begun = (): Deadline => {
    const entry: Deadline = { since: 0, before: null, after: null, over: false, expire: () => undefined };
    deadlines.begin(entry);
    return entry;
  };
  const never = begun();
  // In a function of its own, whose variables are gone with it.
  const gone = (() => {
    const others = Array.from({ length: 3 }, begun);
    for (const one of [never, ...others]) deadlines.end(one);
    return others.map((other) => new WeakRef(other));
  })();
  // A WeakRef keeps what it names until the turn is over.
  await new Promise(setImmediate);
  gc();
  expect(gone.map((ref) => ref.deref())).toEqual([undefined, undefined, undefined]);
  expect(never.over).toBe(true);
});
