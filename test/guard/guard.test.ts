import { createLimiter, createObserver, perHour, StoreUnavailableError, type GuardOptions, type LimiterEvent, type SyncStore } from "sluice";
import { guard } from "sluice/store";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { outage, UnsteadyStore } from "../helpers/unsteady-store.js";
import { expectWarnings } from "../setup/warnings.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";

const policy = { name: "api", capacity: 1_000, refill: perHour(1) };
const clock = () => 0;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

/** A limiter over an unsteady store, and what it says of the store. */
function open(options: GuardOptions = {}) {
  const store = new UnsteadyStore(clock, options);
  const states: string[] = [];
  const observe = (event: LimiterEvent): void => void (event.type === "store" && states.push(event.state));
  const limiter = createLimiter({ policy, store, onStoreError: "unavailable", observe: createObserver(observe) });
  let callers = 0;
  /** Asks for one caller, or for another one each time. */
  const ask = async (key = `caller ${callers++}`) => codeOf((await limiter.consume(key)).error);
  return { store, limiter, states, ask };
}

const codeOf = (error: unknown): string | undefined => (error instanceof StoreUnavailableError ? error.code : (error as Error | undefined)?.message);

/** Lets time pass, and with it a turn of the loop. */
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe("L12 · nothing hangs: the deadline", () => {
  test("L12 · a store that never answers is waited for as long as was asked for, by all together with one timer", async () => {
    const { store, limiter } = open({ timeoutMs: 250 });
    store.health = "hangs";
    const answers: number[] = [];
    for (let i = 0; i < 1_000; i++) void limiter.consume("ann").then(() => answers.push(performance.now()));
    const start = performance.now();
    expect(vi.getTimerCount()).toBe(1);
    await pass(249);
    expect(answers).toEqual([]);
    await pass(3);
    expect(answers).toHaveLength(1_000);
    expect(Math.max(...answers) - start).toBeLessThanOrEqual(252);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("L12 · by default for a tenth of a second, and the decision says why", async () => {
    const { store, limiter } = open();
    store.health = "hangs";
    const asked = limiter.consume("ann");
    await pass(102);
    const { reason, error } = await asked;
    expect([reason, codeOf(error), String(error)]).toEqual([
      "store_unavailable",
      "ERR_STORE_TIMEOUT",
      "StoreUnavailableError: The store did not answer within 100 ms",
    ]);
  });

  test("L12 · each call has the whole time, whenever it began", async () => {
    const { store, limiter } = open({ breaker: false });
    store.health = "hangs";
    const waits: number[] = [];
    for (let i = 0; i < 20; i++) {
      const start = performance.now();
      void limiter.consume("ann").then(() => waits.push(performance.now() - start));
      await pass(37);
    }
    await pass(200);
    expect(waits).toHaveLength(20);
    for (const wait of waits) expect(wait).toBeGreaterThanOrEqual(100);
    for (const wait of waits) expect(wait).toBeLessThanOrEqual(103);
  });

  test("L12 · no timer keeps the process alive, and none is left when no caller waits", async () => {
    const { limiter } = open();
    const timers = vi.spyOn(globalThis, "setTimeout");
    await limiter.consume("ann");
    expect(timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([false]);
    await pass(100);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("L12 · an answer that comes too late is dropped, whatever it is, and nothing is asked twice", async () => {
    for (const end of ["up", "down"] as const) {
      const { store, limiter, states } = open();
      store.health = "held";
      const asked = limiter.consume("ann", 400);
      await pass(102);
      expect(codeOf((await asked).error)).toBe("ERR_STORE_TIMEOUT");
      store.health = end;
      store.release();
      await pass(1);
      expect([store.calls, states]).toEqual([1, []]);
      store.health = "up";
      // It took the tokens all the same.
      expect((await limiter.peek("ann")).remaining).toBe(600);
    }
  });

  test("L12 · can be turned off", async () => {
    const { store, limiter } = open({ timeoutMs: Infinity });
    store.health = "held";
    const asked = limiter.consume("ann");
    expect(vi.getTimerCount()).toBe(0);
    await pass(1_000_000);
    store.health = "up";
    store.release();
    expect((await asked).degraded).toBe(false);
  });

  test("L12 · holds for peek, credit and reset too, which fail aloud", async () => {
    const { store, limiter } = open();
    store.health = "hangs";
    const asked = Promise.allSettled([limiter.peek("ann"), limiter.credit("ann", 1), limiter.reset("ann")]);
    await pass(102);
    expect((await asked).map((result) => result.status === "rejected" && codeOf(result.reason))).toEqual(Array(3).fill("ERR_STORE_TIMEOUT"));
  });
});

describe("the breaker", () => {
  test("stops asking after five failures in a row, and answers at once", async () => {
    const { store, ask } = open();
    store.health = "down";
    const codes: unknown[] = [];
    for (let i = 0; i < 8; i++) codes.push(await ask());
    expect(codes).toEqual([...Array<string>(5).fill(outage.message), ...Array<string>(3).fill("ERR_STORE_OPEN")]);
    expect(store.calls).toBe(5);
  });

  test("says what the store failed with", async () => {
    const { store, limiter, ask } = open({ breaker: { failures: 1 } });
    store.health = "down";
    await ask("ann");
    const { error } = await limiter.consume("ann");
    expect((error as Error).cause).toBe(outage);
  });

  test("a success in between starts the count again", async () => {
    const { store, ask, states } = open();
    for (let i = 0; i < 20; i++) {
      store.health = i % 5 === 4 ? "up" : "down";
      await ask();
    }
    expect([store.calls, states]).toEqual([20, []]);
  });

  test("lets one request a second ask whether the store is back, however many there are", async () => {
    const { store, limiter, ask, states } = open();
    store.health = "hangs";
    await Promise.all([...Array.from({ length: 5 }, () => ask()), pass(102)]);
    const before = store.calls;
    for (let second = 1; second <= 3; second++) {
      await pass(1_000);
      for (let i = 0; i < 500; i++) void limiter.consume("ann");
      expect(store.calls - before).toBe(second);
    }
    expect(states).toEqual(["unavailable"]);
  });

  test("the first answer in time ends it, and all ask again", async () => {
    const { store, ask, states } = open();
    store.health = "down";
    for (let i = 0; i < 5; i++) await ask();
    store.health = "up";
    expect(await ask()).toBe("ERR_STORE_OPEN");
    await pass(1_000);
    expect([await ask(), await ask(), await ask()]).toEqual([undefined, undefined, undefined]);
    expect([store.calls, states]).toEqual([8, ["unavailable", "available"]]);
  });

  test("an answer after the deadline does not end it", async () => {
    const { store, ask } = open({ breaker: { failures: 1 } });
    store.health = "held";
    await Promise.all([ask("ann"), pass(102)]);
    store.health = "up";
    store.release();
    await pass(1);
    expect([await ask("ann"), store.calls]).toEqual(["ERR_STORE_OPEN", 1]);
  });

  test.each(["ERR_STORE_FOREIGN_VALUE", "ERR_STORE_CONTENTION"])("a failure of one record, %s, is an answer of the store", async (code) => {
    const { store, ask, states } = open({ breaker: { failures: 3 } });
    store.health = "down";
    await ask();
    await ask();
    store.error = Object.assign(new Error("about one key"), { code });
    for (let i = 0; i < 10; i++) await ask();
    expect([store.calls, states]).toEqual([12, []]);
    store.error = outage;
    await ask();
    await ask();
    expect(states).toEqual([]);
    await ask();
    expect(states).toEqual(["unavailable"]);
  });

  test("charges that a cluster cannot take together are no failure, and no answer either", async () => {
    const { store, ask, states } = open({ breaker: { failures: 3 } });
    store.health = "down";
    const apart = Object.assign(new Error("on several nodes"), { code: "ERR_STORE_APART" });
    store.error = apart;
    for (let i = 0; i < 10; i++) await ask();
    expect([store.calls, states]).toEqual([10, []]);
    for (const error of [outage, outage, apart, apart, outage]) {
      store.error = error;
      await ask();
    }
    expect([store.calls, states]).toEqual([15, ["unavailable"]]);
    store.error = apart;
    await pass(1_000);
    expect([await ask(), await ask(), states]).toEqual([apart.message, "ERR_STORE_OPEN", ["unavailable"]]); // a probe that says nothing
  });

  test("takes other numbers", async () => {
    const { store, ask } = open({ breaker: { failures: 2, probeEveryMs: 5_000 } });
    store.health = "down";
    for (let i = 0; i < 9; i++) {
      await ask();
      await pass(1_000);
    }
    expect(store.calls).toBe(3);
  });

  test("can be turned off: every request asks, and changes are told all the same", async () => {
    const { store, ask, states } = open({ breaker: false });
    store.health = "down";
    for (let i = 0; i < 20; i++) expect(await ask()).toBe(outage.message);
    store.health = "up";
    await ask();
    expect([store.calls, states]).toEqual([21, ["unavailable", "available"]]);
  });

  test("a refund that found it open may be tried again, any other failed one may not", async () => {
    expectWarnings("SLUICE_SETTLEMENT_FAILED");
    const { store, limiter, ask } = open();
    const [first, second] = [await limiter.consume("ann", 10), await limiter.consume("ann", 20)];
    store.health = "down";
    await expect(limiter.refund("ann", second)).rejects.toBe(outage);
    for (let i = 0; i < 4; i++) await ask();
    await expect(limiter.refund("ann", first)).rejects.toMatchObject({ code: "ERR_STORE_OPEN" });
    await pass(1_000);
    store.health = "up";
    await limiter.refund("ann", first);
    await limiter.refund("ann", second);
    expect((await limiter.peek("ann")).remaining).toBe(980);
  });

  test("a store in this process is always asked: its failures cost nothing", () => {
    let fails = true;
    let calls = 0;
    const states: string[] = [];
    const inner = new UnsteadyStore(clock).inner;
    const store: SyncStore = storeOf({
      sync: true, guard: guard(),
      clock,
      consume(...asked) {
        calls += 1;
        if (fails) throw outage;
        return callsOf(inner).consume(...asked);
      },
    });
    const limiter = createLimiter({ policy, store, observe: createObserver((event) => void (event.type === "store" && states.push(event.state))) });
    for (let i = 0; i < 12; i++) limiter.consume(`caller ${i}`);
    fails = false;
    limiter.consume("ann");
    expect([calls, states]).toEqual([13, ["unavailable", "available"]]);
  });
});
