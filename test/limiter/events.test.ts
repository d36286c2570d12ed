import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";
import { combine, createLimiter, createObserver, definePolicy, MemoryStore, perSecond, type LimiterEvent } from "sluice";
import { rateLimit } from "sluice/web";
import { afterEach, describe, expect, test, vi } from "vitest";
import { freshSluice } from "../helpers/warned.js";
import { outage, UnsteadyStore } from "../helpers/unsteady-store.js";
import { callsOf } from "../../src/testing/store-calls.js";

const policy = definePolicy({ name: "api", capacity: 5, refill: perSecond(1) });
const clock = () => 0;

afterEach(() => void vi.restoreAllMocks());

describe("events", () => {
  test("tell of every decision what became of it, and never of whom", async () => {
    const events: LimiterEvent[] = [];
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock }), observe: createObserver((event) => void events.push(event)) });
    for (const cost of [3, 3, 6]) limiter.consume("ann@example.org", cost);
    limiter.peek("ann@example.org");
    const always = { type: "decision", policy: "api", degraded: false, limiter, remaining: 2, capacity: 5 };
    expect(events).toStrictEqual([
      { ...always, outcome: "allowed", reason: null, cost: 3 },
      { ...always, outcome: "limited", reason: "limited", cost: 3 },
      { ...always, outcome: "cost_above_capacity", reason: "cost_above_capacity", cost: 6 },
    ]);
    for (const told of events.map((event) => ({ ...event, limiter: null }))) expect(JSON.stringify(told)).not.toContain("ann");
  });

  test("come with the key as an argument of its own: null for a caller that is not identified, and for an outage", async () => {
    const keys: [type: string, key: unknown][] = [];
    const observe = createObserver(({ type }, key) => void keys.push([type, key]));
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock }), observe });
    limiter.consume("ann");
    limiter.consume(["user", 42]);
    const limited = rateLimit({ limiter, key: () => null, onDecision: (_decision, _request, key) => void keys.push(["onDecision", key]) });
    await limited(() => new Response("hello"))(new Request("http://localhost/"));
    const both = combine({ user: limiter, tenant: createLimiter({ policy: { ...policy, name: "tenant" } }) });
    const asked = { limiter: both, key: () => ({ user: "ann", tenant: null }), onDecision: (_decision: unknown, _request: unknown, key: unknown) => void keys.push(["onDecision", key]) };
    await rateLimit(asked)(() => new Response("hello"))(new Request("http://localhost/"));
    expect(keys.filter(([type]) => type === "decision").slice(0, 3)).toEqual([["decision", "ann"], ["decision", ["user", 42]], ["decision", null]]);
    expect(keys.filter(([type]) => type === "onDecision")).toEqual([["onDecision", null], ["onDecision", { user: "ann", tenant: null }]]);
    observe.storeChanged(limiter.store, "unavailable", outage);
    expect(keys).toContainEqual(["store", null]);
  });

  test("of an asynchronous store come with the time that it took", async () => {
    vi.useFakeTimers({ toFake: ["performance", "Date", "setTimeout", "setImmediate"] });
    try {
      const events: LimiterEvent[] = [];
      const store = new UnsteadyStore(clock);
      const limiter = createLimiter({ policy, store, observe: createObserver((event) => void events.push(event)) });
      store.health = "held";
      const asked = limiter.consume("ann");
      await vi.advanceTimersByTimeAsync(40);
      store.health = "up";
      store.release();
      await asked;
      store.health = "hangs";
      await Promise.all([limiter.consume("ann"), vi.advanceTimersByTimeAsync(101)]);
      expect(events).toMatchObject([
        { outcome: "allowed", degraded: false, durationMs: 40 },
        // The turn of the loop that follows the deadline takes a millisecond of these timers' time.
        { outcome: "allowed", degraded: true, durationMs: 101 },
      ]);
      // What the store does before it returns its promise is time that the decision took, too.
      store.health = "up";
      const { consume } = store;
      store.consume = (...asked) => (vi.advanceTimersByTime(20), consume.apply(store, asked));
      await limiter.consume("ann");
      expect(events[2]).toMatchObject({ degraded: false, durationMs: 20 });
    } finally {
      vi.useRealTimers();
    }
  });

  test("of a remembered denial tell that it took no time, for the store was not asked", async () => {
    const events: LimiterEvent[] = [];
    const store = Object.assign(new UnsteadyStore(clock), { recall: () => callsOf(new MemoryStore({ clock })).consume(policy, "x", 6) });
    await createLimiter({ policy, store, observe: createObserver((event) => void events.push(event)) }).consume("ann");
    expect([store.calls, events]).toMatchObject([0, [{ outcome: "cost_above_capacity", durationMs: 0 }]]);
  });

  test("tell once that the store is unavailable and once that it is back, however many requests see it", async () => {
    const events: LimiterEvent[] = [];
    const store = new UnsteadyStore(clock, { breaker: false });
    const limiter = createLimiter({ policy, store, observe: createObserver((event) => void (event.type === "store" && events.push(event))) });
    for (const health of ["down", "up", "down"] as const) {
      store.health = health;
      for (let i = 0; i < 50; i++) await limiter.consume(`caller ${i}`);
    }
    const always = { type: "store", store, error: outage };
    expect(events).toStrictEqual([{ ...always, state: "unavailable" }, { ...always, state: "available" }, { ...always, state: "unavailable" }]);
  });

  test("go to Node's diagnostics channels as well", async () => {
    const events: unknown[] = [];
    const listen = (event: unknown): void => void events.push(event);
    const store = new UnsteadyStore(clock, { breaker: { failures: 1 } });
    const limiter = createLimiter({ policy, store, observe: createObserver() });
    for (const name of ["sluice:decision", "sluice:store"]) subscribe(name, listen);
    try {
      await limiter.consume("ann");
      store.health = "down";
      for (const key of ["ann", "bob"]) await limiter.consume(key);
    } finally {
      for (const name of ["sluice:decision", "sluice:store"]) unsubscribe(name, listen);
    }
    await limiter.consume("ann");
    expect(events).toMatchObject([
      { type: "decision", outcome: "allowed", limiter },
      { type: "decision", outcome: "allowed", degraded: true, limiter },
      { type: "store", store, state: "unavailable", error: outage },
      { type: "decision", outcome: "allowed", degraded: true, limiter },
    ]);
  });

  test("are not made when nobody listens", () => {
    const published = vi.spyOn(channel("sluice:decision"), "publish");
    const durations = vi.spyOn(performance, "now");
    for (const observe of [undefined, createObserver()]) {
      const limiter = createLimiter({ policy, store: new MemoryStore({ clock }), observe });
      for (let i = 0; i < 10; i++) limiter.consume("ann");
    }
    expect([published.mock.calls, durations.mock.calls]).toEqual([[], []]);
  });

  test("a listener that throws changes no decision, and is told of once", async () => {
    const { createLimiter, createObserver, MemoryStore, given } = await freshSluice();
    const broken = new Error("my exporter is down");
    const limiter = createLimiter({
      policy,
      store: new MemoryStore({ clock }),
      observe: createObserver(() => {
        throw broken;
      }),
    });
    expect([1, 5, 1].map((cost) => limiter.consume("ann", cost).allowed)).toEqual([true, false, true]);
    expect(given).toHaveLength(1);
    expect(given[0]).toMatchObject({ code: "SLUICE_FUNCTION_FAILED", detail: expect.stringContaining(String(broken.stack)) as string });
  });

  test("a listener may return anything, also what only looks like a promise", async () => {
    const { createLimiter, given } = await freshSluice();
    for (const returned of [null, 5, "x", { then: 5 }]) { // oxlint-disable-line no-thenable
      const observe = (): unknown => returned;
      createLimiter({ policy: { name: "api", capacity: 5, refill: perSecond(1) }, store: new MemoryStore({ clock }), observe: createObserver(observe as () => void) }).consume("ann");
    }
    expect(given).toEqual([]);
  });

  test("a listener that rejects is reported in the same way, and ends no process", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    try {
      const { createLimiter, given } = await freshSluice();
      const limiter = createLimiter({ policy: { name: "api", capacity: 5, refill: perSecond(1) }, store: new MemoryStore({ clock }), observe: createObserver(async () => Promise.reject(new Error("my exporter failed"))) });
      expect([1, 5, 1].map((cost) => limiter.consume("ann", cost).allowed)).toEqual([true, false, true]);
      await new Promise(setImmediate);
      expect(given).toMatchObject([{ code: "SLUICE_FUNCTION_FAILED", detail: expect.stringContaining("my exporter failed") as string }]);
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off("unhandledRejection", unhandled);
    }
  });

  test("need no platform: where there is no `process`, the hook still hears", () => {
    const events: LimiterEvent[] = [];
    vi.stubGlobal("process", undefined);
    try {
      createLimiter({ policy, store: new MemoryStore({ clock }), observe: createObserver((event) => void events.push(event)) }).consume("ann");
    } finally {
      vi.unstubAllGlobals();
    }
    expect(events).toHaveLength(1);
  });
});
