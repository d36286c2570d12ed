// What wakes callers that wait: tokens that come back in this process, and a look at the store once a second.
import { createLimiter, createWaiter, definePolicy, MemoryStore, perHour, perMinute, perSecond, run, type Decision, type Limiter, type PlainLimiter, type Waiter, createObserver } from "sluice";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LaterStore } from "../../helpers/stores.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import { spyOnVerb } from "../../helpers/spy-on-verb.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** Returns the instant at which a call is answered, once it is. */
function timed(waiting: Promise<Decision>): { at: number | null; decision: Decision | null } {
  const start = performance.now();
  const told: ReturnType<typeof timed> = { at: null, decision: null };
  void waiting.then((decision) => Object.assign(told, { at: performance.now() - start, decision }));
  return told;
}

const hourly = { name: "jobs", capacity: 5, refill: perHour(5) };

const stores = [
  ["a store that answers at once", () => new MemoryStore()],
  ["a store that answers later", () => new LaterStore(() => performance.now())],
] as const;

describe.each(stores)("over %s", (_, open) => {
  const make = (): { limiter: Limiter; waiter: Waiter } => {
    const limiter = createLimiter<MemoryStore | LaterStore>({ policy: hourly, store: open() }) as PlainLimiter;
    return { limiter, waiter: createWaiter(limiter) };
  };

  const ways: readonly (readonly [string, (limiter: Limiter, taken: Decision) => unknown])[] = [
    ["a settlement", (limiter, taken) => limiter.settle("k", taken, 1)],
    ["a refund", (limiter, taken) => limiter.refund("k", taken)],
    ["a credit", (limiter) => limiter.credit("k", 2)],
    ["a reset", (limiter) => limiter.reset("k")],
  ];

  test.each(ways)("L2 · %s serves a caller at once whose tokens are then there", async (_name, giveBack) => {
    const { limiter, waiter } = make();
    const taken = await limiter.consume("k", 5);
    const [two, two2] = [timed(waiter.consume("k", 2)), timed(waiter.consume("k", 2))];
    await pass(100);
    expect(waiter.waiting).toBe(2);
    await giveBack(limiter, taken);
    await pass(0);
    // The settlement returns 4, the refund and the reset 5, the credit 2.
    expect([two.at, two2.at]).toEqual([100, _name === "a credit" ? null : 100]);
  });

  test("a block of 0 asks the store again at once", async () => {
    const { limiter, waiter } = make();
    await limiter.block("k", 3_600_000);
    const first = timed(waiter.consume("k"));
    await pass(100);
    const asked = spyOnVerb(limiter.parts[0]?.store as MemoryStore, "consume");
    await limiter.block("k", 0);
    await pass(0);
    expect(asked.mock.calls.length).toBe(1);
    await limiter.reset("k");
    await pass(0);
    expect(first.at).toBe(100);
  });

  test("so do the verbs of the waiter, and of another limiter over the store", async () => {
    const { limiter, waiter } = make();
    await limiter.consume("k", 5);
    const other = createLimiter<MemoryStore | LaterStore>({ policy: limiter.parts[0]?.policy as never, store: limiter.parts[0]?.store as MemoryStore });
    const [first, second] = [timed(waiter.consume("k")), timed(waiter.consume("k"))];
    await pass(10);
    await waiter.credit("k", 1);
    await pass(10);
    await other.credit("k", 1);
    await pass(10);
    expect([first.at, second.at]).toEqual([10, 20]);
  });

  test("tokens that come back while the store works on a call are asked for again", async () => {
    const { limiter, waiter } = make();
    await limiter.consume("k", 5);
    const first = timed(waiter.consume("k", 5));
    await Promise.resolve(); // The call is sent.
    await limiter.reset("k");
    await pass(10);
    expect(first.at).toBe(0);
  });

  test("tokens that come back for another key wake nobody", async () => {
    const { limiter, waiter } = make();
    await limiter.consume("k", 5);
    const first = timed(waiter.consume("k"));
    await pass(0);
    const asked = spyOnVerb(limiter.parts[0]?.store as MemoryStore, "consume");
    for (const key of ["other", "k2", "jobs k"]) await limiter.reset(key);
    await pass(100);
    expect([first.at, asked.mock.calls.length]).toEqual([null, 0]);
  });

  test("a caller that a caller before it holds up stays behind it", async () => {
    const { limiter, waiter } = make();
    await limiter.consume("k", 5);
    const [large, small] = [timed(waiter.consume("k", 5)), timed(waiter.consume("k", 1))];
    await pass(10);
    await limiter.credit("k", 3);
    await pass(10);
    expect([large.at, small.at]).toEqual([null, null]);
    await limiter.credit("k", 2);
    await pass(0);
    expect(large.at).toBe(20);
  });

  test("a new caller of a key that was reset does not wait for its old bucket", async () => {
    const { limiter } = make();
    const waiter = createWaiter(limiter, { maxWaitMs: 500 });
    await limiter.block("k", 3_600_000);
    for (let i = 0; i < 3; i++) expect(await waiter.consume("k")).toMatchObject({ reason: "limited", retryAfterMs: 3_600_000 });
    await limiter.reset("k");
    expect((await waiter.consume("k")).allowed).toBe(true);
  });

  test("no listener is left when nobody waits", async () => {
    const { limiter, waiter } = make();
    const cancel = new AbortController();
    await limiter.consume("k", 5);
    void waiter.consume("k", { signal: cancel.signal }).catch(() => undefined);
    await pass(10);
    cancel.abort();
    await pass(0);
    const asked = spyOnVerb(limiter.parts[0]?.store as MemoryStore, "consume");
    await limiter.reset("k");
    await pass(5_000);
    expect([asked.mock.calls.length, vi.getTimerCount()]).toEqual([0, 0]);
  });
});

test("estimates that are settled below their cost let the next job begin", async () => {
  const limiter = createLimiter({ policy: { name: "tokens", capacity: 10_000, refill: perMinute(10_000) } });
  const waiter = createWaiter(limiter);
  const answers = Array.from({ length: 5 }, () => run(limiter, "org", () => new Promise((resolve) => setTimeout(resolve, 100)), { cost: 2_000, actualCost: () => 100 }));
  const job = timed(waiter.consume("org", 2_000));
  await pass(101);
  await Promise.all(answers);
  // At 100, and not after the 12 seconds in which its tokens refill.
  expect(job.at).toBe(100);
});

test("tokens of the local share come back, too", async () => {
  const away = Object.assign(new LaterStore(() => performance.now(), { breaker: false }), { consume: () => Promise.reject<Decision>(new Error("connection refused")) });
  const limiter = createLimiter({ policy: { ...hourly, capacity: 10 }, store: away, observe: createObserver(() => undefined) });
  const waiter = createWaiter(limiter);
  const taken = await limiter.consume("k", 5);
  expect(taken).toMatchObject({ allowed: true, degraded: true });
  const next = timed(waiter.consume("k", 5));
  await pass(100);
  await limiter.refund("k", taken);
  await pass(0);
  expect([next.at, next.decision?.degraded]).toEqual([100, true]);
});

describe("a look at the store", () => {
  test("serves a caller within a second after another process gave tokens back", async () => {
    const store = new MemoryStore();
    const limiter = createLimiter({ policy: hourly, store });
    const waiter = createWaiter(limiter);
    limiter.consume("k", 5);
    const first = timed(waiter.consume("k"));
    await pass(2_500);
    callsOf(store).reset(limiter.policy, "k");
    await pass(1_000);
    expect(first.at).toBe(3_000);
  });

  test("happens about once a second, and not for a shorter wait", async () => {
    const store = new MemoryStore();
    const limiter = createLimiter({ policy: { ...hourly, refill: perSecond(1) }, store });
    const waiter = createWaiter(limiter);
    const asked = spyOnVerb(store, "consume");
    for (const [key, debt] of [["short", 0], ["long", 10]] as const) {
      limiter.consume(key, 5);
      if (debt > 0) limiter.debit(key, debt);
      void waiter.consume(key);
    }
    await pass(999);
    expect(asked.mock.calls.length).toBe(4);
    await pass(1);
    // Its token, and the first look.
    expect(asked.mock.calls.length).toBe(6);
    await pass(10_000);
    expect(asked.mock.calls.length).toBe(6 + 10);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("L16 · of all keys together happens at most 1,000 times a second, and each key has its turn", async () => {
    const store = new MemoryStore({ maxKeys: 5_000 });
    const limiter = createLimiter({ policy: hourly, store });
    const waiter = createWaiter(limiter);
    for (let i = 0; i < 1_500; i++) {
      limiter.consume(`${i}`, 5);
      void waiter.consume(`${i}`);
    }
    await pass(500);
    const asked = spyOnVerb(store, "consume");
    for (let second = 1; second <= 2; second++) {
      await pass(1_000);
      expect(asked.mock.calls.length).toBeLessThanOrEqual(1_000 * second);
    }
    expect(new Set(asked.mock.calls.map(([, key]) => key)).size).toBe(1_500);
  });

  test("does not tell the callers behind a refusal that they are late", async () => {
    const limiter = createLimiter({ policy: hourly });
    const waiter = createWaiter(limiter, { maxWaitMs: 2 * 3_600_000 });
    limiter.consume("k", 5);
    const all = Array.from({ length: 10 }, () => timed(waiter.consume("k")));
    await pass(60_000);
    expect(all.map(({ decision }) => decision)).toEqual(Array<null>(10).fill(null));
  });
});

test("tiers of one key wake each other", async () => {
  const pro = definePolicy({ ...hourly, capacity: 50 });
  const limiter = createLimiter({ policy: hourly });
  const waiter = createWaiter(limiter);
  const taken = limiter.consume("k", { cost: 50, policy: pro });
  const free = timed(waiter.consume("k"));
  await pass(100);
  limiter.refund("k", taken, { policy: pro });
  await pass(0);
  expect(free.at).toBe(100);
});
