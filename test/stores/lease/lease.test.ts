import { createLimiter, createObserver, definePolicy, MemoryStore, perSecond, whenDone, type Decision, type Policy } from "sluice";
import { leased } from "sluice/lease";
import type { AsyncStore, Charge } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LaterStore } from "../../helpers/stores.js";
import { ModelStore, settled } from "./model-store.js";
import { expectWarnings } from "../../setup/warnings.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import { storeOf } from "../../helpers/store-of.js";
import { takesTogether } from "../../../src/port/store.js";

const LEASE_MS = 100;
const policy = definePolicy({ name: "hot", capacity: 10_000, refill: perSecond(100) });

let clock: ManualClock;
let wall: ManualClock;
let shared: ModelStore;
const open = (): AsyncStore => leased(shared, { leaseMs: LEASE_MS, time: { now: clock.now, wallNow: wall.now } });
const advance = (ms: number): void => (clock.advance(ms), wall.advance(ms));

beforeEach(() => {
  clock = new ManualClock(1_000_000);
  wall = new ManualClock(5_000_000);
  shared = new ModelStore(clock);
});
afterEach(() => void vi.unstubAllGlobals());

/** Asks `count` times, one after the other. */
async function ask(store: AsyncStore, count: number, cost = 1, key = "a", by: Policy = policy): Promise<Decision[]> {
  const decisions: Decision[] = [];
  for (let i = 0; i < count; i++) decisions.push(await callsOf(store).consume(by, key, cost));
  return decisions;
}

const granted = (decisions: readonly Decision[]): number => decisions.filter(({ allowed }) => allowed).length;

// The fifth request of a new key takes 5 tokens ahead, a quarter more, and their root.
const HELD = 9;

/** A process that holds {@link HELD} tokens of `a`, taken now. */
async function holding(by: Policy = policy): Promise<AsyncStore> {
  const store = open();
  const before = shared.left(by, "a");
  await ask(store, 5, 1, "a", by);
  expect(before - shared.left(by, "a")).toBe(5 + HELD);
  shared.sent.length = 0;
  return store;
}

describe("which keys are leased", () => {
  test("a cold key is not: the store decides, and its decisions pass unchanged", async () => {
    const store = open();
    const direct = new ModelStore(clock);
    for (let i = 0; i < 30; i++) {
      expect(await callsOf(store).consume(policy, "a", 1)).toEqual(await direct.consume(policy, "a", 1));
      advance(LEASE_MS / 3);
    }
    expect(shared.sent).toEqual(direct.sent);
  });

  test("a hot key needs one call in leaseMs, after the first leases have learned how much it needs", async () => {
    const store = open();
    for (let round = 0; round < 20; round++) {
      shared.sent.length = 0;
      expect(granted(await ask(store, 100))).toBe(100);
      if (round > 0) expect(shared.sent).toHaveLength(1);
      advance(LEASE_MS);
    }
  });

  test("L21 · a hot key with a limit in flight is not: each call reaches the store, and a place that another process frees is there at once", async () => {
    const parallel = definePolicy({ name: "parallel", capacity: 500, returns: whenDone() });
    const place = new LaterStore(clock.now, {}, clock.now);
    const asked = vi.spyOn(place, "consume");
    const [one, two] = [0, 1].map(() => leased(place, { leaseMs: LEASE_MS, time: { now: clock.now, wallNow: wall.now } })) as [AsyncStore, AsyncStore];
    const taken = await ask(one, 500, 1, "a", parallel);
    expect([granted(taken), asked.mock.calls.length]).toEqual([500, 500]);
    expect(granted(await ask(two, 5, 1, "a", parallel))).toBe(0);
    await callsOf(one).adjust(parallel, "a", -1, taken[0]?.at);
    expect(granted(await ask(two, 5, 1, "a", parallel))).toBe(1);
    expect(asked.mock.calls.map(([, , cost]) => cost)).toEqual(Array(510).fill(1));
  });

  test("requests that come while the call is under way wait for it, and it serves them all", async () => {
    const store = open();
    await ask(store, 40);
    advance(LEASE_MS);
    shared.sent.length = 0;
    shared.held = [];
    const answers = Promise.all(Array.from({ length: 30 }, () => callsOf(store).consume(policy, "a", 1)));
    await settled();
    expect(shared.held).toHaveLength(1);
    await shared.answerNext();
    expect(granted(await answers)).toBe(30);
    expect(shared.sent).toHaveLength(1);
  });

  test("a key that is asked for less gets smaller leases, and a cold one gets none", async () => {
    const store = open();
    const takes = async (times: number, wait: number): Promise<number[]> => {
      shared.sent.length = 0;
      await ask(store, times);
      advance(wait);
      return shared.sent.map(({ tokens }) => tokens as number);
    };
    for (let round = 0; round < 10; round++) await takes(200, LEASE_MS);
    expect((await takes(200, LEASE_MS))[0]).toBeGreaterThan(150);
    for (let round = 0; round < 20; round++) await takes(20, LEASE_MS);
    const [less] = await takes(20, LEASE_MS);
    expect(less).toBeGreaterThan(10);
    expect(less).toBeLessThan(50);
    for (let round = 0; round < 10; round++) await takes(1, 3 * LEASE_MS);
    expect(await takes(1, 0)).toEqual([1]);
  });

  test("a lease takes at most half of what is left, so that other processes get their part", async () => {
    const small = definePolicy({ name: "small", capacity: 100, refill: perSecond(1) });
    const store = open();
    await ask(store, 5, 1, "a", small);
    expect(shared.left(small, "a")).toBeGreaterThanOrEqual(47);
    expect(granted(await ask(store, 200, 1, "a", small))).toBe(95); // and yet all can be had
  });

  test("policies of several limits, a cost of 0 and one above the capacity go to the store", async () => {
    const two = definePolicy({ name: "two", limits: [{ capacity: 100, refill: perSecond(1) }, { capacity: 200, refill: perSecond(2) }] });
    const store = open();
    await ask(store, 20, 1, "a", two);
    await ask(store, 20, 0);
    expect((await ask(store, 20, 10_001)).at(-1)).toMatchObject({ allowed: false, reason: "cost_above_capacity" });
    expect(shared.sent).toHaveLength(60);
  });

  test("L16 · a long key is not leased, and keys beyond 10,000 within leaseMs are not counted", async () => {
    const store = open();
    await ask(store, 20, 1, "k".repeat(130));
    expect(shared.sent).toHaveLength(20);
    for (let i = 0; i < 10_000; i++) await callsOf(store).consume(policy, `spray ${i}`, 1);
    shared.sent.length = 0;
    await ask(store, 20);
    expect(shared.sent).toHaveLength(20);
    advance(LEASE_MS);
    shared.sent.length = 0;
    await ask(store, 20);
    expect(shared.sent.length).toBeLessThan(10);
  });

  test("L13 · beyond 10,000 leases the one renewed longest ago is forgotten, and what it holds lapses", async () => {
    const store = open();
    await ask(store, 5);
    for (let i = 0; i < 5_000; i++) await ask(store, 4, 1, `spray ${i}`);
    advance(1); // in the next window, for 10,000 keys are counted in one
    shared.sent.length = 0;
    await ask(store, 1);
    expect(shared.sent).toEqual([]);
    advance(LEASE_MS);
    for (let i = 5_000; i < 10_001; i++) await ask(store, 4, 1, `spray ${i}`);
    shared.sent.length = 0;
    await ask(store, 1);
    expect(shared.sent).toEqual([{ what: "consume", key: "a", tokens: 1 }]);
  });

  test("L15 · where requests share no work, the store is not wrapped", () => {
    vi.stubGlobal("WebSocketPair", class WebSocketPair {});
    expect(open()).toBe(shared);
  });
});

describe("when the store fails", () => {
  test("the calls that wait for a lease fail with it, once, and nobody asks again", async () => {
    shared = new ModelStore(clock, { timeoutMs: Infinity });
    const store = await holding();
    const limiter = createLimiter({ policy, store, onStoreError: "unavailable" });
    advance(LEASE_MS);
    shared.held = [];
    const answers = Promise.all(Array.from({ length: 4 }, () => limiter.consume("a")));
    await settled();
    await shared.answerNext(new Error("gone"));
    for (const decision of await answers) expect(decision).toMatchObject({ allowed: false, reason: "store_unavailable", degraded: true });
    expect(shared.sent).toHaveLength(1);
  });

  test("an answer that is no decision fails as a bug of the store", async () => {
    const store = await holding();
    advance(LEASE_MS);
    shared.consume = () => Promise.resolve({} as Decision);
    await expect(callsOf(store).consume(policy, "a", 1)).rejects.toThrow('Expected `store.ask()` to answer "consume" with a decision');
    shared.consume = () => {
      throw new Error("not even a promise");
    };
    await expect(callsOf(store).consume(policy, "a", 1)).rejects.toThrow("not even a promise");
  });

  test("what a lease holds is granted while the store is down, also when the circuit breaker is open", async () => {
    expectWarnings("SLUICE_STORE_UNAVAILABLE");
    shared = new ModelStore(clock, { breaker: { failures: 1 } });
    const store = await holding();
    const limiter = createLimiter({ policy, store, onStoreError: "unavailable" });
    shared.consume = () => Promise.reject(new Error("gone"));
    expect((await limiter.consume("b")).reason).toBe("store_unavailable");
    const decisions = await Promise.all(Array.from({ length: HELD + 2 }, () => limiter.consume("a")));
    expect(granted(decisions)).toBe(HELD);
    expect(decisions.at(-1)).toMatchObject({ degraded: true });
  });
});

test.each([
  [() => leased(new MemoryStore() as never, { leaseMs: 100 }), TypeError, "Expected `store` to be a shared store, got an object. A store that answers at once needs no leases: use it as it is."],
  [() => leased({ sync: false, ask: () => {} } as never, { leaseMs: 100 }), TypeError, 'Expected `store.guard` to be made by `guard` of sluice/store, got undefined. Write `readonly guard = guard()` in the store.'],
  [() => leased(null as never, { leaseMs: 100 }), TypeError, "Expected `store` to be a shared store, got null"],
  [() => leased(shared, undefined as never), TypeError, "Expected `options` to be an object with `leaseMs`, got undefined"],
  [() => leased(shared, {} as never), TypeError, "Expected `leaseMs` to be a positive integer, got undefined"],
  [() => leased(shared, { leaseMs: 0 }), RangeError, "Expected `leaseMs` to be a positive integer, got 0"],
  [() => leased(shared, { leaseMs: 1.5 }), RangeError, "Expected `leaseMs` to be a positive integer, got 1.5"],
  [() => leased(shared, { leaseMs: 100, time: { wallNow: 5 as never } }), TypeError, "Expected `time.wallNow` to be a function, got 5"],
  [() => leased(shared, { leaseMs: 100, clock: clock.now } as never), TypeError, "Unknown option `clock`. Write `time: { now: clock }`"],
  [() => leased(shared, { leaseMs: 100, wallClock: clock.now } as never), TypeError, "Unknown option `wallClock`. Write `time: { wallNow: wallClock }`"],
  [() => leased(shared, { leaseMs: 100, leaseMS: 5 } as never), TypeError, "Unknown option `leaseMS`. Did you mean `leaseMs`?"],
] as const)("L9 · bad input %#", (make, kind, message) => {
  expect(make).toThrow(kind);
  expect(make).toThrow(message);
});

test("methods that the store lacks are missing here, too", async () => {
  const bare = leased(storeOf({ sync: false, clock: clock.now, guard: shared.guard, consume: (...asked) => shared.consume(...asked) }), { leaseMs: LEASE_MS });
  expect([bare.kinds, bare.verbs, bare.together, bare.recall]).toEqual([undefined, ["consume"], false, undefined]);
  await ask(bare, 10);
  await bare.close?.();
});

test("charges that the store cannot take together are told apart here, too", async () => {
  const together = (charges: readonly Charge[]): boolean => charges.length < 2;
  Object.defineProperty(shared, "together", { value: together });
  const store = leased(shared, { leaseMs: LEASE_MS });
  const charges = ["a", "b"].map((key) => ({ policy, key, cost: 1 }));
  expect([takesTogether(store, charges), takesTogether(store, charges.slice(1))]).toEqual([false, true]);
});

test("L11 · a store and its leased form have one local share of each bucket, one circuit breaker and one event for each change", async () => {
  shared = new ModelStore(clock, { breaker: { failures: 2 }, sharedBy: 4 });
  const store = open();
  const events: unknown[] = [];
  const observe = createObserver((event) => void (event.type === "store" && events.push([event.store === store, event.state])));
  const calls = vi.spyOn(shared, "consume").mockRejectedValue(new Error("gone"));
  const four = definePolicy({ name: "four", capacity: 4, refill: perSecond(1) });
  const [leasedOne, plain] = [createLimiter({ policy: four, store, observe }), createLimiter({ policy: four, store: shared, observe })];
  expect([await leasedOne.consume("a"), await plain.consume("a")].map(({ allowed, degraded }) => [allowed, degraded])).toEqual([[true, true], [false, true]]);
  for (const key of ["b", "c"]) await plain.consume(key);
  expect(events).toEqual([[true, "unavailable"]]);
  const before = calls.mock.calls.length;
  expect((await leasedOne.consume("d")).error).toMatchObject({ code: "ERR_STORE_OPEN" });
  expect(calls.mock.calls.length).toBe(before);
});

describe("how long a lease is valid", () => {
  test("L1 · until leaseMs after its call was sent, and not a millisecond longer", async () => {
    const store = await holding();
    advance(LEASE_MS - 1);
    await ask(store, 1);
    expect(shared.sent).toEqual([]);
    advance(1);
    await ask(store, 1);
    expect(shared.sent).toHaveLength(1);
  });

  test("L1 · its time counts from when the call was sent, not from the answer", async () => {
    const store = await holding();
    advance(LEASE_MS);
    shared.held = [];
    const first = callsOf(store).consume(policy, "a", 1);
    advance(60);
    await shared.answerNext();
    shared.held = null;
    expect((await first).allowed).toBe(true);
    advance(39);
    await ask(store, 1);
    expect(shared.sent).toHaveLength(1);
    advance(1);
    await ask(store, 1);
    expect(shared.sent).toHaveLength(2);
  });

  /** Twelve requests, the first of which takes a lease. Its answer comes late, and so do the others that `lateMs` delays. */
  async function late(store: AsyncStore, lateMs: number): Promise<number> {
    shared.held = [];
    const all = Promise.all(Array.from({ length: 12 }, () => callsOf(store).consume(policy, "a", 1)));
    await settled();
    expect(shared.held).toHaveLength(1);
    advance(LEASE_MS);
    await shared.answerNext();
    expect(shared.held).toHaveLength(11); // none of the others was granted from the lease
    advance(lateMs);
    while (shared.held.length > 0) await shared.answerNext();
    shared.held = null;
    shared.sent.length = 0;
    return granted(await all);
  }

  test("L1 · an answer that comes later is not used, except for the request that it decides", async () => {
    const store = await holding();
    advance(LEASE_MS);
    expect(await late(store, LEASE_MS - 1)).toBe(12);
    await ask(store, 1);
    expect(shared.sent).toEqual([]); // the next one was in time
    advance(1);
    await ask(store, 1);
    expect(shared.sent).toHaveLength(1);
  });

  test("a key whose answers come late is not leased for a while, so that its requests do not wait in vain", async () => {
    const store = await holding();
    advance(LEASE_MS);
    expect(await late(store, LEASE_MS)).toBe(12);
    for (const most of [20, 20, 3]) {
      shared.sent.length = 0;
      await ask(store, 20);
      expect(shared.sent.length).toBeLessThanOrEqual(most);
      expect(shared.sent.length === 20).toBe(most === 20);
      advance(LEASE_MS);
    }
  });

  test.each([LEASE_MS, -1])("L1 · a clock of the day that steps by %i ms ends it", async (ms) => {
    const store = await holding();
    wall.advance(ms);
    await ask(store, 1);
    expect(shared.sent).toHaveLength(1);
  });

  test("L1 · a clock of the day that was set back meanwhile does not prolong it", async () => {
    const store = await holding();
    advance(LEASE_MS);
    wall.advance(-LEASE_MS / 2);
    await ask(store, 1);
    expect(shared.sent).toHaveLength(1);
  });

  test("L1 · a machine that was suspended grants nothing of it, although its steady clock stood still", async () => {
    const store = await holding();
    wall.advance(3_600_000);
    shared.held = [];
    void callsOf(store).consume(policy, "a", 1);
    await settled();
    expect(shared.held).toHaveLength(1);
  });

  test("L1 · tokens that were granted in flight are not granted again with the answer", async () => {
    const tight = definePolicy({ name: "tight", capacity: 100, refill: { tokens: 1, everyMs: 1_000_000 } });
    const store = open();
    const decisions = await ask(store, 30, 1, "a", tight);
    advance(LEASE_MS - 1);
    shared.held = [];
    const dear = callsOf(store).consume(tight, "a", 30); // more than the lease holds
    await settled();
    const during = Promise.all(Array.from({ length: 10 }, () => callsOf(store).consume(tight, "a", 1)));
    await settled();
    while (shared.held.length > 0) await shared.answerNext();
    shared.held = null;
    decisions.push(...(await during), ...(await ask(store, 200, 1, "a", tight)));
    expect(granted(decisions) + ((await dear).allowed ? 30 : 0)).toBe(100);
  });
});

describe("what is unused", () => {
  const slow = definePolicy({ name: "slow", capacity: 10_000, refill: { tokens: 1, everyMs: 10_000 } });

  test("is kept by the next call, which asks for so much less", async () => {
    const store = await holding(slow);
    advance(LEASE_MS - 1);
    await ask(store, 2, 1, "a", slow);
    advance(1);
    await ask(store, 1, 1, "a", slow);
    // It wants the tokens of 7 requests, a quarter more and their root. It has 7 left.
    expect(shared.sent.map(({ tokens }) => tokens)).toEqual([1 + 12 - 7]);
    await ask(store, 12, 1, "a", slow);
    expect(shared.sent).toHaveLength(1);
  });

  test("L1 · lapses in proportion to what refilled", async () => {
    const fast = definePolicy({ name: "fast", capacity: 10_000, refill: perSecond(50) });
    const store = await holding(fast);
    advance(LEASE_MS); // 5 tokens have refilled
    await ask(store, 1, 1, "a", fast);
    expect(shared.sent.map(({ tokens }) => tokens)).toEqual([1 + 9 - 6]); // of 10 that were taken, when 14 were spent
  });

  test("counts where the store has too little: a cost that both have together is granted", async () => {
    const tight = definePolicy({ name: "tight", capacity: 100, refill: { tokens: 1, everyMs: 1_000_000 } });
    const store = open();
    await ask(store, 20, 1, "a", tight);
    advance(LEASE_MS);
    const left = shared.left(tight, "a");
    expect(left).toBeLessThan(80);
    expect((await callsOf(store).consume(tight, "a", 80)).allowed).toBe(true);
    expect(granted(await ask(store, 20, 1, "a", tight))).toBe(0);
  });

  test.each([
    ["a debt larger than the lease: all of it lapses", 10_000, 0],
    ["a smaller debt: so many of its tokens lapse", 3, HELD - 3],
    ["no debt: it is kept", 0, HELD],
  ])("is not granted in the place of a debt that another process made. %s", async (_, debt, grants) => {
    const store = await holding(slow);
    await shared.adjust(slow, "a", shared.left(slow, "a") + debt);
    advance(LEASE_MS);
    expect(granted(await ask(store, 20, 1, "a", slow))).toBe(grants);
  });

  test("goes back when the store is closed, which leases nothing from then on", async () => {
    const store = await holding(slow);
    const before = shared.left(slow, "a");
    await store.close?.();
    expect(shared.left(slow, "a") - before).toBe(HELD);
    expect(shared.closed).toBe(1);
    shared.sent.length = 0;
    await ask(store, 20, 1, "a", slow);
    expect(shared.sent).toHaveLength(20);
  });

  test("a store that fails when it is closed keeps it", async () => {
    const store = await holding();
    shared.adjust = () => Promise.reject(new Error("gone"));
    await store.close?.();
    expect(shared.closed).toBe(1);
  });

  test("of a process that crashes refills by itself", async () => {
    await holding();
    const left = shared.left(policy, "a");
    const other = open();
    expect(granted(await ask(other, left + 50))).toBe(left);
    advance(2 * LEASE_MS); // the other process asks again after at most one and a half
    expect(granted(await ask(other, HELD + 50))).toBe(20);
  });
});

describe("the other calls", () => {
  test("a decision of a lease tells the state when the lease was taken, less what was granted since", async () => {
    const store = await holding();
    const at = clock.now();
    const [first] = await ask(store, 1);
    advance(50);
    const [second] = await ask(store, 1);
    expect(shared.sent).toEqual([]);
    expect(first).toMatchObject({ allowed: true, reason: null, policy: "hot", cost: 1, capacity: 10_000, retryAfterMs: 0, at, degraded: false });
    expect(second).toEqual({ ...first, remaining: (first?.remaining ?? 0) - 1, resetMs: (first?.resetMs ?? 0) + 10 });
    // With all that this process granted, and no more.
    expect(first?.remaining).toBe(10_000 - 6);
  });

  test("a refusal is always the store's own", async () => {
    const tight = definePolicy({ name: "tight", capacity: 50, refill: perSecond(1) });
    const store = open();
    await ask(store, 60, 1, "a", tight);
    const [refusal] = await ask(store, 1, 1, "a", tight);
    expect(refusal).toEqual(await shared.peek(tight, "a", 1));
  });

  test("peek sees what the lease would grant, and otherwise the store", async () => {
    const store = await holding();
    const peeked = await callsOf(store).peek(policy, "a", 1);
    expect(shared.sent).toEqual([]);
    expect(peeked).toMatchObject({ allowed: true, remaining: 10_000 - 5 });
    await callsOf(store).peek(policy, "a", HELD + 1);
    expect(shared.sent).toEqual([{ what: "peek", key: "a", tokens: HELD + 1 }]);
    expect((await ask(store, 1))[0]?.remaining).toBe((peeked?.remaining ?? 0) - 1); // took nothing
  });

  test("refunds and debits go to the store, and leave the lease alone", async () => {
    const store = await holding();
    const before = shared.left(policy, "a");
    expect(await callsOf(store).adjust(policy, "a", 500)).toBe(true);
    expect(await callsOf(store).adjust(policy, "a", -200)).toBe(true);
    expect(shared.left(policy, "a")).toBe(before - 300);
    expect(granted(await ask(store, HELD))).toBe(HELD);
    expect(shared.sent).toHaveLength(2);
  });

  test("a debt of its own process, or a refusal by the store, leaves the tokens of the lease alone", async () => {
    const store = await holding();
    await callsOf(store).adjust(policy, "a", shared.left(policy, "a") + 50);
    expect(granted(await ask(store, 2))).toBe(2);
    expect(await callsOf(store).consume(policy, "a", HELD)).toMatchObject({ allowed: false, remaining: 0 });
    expect(await callsOf(store).peek(policy, "a", 1)).toMatchObject({ allowed: true });
    expect(granted(await ask(store, HELD))).toBe(HELD - 2);
  });

  test("a refund of its own process can be taken at once", async () => {
    const slow = definePolicy({ name: "slow", capacity: 20, refill: { tokens: 1, everyMs: 10_000 } });
    const store = open();
    expect(granted(await ask(store, 25, 1, "a", slow))).toBe(20);
    await callsOf(store).adjust(slow, "a", -3);
    expect(granted(await ask(store, 5, 1, "a", slow))).toBe(3);
  });

  // 1,000 requests in 1,000 ms need 100 tokens in `leaseMs`. A lease has a quarter more, and their root.
  test.each([[1, 0], [2, 0], [3, 15], [5, 15], [10, 15], [100, 135], [500, 135]])("L14 · numbers that alternate every %i requests lose at most %i of 1,000 tokens", async (every, most) => {
    const [free, pro] = [1_000, 1_100].map((capacity) => definePolicy({ name: "tier", capacity, refill: { tokens: 1, everyMs: 1_000_000 } }));
    const store = open();
    let grants = 0;
    for (let i = 0; i < 2_000; i++, advance(1)) grants += granted(await ask(store, 1, 1, "a", Math.floor(i / every) % 2 === 0 ? free : pro));
    // The larger numbers grant 1,100 if they are the last.
    expect(grants).toBeGreaterThanOrEqual(1_100 - most);
    expect(grants).toBeLessThanOrEqual(1_102);
  });

  test("L1 · what was refunded does not go back with the next call, too", async () => {
    const slow = definePolicy({ name: "slow", capacity: 1_000, refill: { tokens: 1, everyMs: 10_000 } });
    const store = await holding(slow);
    await callsOf(store).adjust(slow, "a", -5);
    advance(LEASE_MS);
    await ask(store, 1, 1, "a", slow);
    expect(shared.sent.map(({ tokens }) => tokens)).toEqual([-5, 1 + 7 - 2]); // of 12 that were taken, 7 may go back
  });

  test("L1 · a refund of a leased decision gives back no more than has not refilled", async () => {
    const store = await holding();
    const limiter = createLimiter({ policy, store });
    advance(50);
    const decision = await limiter.consume("a");
    expect(decision.at).toBe(clock.now() - 50);
    const before = shared.left(policy, "a");
    await limiter.refund("a", decision);
    expect(shared.left(policy, "a")).toBe(before + 1);
    advance(decision.resetMs);
    const again = await limiter.consume("a");
    shared.sent.length = 0;
    advance(again.resetMs);
    await limiter.refund("a", again);
    expect(shared.sent).toEqual([]);
  });

  test("several charges go to the store", async () => {
    const store = await holding();
    const [decision] = await callsOf(store).together([{ policy, key: "a", cost: 3 }, { policy, key: "b", cost: 1 }]);
    expect(decision).toMatchObject({ allowed: true, cost: 3 });
    expect(shared.sent).toHaveLength(1);
  });

  test("a block acts at once in its own process, and within leaseMs in the others", async () => {
    const store = await holding();
    const other = open();
    await ask(other, 40);
    await callsOf(store).block(policy, "a", 60_000);
    expect(granted(await ask(store, 5))).toBe(0);
    expect(granted(await ask(other, 5))).toBe(5);
    advance(LEASE_MS);
    expect(granted(await ask(other, 5))).toBe(0);
  });

  test("the end of a block acts at once, and leaves the tokens of a lease", async () => {
    const store = await holding();
    await callsOf(store).block(policy, "a", 0);
    expect(granted(await ask(store, HELD))).toBe(HELD);
    expect(shared.sent).toEqual([{ what: "block", key: "a", tokens: 0 }]);
    await callsOf(store).block(policy, "a", 60_000);
    expect(await ask(store, 5)).toMatchObject(Array(5).fill({ allowed: false, blocked: true }));
    const before = shared.left(policy, "b");
    await callsOf(store).block(policy, "a", 0);
    expect(granted(await ask(store, 5))).toBe(5);
    expect(shared.left(policy, "b")).toBe(before);
  });

  test("a settlement takes the instant of its decision along", async () => {
    const store = await holding();
    await callsOf(store).adjust(policy, "a", -2, 999_000);
    await callsOf(store).adjust(policy, "a", 3);
    expect(shared.sent).toEqual([{ what: "adjust", key: "a", tokens: -2, at: 999_000 }, { what: "adjust", key: "a", tokens: 3 }]);
  });

  test("L1 · a call that is under way at a block leaves no lease behind", async () => {
    const store = await holding();
    advance(LEASE_MS);
    shared.held = [];
    const first = callsOf(store).consume(policy, "a", 1);
    const behind = callsOf(store).consume(policy, "a", 1);
    await settled();
    const [take] = shared.held as { arrive(): void }[];
    take?.arrive();
    const block = callsOf(store).block(policy, "a", 60_000);
    await settled();
    while (shared.held.length > 0) await shared.answerNext();
    shared.held = null;
    await block;
    expect((await first).allowed).toBe(true); // the store had decided it
    expect((await behind).allowed).toBe(false);
    expect(granted(await ask(store, 5))).toBe(0);
  });

  test("L1 · a reset ends the lease: the bucket is full, and nothing goes back to it", async () => {
    const store = await holding();
    await callsOf(store).reset(policy, "a");
    expect(shared.left(policy, "a")).toBe(10_000);
    const other = open();
    await ask(other, 100);
    const before = shared.left(policy, "a");
    await ask(store, 1);
    expect(shared.left(policy, "a")).toBe(before - 1);
  });

  test("L14 · other numbers under the same name end the lease", async () => {
    const store = await holding();
    const larger = definePolicy({ name: "hot", capacity: 20_000, refill: perSecond(200) });
    const decisions = await ask(store, 10, 1, "a", larger);
    expect(decisions[0]).toMatchObject({ allowed: true, capacity: 20_000 });
    expect(decisions.at(-1)).toMatchObject({ allowed: true, capacity: 20_000 });
    const left = shared.left(larger, "a");
    await ask(store, 10);
    expect(shared.left(larger, "a")).toBeLessThan(left);
  });
});
