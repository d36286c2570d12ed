// L6 · Who waited as told is served after a suspension: each kind that refuses from what a process remembers. The machine
// is suspended by a wall clock that goes on alone. No test waits.
import { createLimiter, createWaiter, definePolicy, MemoryStore, perMinute, perSecond, type AsyncStore } from "sluice";
import { createFetch } from "sluice/client";
import { createTraffic } from "sluice/client/traffic";
import { leased } from "sluice/lease";
import { guard } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { UnsteadyStore } from "./helpers/unsteady-store.js";
import { expectWarnings } from "./setup/warnings.js";
import { DenyCache } from "../src/stores/shared/deny-cache.js";
import { Snapshot } from "../src/stores/shared/snapshot.js";
import { callsOf } from "../src/testing/store-calls.js";
import { storeOf } from "./helpers/store-of.js";

const MINUTE = 60_000;
const policy = definePolicy({ name: "api", capacity: 2, refill: perMinute(2) });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
/** The default clock stands still, and so do timers. */
const suspend = (ms: number): unknown => vi.setSystemTime(Date.now() + ms);

describe("the local share in an outage", () => {
  test.each([
    ["by the default clock", "server" as const, suspend],
    ["by two clocks", new ManualClock(1e6), undefined],
  ])("L6 · %s", async (_, clock, byDefault) => {
    const store = new UnsteadyStore(() => 0, { breaker: false, sharedBy: 1 }, clock);
    store.health = "down";
    const limiter = createLimiter({ policy, store });
    const ask = async (): Promise<boolean> => (await limiter.consume("ann")).allowed;
    expect([await ask(), await ask(), await ask()]).toEqual([true, true, false]);
    (byDefault ?? ((ms: number) => (clock as ManualClock).suspend(ms)))(30_000);
    expect([await ask(), await ask()]).toEqual([true, false]);
    expectWarnings("SLUICE_STORE_UNAVAILABLE");
  });
});

describe("the circuit breaker", () => {
  test("L6 · asks a store that has worked for an hour again, once", async () => {
    const store = new UnsteadyStore(() => 0, { breaker: { failures: 1, probeEveryMs: MINUTE } });
    const limiter = createLimiter({ policy: { capacity: 100, refill: perMinute(1) }, store, onStoreError: "unavailable" });
    const ask = async (): Promise<unknown> => ((await limiter.consume("ann")).error as { code?: string } | undefined)?.code;
    await limiter.consume("ann");
    store.health = "hangs";
    const calls = [ask(), ask()];
    await pass(200);
    expect([await Promise.all(calls), await ask(), store.calls]).toEqual([["ERR_STORE_TIMEOUT", "ERR_STORE_TIMEOUT"], "ERR_STORE_OPEN", 3]);

    suspend(60 * MINUTE);
    const probe = ask();
    expect([await ask(), store.calls]).toEqual(["ERR_STORE_OPEN", 4]);
    await pass(200);
    expect(await probe).toBe("ERR_STORE_TIMEOUT");

    suspend(MINUTE);
    store.health = "up";
    expect([await ask(), await ask()]).toEqual([undefined, undefined]);
    expectWarnings("SLUICE_STORE_UNAVAILABLE");
  });
});

describe("the deny cache", () => {
  const limit = policy.limits[0];
  const empty = new Snapshot(0, [{ spent: limit.size, at: 0, unitsPerMs: limit.unitsPerMs, unitsPerToken: limit.unitsPerToken, dates: undefined }], false);

  test.each([
    ["the wait is over", 10 * MINUTE, 30_000, 29_999],
    ["the denial is too old", 20_000, 20_000, 19_999],
  ])("L6 · asks the server again when %s", (_, forMs, allowedAfter, refusedUntil) => {
    const clock = new ManualClock();
    const cache = new DenyCache(forMs, clock);
    cache.remember(policy, "ann", empty, cache.startCall());
    clock.suspend(refusedUntil);
    expect(cache.recall(policy, "ann", 1)?.retryAfterMs).toBe(30_000 - refusedUntil);
    clock.suspend(allowedAfter - refusedUntil + 1_000);
    expect(cache.recall(policy, "ann", 1)).toBeNull();
  });

  test("L6 · by the default clock, and by a function alone", () => {
    const [cache, told] = [new DenyCache(10 * MINUTE), new DenyCache(10 * MINUTE, () => 0)];
    for (const each of [cache, told]) each.remember(policy, "ann", empty, each.startCall());
    suspend(MINUTE);
    expect([cache.recall(policy, "ann", 1), told.recall(policy, "ann", 1)?.retryAfterMs]).toEqual([null, 30_000]);
  });
});

describe("a dry lease", () => {
  const flood = definePolicy({ name: "flood", capacity: 40, refill: { tokens: 40, everyMs: 10 * MINUTE } });

  test.each([
    ["by two clocks", new ManualClock(1e9)],
    ["by the default clock", undefined],
  ])("L6 · asks the store, %s", async (_, clock) => {
    const shared = new MemoryStore({ clock: () => storeNow });
    let storeNow = 1e9;
    let calls = 0;
    const store: AsyncStore = storeOf({
      sync: false, clock: () => storeNow, guard: guard(),
      consume: async (...asked) => ((calls += 1), callsOf(shared).consume(...asked)),
    });
    const limiter = createLimiter({ policy: flood, store: leased(store, { leaseMs: 5 * MINUTE, time: clock }) });
    for (let i = 0; i < 60; i++) await limiter.consume("ann");
    const before = calls;
    expect([(await limiter.consume("ann")).allowed, calls]).toEqual([false, before]);

    storeNow += 60 * MINUTE;
    if (clock === undefined) suspend(60 * MINUTE);
    else clock.suspend(60 * MINUTE);
    expect([(await limiter.consume("ann")).allowed, calls]).toEqual([true, before + 1]);
  });
});

describe("a waiter", () => {
  const told = new ManualClock(1e9);
  const stores = [
    ["that answers at once", () => new MemoryStore(), suspend],
    ["that answers later", () => new UnsteadyStore(() => Date.now()), suspend],
    ["of two told clocks", () => new MemoryStore({ clock: told }), (ms: number) => told.suspend(ms)],
  ] as const;

  test.each(stores)("L6 · over a store %s: who waits is served within a second, and who joins is not refused", async (_, open, away) => {
    const limiter = createLimiter<MemoryStore | UnsteadyStore>({ policy, store: open() });
    const waiter = createWaiter(limiter, { maxWaitMs: 5 * MINUTE });
    await waiter.consume("ann", 2);
    const waiting = waiter.consume("ann");
    await pass(100);
    expect(await waiter.consume("ann", { maxWaitMs: 1_000 })).toMatchObject({ allowed: false });

    away(10 * MINUTE);
    const joining = waiter.consume("ann", { maxWaitMs: 1_000 });
    await pass(1_000);
    expect([(await waiting).allowed, (await joining).allowed, waiter.waiting]).toEqual([true, true, 0]);
  });

  test("L6 · an answer of before the suspension refuses no caller that joined after it", async () => {
    const store = new UnsteadyStore(() => Date.now(), { timeoutMs: 60 * MINUTE });
    const waiter = createWaiter(createLimiter({ policy, store }), { maxWaitMs: 5 * MINUTE });
    await waiter.consume("ann", 2);
    store.health = "held";
    const waiting = waiter.consume("ann");
    await pass(100);

    suspend(10 * MINUTE);
    const joining = waiter.consume("ann", { maxWaitMs: 1_000 });
    store.health = "up";
    store.release();
    await pass(1_000);
    expect([(await waiting).allowed, (await joining).allowed]).toEqual([true, true]);
  });

  test("L6 · who waits alone needs no other call", async () => {
    const waiter = createWaiter(createLimiter({ policy }));
    await waiter.consume("ann", 2);
    const waiting = waiter.consume("ann");
    await pass(100);
    suspend(MINUTE);
    await pass(1_000);
    expect(await waiting).toMatchObject({ allowed: true });
  });
});

describe("a client's memory of a refusal", () => {
  const server = (answers: number[]) => async () => {
    const status = answers.shift() ?? 200;
    return new Response(null, { status, headers: status === 429 ? { "Retry-After": "600" } : {} });
  };
  const statusOf = async (fetch: ReturnType<typeof createFetch>): Promise<number> => (await fetch("http://localhost/a")).status;

  test.each([
    ["by the platform's clocks", undefined, suspend],
    ["by a ManualClock", new ManualClock(), undefined],
  ])("L6 · a call that waited as told is sent, %s", async (_, time, byDefault) => {
    const fetch = createFetch({ fetch: server([429]), traffic: createTraffic(), giveUp: "return", maxWaitMs: 500, time });
    const away = byDefault ?? ((ms: number) => time?.suspend(ms));
    expect([await statusOf(fetch), await statusOf(fetch)]).toEqual([429, 429]);
    away(599_000);
    expect((await fetch("http://localhost/a")).headers.get("Retry-After")).toBe("1");
    away(2_000);
    expect(await statusOf(fetch)).toBe(200);
  });

  test("L6 · a `now` of one's own, without a `wallNow`, is the only clock", async () => {
    const fetch = createFetch({ fetch: server([429]), traffic: createTraffic(), giveUp: "return", time: { now: () => 0 } });
    await statusOf(fetch);
    suspend(60 * MINUTE);
    expect(await statusOf(fetch)).toBe(429);
  });

  test("L6 · calls in the queue of the pause are sent with the next call, and none of them is dropped", async () => {
    const fetch = createFetch({ fetch: server([429]), traffic: createTraffic(), giveUp: "return", maxAttempts: 1, maxWaitMs: 20 * MINUTE });
    await statusOf(fetch);
    const queued = [statusOf(fetch), statusOf(fetch)];
    await pass(1);
    suspend(60 * MINUTE);
    const next = statusOf(fetch);
    await pass(5_000);
    expect(await Promise.all([...queued, next])).toEqual([200, 200, 200]);
  });
});

test("L12 · a call under way when the machine is suspended keeps its timeout", async () => {
  const store = new UnsteadyStore(() => 0, { timeoutMs: 1_000 });
  const limiter = createLimiter({ policy: { capacity: 1, refill: perSecond(1) }, store });
  store.health = "held";
  const asked = limiter.consume("ann");
  suspend(60 * MINUTE);
  await pass(999);
  store.release();
  expect(await asked).toMatchObject({ allowed: true, degraded: false });
});
