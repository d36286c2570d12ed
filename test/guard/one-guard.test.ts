// One guard for each store: its limiters share one timeout, one circuit breaker, one local share and one event for each change.
import { createLimiter, createObserver, createWaiter, MemoryStore, perHour, perSecond, type LimiterEvent, type OnStoreError, type SyncStore } from "sluice";
import { DurableObjectStore } from "sluice/durable-object";
import { PostgresStore } from "sluice/postgres";
import { RedisStore } from "sluice/redis";
import { casStore, guard, sqlStore, type GuardOptions } from "sluice/store";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openGuard } from "../../src/port/guarded-store.js";
import { UnsteadyStore } from "../helpers/unsteady-store.js";
import { freshSluice } from "../helpers/warned.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";

const clock = () => 0;
const policyOf = (i: number) => ({ name: `policy-${i}`, capacity: 1_000, refill: perHour(1) });

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "performance", "Date"] }));
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe("ten limiters over one store", () => {
  test("L12 · make 5 slow calls in all when it never answers, and all of them know then", async () => {
    const store = new UnsteadyStore(clock);
    store.health = "hangs";
    const limiters = Array.from({ length: 10 }, (_, i) => createLimiter({ policy: policyOf(i), store, observe: createObserver(() => undefined) }));
    const start = performance.now();
    for (let round = 0; round < 3; round++) {
      for (const [i, limiter] of limiters.entries()) {
        const before = store.calls;
        const asked = limiter.consume(`caller ${round} ${i}`);
        if (store.calls > before) await pass(102);
        await asked;
      }
    }
    expect(store.calls).toBe(5);
    expect(performance.now() - start).toBeLessThan(600);
  });

  test("are told of an outage once for each observer, and of its end", async () => {
    const store = new UnsteadyStore(clock, { breaker: false });
    const seen: string[] = [];
    const listen = (name: string) => createObserver((event) => void (event.type === "store" && seen.push(`${name} ${event.state} ${event.store === store}`)));
    const shared = listen("shared");
    const observers = [shared, shared, listen("second"), shared, listen("third")];
    const limiters = observers.map((observe, i) => createLimiter({ policy: policyOf(i), store, observe }));
    for (const health of ["down", "up"] as const) {
      store.health = health;
      for (const limiter of limiters) for (let i = 0; i < 3; i++) await limiter.consume(`caller ${i}`);
    }
    expect(seen).toEqual(["unavailable", "available"].flatMap((state) => ["shared", "second", "third"].map((name) => `${name} ${state} true`)));
  });

  test("L13 · are watched by at most 1,000 observers, the first ones", async () => {
    const store = new UnsteadyStore(clock, { breaker: false });
    const told: number[] = [];
    const limiters = Array.from({ length: 1_001 }, (_, i) =>
      createLimiter({ policy: policyOf(i), store, observe: createObserver((event: LimiterEvent) => void (event.type === "store" && told.push(i))) }),
    );
    store.health = "down";
    for (let i = 0; i < 5; i++) await limiters.at(-1)?.consume(`caller ${i}`);
    expect(told).toEqual(Array.from({ length: 1_000 }, (_, i) => i));
  });

  test("keep their own `onStoreError`", async () => {
    const store = new UnsteadyStore(clock, { sharedBy: 10 });
    store.health = "down";
    const outcomes = [];
    for (const onStoreError of ["local", "allow", "unavailable"] as const) {
      const limiter = createLimiter({ policy: { ...policyOf(0), capacity: 10 }, store, onStoreError });
      outcomes.push([(await limiter.consume("ann")).allowed, (await limiter.consume("ann")).allowed]);
    }
    expect(outcomes).toEqual([[true, false], [true, true], [false, false]]);
  });
});

describe("SLUICE_STORE_UNAVAILABLE", () => {
  const fail = async (store: UnsteadyStore, create: typeof createLimiter, ...choices: readonly OnStoreError[]) => {
    const limiters = choices.map((onStoreError, i) => create({ policy: { name: `of-${i}`, capacity: 10, refill: perSecond(1) }, store, onStoreError }));
    await limiters[0]?.consume("ann");
    store.health = "down";
    for (let i = 0; i < 6; i++) await limiters[0]?.consume(`caller ${i}`);
  };

  test.each([
    [2, "this process grants 1/2 of each limit by itself"],
    [4, "this process grants 1/4 of each limit by itself"],
    [1, "this process grants each limit in full by itself"],
  ])("names the local share in force, with `sharedBy: %i`", async (sharedBy, meanwhile) => {
    const { createLimiter: create, given } = await freshSluice();
    await fail(new UnsteadyStore(clock, { sharedBy }), create, "local", "local");
    expect(given.map(({ message }) => message)).toEqual([
      `The store of policy "of-0" is unavailable: connection lost. Until it answers, ${meanwhile}. Pass \`observe\` to be told of each outage.`,
    ]);
  });

  test("says what each `onStoreError` of the limiters does, in one warning", async () => {
    const { createLimiter: create, given } = await freshSluice();
    await fail(new UnsteadyStore(clock), create, "unavailable", "local", "unavailable");
    expect(given.map(({ message }) => message)).toEqual([expect.stringContaining(
      'Until it answers, with `onStoreError` "unavailable" every request is refused, ' +
        'with `onStoreError` "local" this process grants 1/2 of each limit by itself. Set `sharedBy`',
    )]);
  });

  test("is given once for each store", async () => {
    const { createLimiter: create, codes } = await freshSluice();
    for (let i = 0; i < 2; i++) await fail(new UnsteadyStore(clock), create, "local");
    expect(codes()).toEqual(["SLUICE_STORE_UNAVAILABLE", "SLUICE_STORE_UNAVAILABLE"]);
  });

  test("can be silenced for all stores", async () => {
    const { createLimiter: create, silenceWarnings, codes } = await freshSluice();
    silenceWarnings("SLUICE_STORE_UNAVAILABLE");
    await fail(new UnsteadyStore(clock), create, "local");
    expect(codes()).toEqual([]);
  });

  test("is given beside an observer to which nobody listens", async () => {
    const sluice = await freshSluice();
    const store = new UnsteadyStore(clock, { breaker: false });
    const limiter = sluice.createLimiter({ policy: policyOf(0), store, observe: sluice.createObserver() });
    store.health = "down";
    for (let i = 0; i < 5; i++) await limiter.consume(`caller ${i}`);
    expect(sluice.codes()).toEqual(["SLUICE_STORE_UNAVAILABLE"]);
  });

  const refused = (address: string) => Object.assign(new Error(`connect ECONNREFUSED ${address}`), { code: "ECONNREFUSED" });
  const circle = new Error("round and round");
  circle.cause = circle;
  test.each<[what: string, error: unknown, line: string]>([
    ["the cause of an error", new TypeError("fetch failed", { cause: refused("[::1]:80") }), "connect ECONNREFUSED [::1]:80"],
    ["the first of several errors", Object.assign(new AggregateError([refused("::1:5432"), refused("127.0.0.1:5432")]), { code: "ECONNREFUSED" }), "connect ECONNREFUSED ::1:5432"],
    ["an aggregate with a message", new AggregateError([refused("::1:6379")], "All attempts failed."), "connect ECONNREFUSED ::1:6379"],
    ["the last node of a cluster", Object.assign(new Error("Failed to refresh slots cache."), { lastNodeError: refused("127.0.0.1:7000") }), "connect ECONNREFUSED 127.0.0.1:7000"],
    ["a circle of causes", circle, "round and round"],
  ])("names %s", async (_, error, line) => {
    const { createLimiter: create, given } = await freshSluice();
    const store = new UnsteadyStore(clock);
    store.error = error;
    await fail(store, create, "local");
    expect(given[0]?.message).toContain(`is unavailable: ${line}. Until it answers`);
  });
});

describe("a synchronous store", () => {
  const timeout = "Expected `timeoutMs` to be left out for a synchronous store, got 50. Nothing can interrupt its calls: set a timeout of the database, such as `busy_timeout` of SQLite";

  test("L9 · takes no `timeoutMs`", () => {
    const store: SyncStore = storeOf({ sync: true, clock, guard: guard({ timeoutMs: 50 }), consume: (...asked) => callsOf(new MemoryStore()).consume(...asked) });
    expect(() => createLimiter({ policy: policyOf(0), store })).toThrow(new TypeError(timeout));
    const database = { sync: true, transaction: () => undefined, read: () => null, write: () => undefined } as const;
    expect(() => sqlStore({ ...database, timeoutMs: 50 } as never)).toThrow(new TypeError(timeout));
    expect(() => sqlStore({ ...database, timeoutMs: undefined, breaker: false, sharedBy: 4 })).not.toThrow();
  });

  test("has the local share and the circuit breaker of its options", () => {
    const fail = (): never => {
      throw new Error("disk full");
    };
    const events: string[] = [];
    const observe = createObserver((event) => void (event.type === "store" && events.push(event.state)));
    const store = sqlStore({ sync: true, clock, transaction: fail, read: () => null, write: () => undefined, sharedBy: 5, breaker: { failures: 2 } });
    const limiter = createLimiter({ policy: { ...policyOf(0), capacity: 10 }, store, observe });
    expect(["ann", "ann", "ann"].map((key) => limiter.consume(key).allowed)).toEqual([true, true, false]);
    for (const key of ["bob", "carl"]) limiter.consume(key);
    expect(events).toEqual(["unavailable"]);
  });
});

describe("the options of the guard", () => {
  const stores: readonly [name: string, make: (options: GuardOptions) => unknown][] = [
    ["guard", (options) => guard(options)],
    ["RedisStore", (options) => new RedisStore({ evalsha: async () => null, eval: async () => null } as never, options)],
    ["PostgresStore", (options) => new PostgresStore({ query: async () => ({ rows: [] }) }, options)],
    ["casStore", (options) => casStore({ read: async () => null, write: async () => true }, options)],
    ["sqlStore", (options) => sqlStore({ transaction: async () => undefined, read: async () => null, write: async () => undefined, ...options })],
    ["DurableObjectStore", (options) => new DurableObjectStore({ idFromName: () => ({}), get: () => ({}) }, options)],
  ];
  const whole = "to be a positive integer, got";
  const wrong: readonly [options: object, error: typeof TypeError | typeof RangeError, message: string][] = [
    [{ timeoutMs: 0 }, RangeError, `Expected \`timeoutMs\` ${whole} 0`],
    [{ timeoutMs: 1.5 }, RangeError, `Expected \`timeoutMs\` ${whole} 1.5`],
    [{ timeoutMs: "100" }, TypeError, `Expected \`timeoutMs\` ${whole} "100"`],
    [{ timeoutMs: null }, TypeError, `Expected \`timeoutMs\` ${whole} null`],
    [{ sharedBy: 0 }, RangeError, `Expected \`sharedBy\` ${whole} 0`],
    [{ sharedBy: 0.5 }, RangeError, `Expected \`sharedBy\` ${whole} 0.5`],
    [{ sharedBy: 1_000_001 }, RangeError, "Expected `sharedBy` to be at most 1000000, got 1000001"],
    [{ sharedBy: "4" }, TypeError, `Expected \`sharedBy\` ${whole} "4"`],
    [{ breaker: true }, TypeError, "Expected `breaker` to be false, or an object with `failures` or `probeEveryMs`, got true"],
    [{ breaker: null }, TypeError, "Expected `breaker` to be false, or an object with `failures` or `probeEveryMs`, got null"],
    [{ breaker: { failures: 0 } }, RangeError, `Expected \`breaker.failures\` ${whole} 0`],
    [{ breaker: { probeEveryMs: Number.NaN } }, RangeError, `Expected \`breaker.probeEveryMs\` ${whole} NaN`],
    [{ breaker: { failure: 5 } }, TypeError, "Unknown option `failure`. Did you mean `failures`?"],
  ];

  test.each(stores)("L9 · are checked by %s", (_, make) => {
    for (const [options, Type, message] of wrong) expect(() => make(options)).toThrow(new Type(message));
    for (const options of [{}, { timeoutMs: undefined, breaker: undefined, sharedBy: undefined }, { timeoutMs: Infinity, breaker: false, sharedBy: 1_000_000 }] as const) {
      expect(() => make(options)).not.toThrow();
    }
  });

  test("an unknown one is refused", () => {
    expect(() => guard({ sharedBY: 4 } as never)).toThrow(new TypeError("Unknown option `sharedBY`. Did you mean `sharedBy`?"));
  });

  test.each(stores.slice(1))("are those of the guard of %s", (_, make) => {
    const store = make({ timeoutMs: 7_000 }) as UnsteadyStore;
    const setup = { onStoreError: "local", policy: createLimiter({ policy: policyOf(0) }).policy, observer: null, makeLocal: () => new MemoryStore() } as const;
    expect(openGuard(store.guard)?.protect(store, setup).timeoutMs).toBe(7_000);
  });
});

test("a waiter's patience with its store is the store's `timeoutMs`", async () => {
  const store = new UnsteadyStore(clock, { timeoutMs: 300, breaker: false });
  store.health = "hangs";
  const waiter = createWaiter(createLimiter({ policy: policyOf(0), store, onStoreError: "allow" }), { maxWaitMs: 0 });
  const waited = waiter.consume("ann");
  await pass(302);
  expect(await waited).toMatchObject({ degraded: true });
});
