// Many callers over a store across a network: calls travel together, and callers are still served in order of arrival.
import fc from "fast-check";
import { guard } from "sluice/store";
import { createLimiter, createWaiter, definePolicy, perSecond, type Costs, type Decision, type Policy, type WaiterConsumeOptions } from "sluice";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LaterStore, SlowStore } from "../../helpers/stores.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import type { RateOptions } from "../../../src/core/limit.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const clock = (): number => Math.floor(performance.now());

/** A store whose n-th `consume` or `adjust` happens after `delays[n]` milliseconds; the last delay holds for all that follow. */
class DelayedStore extends LaterStore {
  calls = 0;
  readonly #delays: readonly number[];
  #operations = 0;

  constructor(...delays: readonly number[]) {
    super(clock, { timeoutMs: Infinity });
    this.#delays = delays;
  }

  override async consume(policy: Policy, key: string, cost: Costs): Promise<Decision> {
    this.calls += 1;
    await this.#delay();
    return super.consume(policy, key, cost);
  }

  override async adjust(policy: Policy, key: string, changes: Costs): Promise<boolean> {
    await this.#delay();
    return super.adjust(policy, key, changes);
  }

  async #delay(): Promise<void> {
    const ms = this.#delays[Math.min(this.#operations++, this.#delays.length - 1)] as number;
    await new Promise((resolve) => setTimeout(resolve, ms));
  }
}

function queueOver(store: LaterStore, limit: RateOptions, options?: Parameters<typeof createWaiter>[1]) {
  const limiter = createLimiter({ policy: limit, store });
  const waiter = createWaiter(limiter, options);
  const start = clock();
  const served: string[] = [];
  const at: Record<string, number> = {};
  const refusals: Record<string, Decision> = {};
  const wait = (name: string, asked?: WaiterConsumeOptions): void => {
    void waiter
      .consume("key", asked)
      .then((decision) => (decision.allowed ? served.push(name) : (refusals[name] = decision)), () => undefined)
      .then(() => (at[name] = clock() - start));
  };
  const spent = (): number => limiter.policy.maxCost - callsOf(store.inner).peek(limiter.policy, "key", 0).remaining;
  return { limiter, waiter, wait, served, at, refusals, spent };
}

const hourly = (capacity: number): RateOptions => ({ capacity, refill: { tokens: 1, everyMs: 3_600_000 } });

describe("calls travel together", () => {
  test("200 callers whose tokens are there take one round trip", async () => {
    const { wait, at, served } = queueOver(new SlowStore(5, { timeoutMs: Infinity }), hourly(200));
    const names = Array.from({ length: 200 }, (_, i) => `${i}`);
    for (const name of names) wait(name);
    await pass(5);
    expect(served).toEqual(names);
    expect(new Set(Object.values(at))).toEqual(new Set([5]));
  });

  test("a second burst follows when the first is answered, and each caller costs one call", async () => {
    const store = new DelayedStore(5);
    const { wait, served } = queueOver(store, hourly(200));
    for (let i = 0; i < 100; i++) wait(`${i}`);
    await pass(2);
    for (let i = 100; i < 200; i++) wait(`${i}`);
    await pass(3);
    expect([served.length, store.calls]).toEqual([100, 200]);
    await pass(5);
    expect([served.length, store.calls]).toEqual([200, 200]);
  });

  test("1,000 callers at 1,000 tokens per second take as long as the tokens do", async () => {
    const store = new DelayedStore(5);
    const { wait, at, served } = queueOver(store, { capacity: 10, refill: perSecond(1_000) });
    for (let i = 0; i < 1_000; i++) wait(`${i}`);
    await pass(2_000);
    expect(served).toEqual(Array.from({ length: 1_000 }, (_, i) => `${i}`));
    // 10 at once, 990 at one per millisecond, and one round trip.
    expect(at["999"]).toBeLessThanOrEqual(990 + 5 + 10);
    expect(store.calls).toBeLessThanOrEqual(1_010);
  });

  test("callers of different costs and policies take one round trip", async () => {
    const store = new DelayedStore(5);
    const { wait, served } = queueOver(store, hourly(60));
    const names = Array.from({ length: 20 }, (_, i) => `${i}`);
    for (const [i, name] of names.entries()) wait(name, { cost: 1 + (i % 3) });
    await pass(5);
    expect([served, store.calls]).toEqual([names, 20]);
  });

  test("tokens that come during the round trip are asked for together", async () => {
    const store = new DelayedStore(8);
    const { wait, served } = queueOver(store, { capacity: 10, refill: perSecond(1_000) });
    for (let i = 0; i < 100; i++) wait(`${i}`);
    // Ten at 8. The store decided in the middle of the trip, as far as the queue knows. So four tokens are there, and four
    // more come until the store decides at 16.
    await pass(8);
    expect([served.length, store.calls]).toEqual([10, 18]);
    await pass(8);
    expect([served.length, store.calls]).toEqual([18, 26]);
  });

  test("a round waits for all of its answers before the next one", async () => {
    const store = new DelayedStore(5, 50, 5);
    const { wait, at } = queueOver(store, hourly(10));
    for (const name of ["a", "b"]) wait(name);
    await pass(1);
    wait("c");
    await pass(100);
    expect(at).toEqual({ a: 5, b: 50, c: 55 });
  });

  test("at most one capacity is asked for while nothing is known of the bucket", async () => {
    const store = new DelayedStore(5);
    const { wait } = queueOver(store, hourly(10));
    for (let i = 0; i < 1_000; i++) wait(`${i}`);
    await pass(4);
    expect(store.calls).toBe(10);
  });

  test("after a refusal one caller asks, when its tokens should be there", async () => {
    const store = new DelayedStore(5);
    const limit = { capacity: 10, refill: perSecond(10) };
    const { limiter, wait, served } = queueOver(store, limit);
    callsOf(store.inner).consume(limiter.policy, "key", 10);
    for (let i = 0; i < 50; i++) wait(`${i}`);
    await pass(5);
    // Ten asked, as the bucket could have been full; all of them were refused.
    expect([store.calls, served]).toEqual([10, []]);
    // The next token comes at 100. Its call leaves half a trip before.
    await pass(92);
    expect(store.calls).toBe(10);
    await pass(6);
    expect([store.calls, served]).toEqual([11, ["0"]]);
  });

  test("each other process that takes the tokens costs one call a token, not one for each caller", async () => {
    const store = new DelayedStore(1);
    const { limiter, wait, served } = queueOver(store, { capacity: 1, refill: perSecond(10) });
    for (let i = 0; i < 50; i++) wait(`${i}`);
    // A second process takes every second token a moment before.
    for (let ms = 0; ms < 2_000; ms++) {
      if (ms % 200 === 100) callsOf(store.inner).consume(limiter.policy, "key", 1);
      await pass(1);
    }
    expect(served.length).toBeGreaterThanOrEqual(9);
    expect(store.calls).toBeLessThanOrEqual(22);
  });
});

describe("order of arrival", () => {
  test("the first caller gets the first tokens, also those that were asked for behind it", async () => {
    const store = new DelayedStore(1, 3);
    const { limiter, wait, served, at } = queueOver(store, hourly(2));
    callsOf(store.inner).consume(limiter.policy, "key", 2);
    for (const name of ["a", "b"]) wait(name);
    await pass(2);
    callsOf(store.inner).adjust(limiter.policy, "key", -1);
    await pass(1);
    expect([served, at]).toEqual([["a"], { a: 3 }]);
  });

  test("an answer that comes early serves the first caller, and its own call serves the next", async () => {
    const store = new DelayedStore(30, 20, 10);
    const { wait, served, at } = queueOver(store, hourly(3));
    for (const name of ["a", "b", "c"]) wait(name);
    await pass(30);
    expect([served, at]).toEqual([["a", "b", "c"], { a: 10, b: 20, c: 30 }]);
    expect(store.calls).toBe(3);
  });

  test("a small cost does not overtake a large one: its tokens are refunded", async () => {
    const store = new DelayedStore(5);
    const limit = { capacity: 4, refill: perSecond(10) };
    const { limiter, wait, served, at } = queueOver(store, limit);
    callsOf(store.inner).consume(limiter.policy, "key", 2);
    wait("large", { cost: 3 });
    wait("small", { cost: 1 });
    await pass(5);
    expect(served).toEqual([]);
    await pass(5);
    // The small one's token is back: two are left, and the third comes at 100.
    expect(callsOf(store.inner).peek(limiter.policy, "key", 0).remaining).toBe(2);
    await pass(1_000);
    expect([served, at["large"], at["small"]]).toEqual([["large", "small"], 103, 203]);
  });

  test("L2 · a large cost that was refused because of a small one behind it does not wait for the small one's token", async () => {
    const store = new DelayedStore(10, 5);
    const { limiter, wait, at } = queueOver(store, { capacity: 4, refill: perSecond(10) });
    callsOf(store.inner).consume(limiter.policy, "key", 2);
    wait("large", { cost: 3 });
    wait("small", { cost: 1 });
    await pass(1_000);
    // The store decides the small one first. The refusal of the large one names 200, but the small one's token is refunded.
    expect(at).toEqual({ large: 100, small: 203 });
  });

  test("a small cost whose tokens came first is served as soon as the large one before it is", async () => {
    const store = new DelayedStore(20, 5);
    const { wait, at } = queueOver(store, hourly(4));
    wait("large", { cost: 3 });
    wait("small", { cost: 1 });
    await pass(20);
    expect(at).toEqual({ large: 20, small: 20 });
    expect(store.calls).toBe(2);
  });
});

test("an answer that is older than another one does not delay the next caller", async () => {
  // Both calls are decided at once; the first one's answer takes longer.
  class UnevenStore extends LaterStore {
    readonly #delays = [20, 5, 5];

    override async consume(policy: Policy, key: string, cost: Costs): Promise<Decision> {
      const decision = await super.consume(policy, key, cost);
      await new Promise((resolve) => setTimeout(resolve, this.#delays.shift()));
      return decision;
    }
  }
  const { wait, at } = queueOver(new UnevenStore(clock, { timeoutMs: Infinity }), { capacity: 2, refill: perSecond(10) });
  for (const name of ["a", "b", "c"]) wait(name);
  await pass(200);
  // The second call was answered at 5, and decided half a trip before. The third call leaves at 103, and was decided then.
  expect(at).toEqual({ a: 5, b: 20, c: 108 });
});

describe("cancelling", () => {
  test("before the calls are sent costs no call", async () => {
    const store = new DelayedStore(5);
    const { wait, at } = queueOver(store, hourly(1));
    const cancel = new AbortController();
    wait("cancelled", { signal: cancel.signal });
    wait("next");
    cancel.abort("enough");
    await pass(5);
    expect([at, store.calls]).toEqual([{ cancelled: 0, next: 5 }, 1]);
  });

  test("the tokens of a cancelled caller go to the next of the same cost, without another call", async () => {
    const store = new DelayedStore(5);
    const { limiter, wait, at, waiter } = queueOver(store, hourly(1));
    const refunds = vi.spyOn(store, "adjust");
    const cancel = new AbortController();
    wait("cancelled", { signal: cancel.signal });
    wait("next");
    await pass(1);
    cancel.abort("enough");
    await pass(4);
    expect([at, store.calls, refunds.mock.calls.length]).toEqual([{ cancelled: 1, next: 5 }, 1, 0]);
    expect([waiter.waiting, callsOf(store.inner).peek(limiter.policy, "key", 0).remaining]).toEqual([0, 0]);
  });

  test("the tokens of cancelled callers are refunded when no other caller waits", async () => {
    const store = new DelayedStore(5);
    const { wait, waiter, spent } = queueOver(store, hourly(10));
    const cancel = new AbortController();
    for (let i = 0; i < 10; i++) wait(`${i}`, { signal: cancel.signal });
    await pass(1);
    cancel.abort("enough");
    expect(waiter.waiting).toBe(0);
    await pass(10);
    expect([spent(), vi.getTimerCount()]).toEqual([0, 0]);
  });

  test("a new caller asks when the refund is done", async () => {
    const store = new DelayedStore(5);
    const { wait, at, spent } = queueOver(store, hourly(4));
    const cancel = new AbortController();
    wait("cancelled", { cost: 3, signal: cancel.signal });
    await pass(1);
    cancel.abort("enough");
    wait("next", { cost: 4 });
    await pass(20);
    expect([at["next"], spent()]).toEqual([15, 4]);
  });

  test("L2 · a caller that a refund holds up for longer than its `maxWaitMs` and one timeout is refused without a call", async () => {
    class TimedStore extends DelayedStore {
      override readonly guard = guard({ timeoutMs: 100 });
    }
    const store = new TimedStore(90);
    const waiter = createWaiter(createLimiter({ policy: hourly(4), store }), { maxWaitMs: 0 });
    const cancel = new AbortController();
    void waiter.consume("key", { cost: 3, signal: cancel.signal }).catch(() => undefined);
    await pass(5);
    const late = waiter.consume("key", 2);
    cancel.abort();
    // Answered at 90. The refund ends at 180.
    await pass(175);
    expect(await late).toMatchObject({ allowed: false, reason: "limited", retryAfterMs: 1 });
    expect(store.calls).toBe(1);
  });

  test("tokens of several cancelled callers are all there for the next", async () => {
    const store = new DelayedStore(5);
    const { wait, at, spent } = queueOver(store, hourly(5));
    const cancel = new AbortController();
    for (const name of ["a", "b", "c"]) wait(name, { cost: 2, signal: cancel.signal });
    await pass(1);
    cancel.abort("enough");
    wait("next", { cost: 5 });
    await pass(20);
    expect([at["next"], spent()]).toEqual([15, 5]);
  });

  test("a granted caller that is cancelled before its turn leaves its tokens to others", async () => {
    const store = new DelayedStore(20, 5, 5);
    const { wait, at, spent } = queueOver(store, hourly(6));
    const cancel = new AbortController();
    wait("first", { cost: 3 });
    wait("cancelled", { cost: 1, signal: cancel.signal });
    wait("third", { cost: 2 });
    await pass(10);
    cancel.abort("enough");
    await pass(20);
    expect([at["first"], at["third"], spent()]).toEqual([20, 20, 5]);
  });
});

describe("when many are refused at once", () => {
  test("callers that cannot wait are refused with the first answers, those behind them too", async () => {
    const store = new DelayedStore(5);
    const { limiter, wait, refusals, at, waiter } = queueOver(store, { capacity: 5, refill: perSecond(10) }, { maxWaitMs: 50 });
    callsOf(store.inner).consume(limiter.policy, "key", 5);
    for (let i = 0; i < 100; i++) wait(`${i}`);
    await pass(5);
    expect(Object.values(refusals)).toHaveLength(100);
    expect(Object.values(refusals).every(({ reason, retryAfterMs }) => reason === "limited" && retryAfterMs > 50)).toBe(true);
    expect(new Set(Object.values(at))).toEqual(new Set([5]));
    expect([waiter.waiting, vi.getTimerCount(), store.calls]).toEqual([0, 0, 5]);
  });
});

describe("bounds", () => {
  test("`maxWaiters` holds for all keys together, and a place is free again when a caller leaves", async () => {
    const limiter = createLimiter({ policy: hourly(1) });
    const waiter = createWaiter(limiter, { maxWaiters: 3 });
    const cancel = new AbortController();
    for (const key of ["a", "b", "c"]) limiter.consume(key);
    const cancelled = waiter.consume("a", { signal: cancel.signal }).catch((reason: unknown) => reason);
    for (const key of ["b", "c"]) void waiter.consume(key);
    limiter.consume("d");
    expect(await waiter.consume("d")).toMatchObject({ allowed: false, reason: "limited", retryAfterMs: 3_600_000 });
    expect(waiter.waiting).toBe(3);
    cancel.abort("enough");
    void waiter.consume("d");
    await pass(0);
    expect([await cancelled, waiter.waiting]).toEqual(["enough", 3]);
  });

  test("L16 · a full waiter serves a caller whose tokens are there, and refuses its next call", async () => {
    const store = new SlowStore(5);
    const limiter = createLimiter({ policy: hourly(2), store });
    const waiter = createWaiter(limiter, { maxWaiters: 10 });
    for (let i = 0; i < 40; i++) void waiter.consume(`greedy ${i % 20}`);
    await pass(10);
    for (let i = 0; i < 40; i++) void waiter.consume(`greedy ${i % 20}`);
    await pass(10);
    expect(waiter.waiting).toBe(10);
    const honest = Promise.all(Array.from({ length: 100 }, (_, i) => waiter.consume(`honest ${i % 50}`)));
    await pass(5);
    expect((await honest).every(({ allowed }) => allowed)).toBe(true);
    const more = Promise.all(Array.from({ length: 50 }, (_, i) => waiter.consume(`honest ${i}`)));
    await pass(5);
    expect((await more).map(({ reason }) => reason)).toEqual(Array<string>(50).fill("limited"));
    expect(waiter.waiting).toBe(10);
  });

  test("L16 · one key has a tenth of the places", async () => {
    const limiter = createLimiter({ policy: hourly(1) });
    const waiter = createWaiter(limiter, { maxWaiters: 20 });
    limiter.consume("greedy");
    for (let i = 0; i < 10; i++) void waiter.consume("greedy");
    await pass(0);
    expect(waiter.waiting).toBe(2);
    for (let i = 0; i < 100; i++) expect((await waiter.consume(`honest ${i}`)).allowed).toBe(true);
  });
});

describe("jitter", () => {
  test("delays the next attempt after a refusal by up to `jitterMs`", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.999);
    const store = new LaterStore(clock, { timeoutMs: Infinity });
    const { limiter, wait, at } = queueOver(store, { capacity: 1, refill: perSecond(10) }, { jitterMs: 20 });
    callsOf(store.inner).consume(limiter.policy, "key", 1);
    wait("a");
    await pass(200);
    expect(at["a"]).toBe(120);
  });

  test("never takes a caller beyond its `maxWaitMs`", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.999);
    const store = new LaterStore(clock, { timeoutMs: Infinity });
    const { limiter, wait, at, refusals } = queueOver(store, { capacity: 1, refill: perSecond(10) }, { jitterMs: 20, maxWaitMs: 110 });
    callsOf(store.inner).consume(limiter.policy, "key", 1);
    wait("a");
    await pass(200);
    expect([at, refusals]).toEqual([{ a: 110 }, {}]);
  });
});

test("jitter takes no caller behind the first one beyond its `maxWaitMs`", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0.999);
  const store = new LaterStore(clock, { timeoutMs: Infinity });
  const { limiter, wait, at, refusals } = queueOver(store, { capacity: 2, refill: perSecond(100) }, { jitterMs: 50 });
  callsOf(store.inner).consume(limiter.policy, "key", 2);
  wait("patient");
  wait("impatient", { maxWaitMs: 25 });
  await pass(200);
  expect([at, refusals]).toEqual([{ patient: 25, impatient: 25 }, {}]);
});

test("L1 · with any costs, delays and cancellations: served in order, within the bound, and no token is lost", async () => {
  const cases = fc.record({
    capacity: fc.integer({ min: 1, max: 8 }),
    everyMs: fc.integer({ min: 1, max: 60 }),
    delays: fc.array(fc.nat(30), { minLength: 1, maxLength: 12 }),
    before: fc.nat(8),
    tier: fc.boolean(),
    callers: fc.array(
      fc.record({ after: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(40)), share: fc.nat(8), tier: fc.boolean(), cancelAfter: fc.option(fc.nat(60), { freq: 3 }) }),
      { minLength: 1, maxLength: 16, size: "max" },
    ),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ capacity, everyMs, delays, before, callers }) => {
      const store = new DelayedStore(...delays);
      const limiter = createLimiter({ policy: { capacity, refill: { tokens: 1, everyMs } }, store });
      // The same numbers under another object: callers of two policies share the bucket.
      const other = definePolicy({ capacity, refill: { tokens: 1, everyMs } });
      if (before > 0) callsOf(store.inner).consume(limiter.policy, "key", Math.min(before, capacity));
      const waiter = createWaiter(limiter);
      const served: number[] = [];
      const decisions: Decision[] = [];
      for (const [i, { after, share, tier, cancelAfter }] of callers.entries()) {
        await pass(after);
        const cancel = new AbortController();
        if (cancelAfter !== null) setTimeout(() => cancel.abort("cancelled"), cancelAfter);
        void waiter.consume("key", { cost: share % (capacity + 1), signal: cancel.signal, ...(tier ? { policy: other } : {}) }).then(
          (decision) => {
            served.push(i);
            decisions.push(decision);
          },
          (error: unknown) => expect(error).toBe("cancelled"),
        );
      }
      await pass(60_000);
      expect([waiter.waiting, vi.getTimerCount()]).toEqual([0, 0]);
      expect(served).toEqual([...served].sort((a, b) => a - b));
      const uncancelled = callers.flatMap(({ cancelAfter }, i) => (cancelAfter === null ? [i] : []));
      expect(served).toEqual(expect.arrayContaining(uncancelled));
      // All that was taken and not given to a caller has been refunded or has refilled.
      expect(callsOf(store.inner).peek(limiter.policy, "key", 0).remaining).toBe(capacity);
      const granted = decisions.map(({ at, cost }) => ({ at, cost })).sort((a, b) => a.at - b.at);
      granted.forEach(({ at: from }, n) => {
        let sum = 0;
        for (const { at, cost } of granted.slice(n)) expect((sum += cost)).toBeLessThanOrEqual(capacity + (at - from) / everyMs + 1e-9);
      });
    }),
    { numRuns: 300 },
  );
});

test("L1 · with any costs, delays and cancellations: what is spent is what callers got", async () => {
  const cases = fc.record({
    capacity: fc.integer({ min: 1, max: 20 }),
    delays: fc.array(fc.nat(30), { minLength: 1, maxLength: 12 }),
    callers: fc.array(fc.record({ after: fc.nat(10), cost: fc.integer({ min: 1, max: 4 }), cancelAfter: fc.option(fc.nat(60), { freq: 2 }) }), { minLength: 1, maxLength: 16, size: "max" }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ capacity, delays, callers }) => {
      const { waiter, limiter, spent } = queueOver(new DelayedStore(...delays), hourly(capacity));
      let granted = 0;
      const cancels = callers.map(() => new AbortController());
      for (const [i, { after, cost, cancelAfter }] of callers.entries()) {
        await pass(after);
        const cancel = cancels[i] as AbortController;
        if (cancelAfter !== null) setTimeout(() => cancel.abort("cancelled"), cancelAfter);
        const wait = waiter.consume("key", { cost: Math.min(cost, limiter.policy.maxCost), signal: cancel.signal });
        void wait.then((decision) => (granted += decision.cost), () => undefined);
      }
      await pass(2_000);
      expect(spent()).toBe(granted);
      for (const cancel of cancels) cancel.abort();
    }),
    { numRuns: 200 },
  );
});
