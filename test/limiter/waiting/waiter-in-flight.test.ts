// Waiters on limits in flight: nobody knows when tokens come back, so a caller waits to the end of its time.
import { combine, createLimiter, createWaiter, definePolicy, MemoryStore, perHour, perSecond, whenDone, type Decision, type PolicyOptions } from "sluice";
import { rateLimit } from "sluice/web";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LaterStore } from "../../helpers/stores.js";
import { expectWarnings } from "../../setup/warnings.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import { spyOnVerb } from "../../helpers/spy-on-verb.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"] }));
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** Returns the instant at which a call is answered, once it is. */
function timed<T>(waiting: Promise<T>): { at: number | null; value: T | null } {
  const start = performance.now();
  const told: ReturnType<typeof timed<T>> = { at: null, value: null };
  void waiting.then((value) => Object.assign(told, { at: performance.now() - start, value }));
  return told;
}

const one = (retryAfterMs = 1_000, capacity = 1) => ({ name: "parallel", capacity, returns: whenDone({ retryAfterMs }) });
const policyOf = (retryAfterMs?: number, capacity?: number): PolicyOptions => ({ name: "work", limits: [one(retryAfterMs, capacity)] });

const stores = [
  ["a store that answers at once", () => new MemoryStore()],
  ["a store that answers later", () => new LaterStore(() => performance.now())],
] as const;

describe.each(stores)("over %s", (_, open) => {
  const make = (policy: PolicyOptions = policyOf()) => createLimiter<MemoryStore | LaterStore>({ policy, store: open() });

  test.each([500, 5_000])("L21 · a caller with a maxWaitMs of %i gets the place that comes back after 300 ms", async (maxWaitMs) => {
    const limiter = make();
    const waiter = createWaiter(limiter, { maxWaitMs });
    const first = await waiter.consume("ann");
    const next = timed(waiter.consume("ann"));
    await pass(300);
    expect(next.at).toBe(null);
    await limiter.settle("ann", first, { cost: {} });
    await pass(0);
    expect([next.at, next.value?.allowed]).toEqual([300, true]);
  });

  test.each([0, 500, 5_000])("with a maxWaitMs of %i it is refused at the end, and told to ask again after retryAfterMs", async (maxWaitMs) => {
    const waiter = createWaiter(make(), { maxWaitMs });
    await waiter.consume("ann");
    const [next, behind] = [timed(waiter.consume("ann")), timed(waiter.consume("ann"))];
    await pass(maxWaitMs);
    expect([next.at, behind.at]).toEqual([maxWaitMs, maxWaitMs]);
    for (const { value } of [next, behind]) expect(value).toMatchObject({ allowed: false, reason: "limited", retryAfterMs: 1_000, inFlight: true });
    await pass(200); // The timer of the store's guard.
    expect([waiter.waiting, vi.getTimerCount()]).toEqual([0, 0]);
  });

  test("the store is asked once more at the end: another process may have given the place back", async () => {
    const limiter = make();
    const waiter = createWaiter(limiter, { maxWaitMs: 500 });
    await limiter.consume("ann");
    const next = timed(waiter.consume("ann"));
    await pass(100);
    await callsOf(limiter.store).reset(limiter.policy, "ann");
    await pass(400);
    expect([next.at, next.value?.allowed]).toEqual([500, true]);
  });

  test("each caller has its own end, in any order", async () => {
    const limiter = make();
    const waiter = createWaiter(limiter);
    const first = await waiter.consume("ann");
    const calls = [3_000, 200, Infinity, 0, 700].map((maxWaitMs) => timed(waiter.consume("ann", { maxWaitMs })));
    await pass(2_999);
    expect(calls.map(({ at }) => at)).toEqual([null, 200, null, 0, 700]);
    await limiter.settle("ann", first, { cost: {} });
    await pass(0);
    expect([calls[0]?.at, calls[0]?.value?.allowed]).toEqual([2_999, true]);
    await waiter.settle("ann", calls[0]?.value as Decision, { cost: {} });
    await pass(0);
    expect([calls[2]?.at, calls[2]?.value?.allowed]).toEqual([2_999, true]);
  });

  test("a cost above what is left waits, too, and the store is not asked in a loop", async () => {
    const limiter = make(policyOf(1_000, 4));
    const waiter = createWaiter(limiter, { maxWaitMs: 2_500 });
    await limiter.consume("ann", { cost: { parallel: 3 } });
    const asked = spyOnVerb(limiter.store, "consume");
    const next = timed(waiter.consume("ann", { cost: { parallel: 2 } }));
    await pass(2_500);
    expect([next.at, next.value?.retryAfterMs]).toEqual([2_500, 1_000]);
    // At once, after each second, and at the end.
    expect(asked.mock.calls.length).toBe(4);
  });

  test("a rate that takes too long still refuses at once", async () => {
    const limiter = make({ name: "both", limits: [{ name: "hour", capacity: 1, refill: perHour(1) }, one()] });
    const waiter = createWaiter(limiter, { maxWaitMs: 5_000 });
    await waiter.consume("ann");
    const next = timed(waiter.consume("ann"));
    await pass(10);
    expect([next.at, next.value?.limit, next.value?.retryAfterMs]).toEqual([0, "hour", 3_600_000]);
  });

  test("a rate that refuses for a short time does not end the wait for a place", async () => {
    const limiter = make({ name: "both", limits: [{ name: "rate", capacity: 1, refill: perSecond(5) }, one()] });
    const waiter = createWaiter(limiter, { maxWaitMs: 800 });
    const first = await waiter.consume("ann");
    const next = timed(waiter.consume("ann"));
    await pass(700);
    await limiter.settle("ann", first, { cost: {} });
    await pass(0);
    expect([next.at, next.value?.allowed]).toEqual([700, true]);
  });

  test("a block is known, so it refuses at once", async () => {
    const limiter = make();
    const waiter = createWaiter(limiter, { maxWaitMs: 5_000 });
    await limiter.block("ann", 60_000);
    const next = timed(waiter.consume("ann"));
    await pass(10);
    expect([next.at, next.value?.retryAfterMs]).toEqual([0, 60_000]);
  });

  test("the tokens of a process that died go to the caller at their date", async () => {
    expectWarnings("SLUICE_NOT_SETTLED"); // this process plays the one that died
    const limiter = make({ name: "work", limits: [{ name: "parallel", capacity: 1, returns: whenDone({ staleAfterMs: 1_600, retryAfterMs: 60_000 }) }] });
    const { resetMs } = await limiter.consume("ann");
    const next = timed(createWaiter(limiter).consume("ann"));
    await pass(resetMs);
    expect([next.at, next.value?.allowed]).toEqual([resetMs, true]);
  });

  test("a waiter over a combination waits for the place of each member", async () => {
    const [user, tenant] = [make({ ...policyOf(), name: "user" }), make({ ...policyOf(), name: "tenant" })];
    const both = createWaiter(combine({ user, tenant }), { maxWaitMs: 500 });
    const keys = { user: "ann", tenant: "acme" };
    const [first, other] = [await user.consume("ann"), await tenant.consume("acme")];
    const [next, behind] = [timed(both.consume(keys)), timed(both.consume(keys))];
    await pass(100);
    await user.settle("ann", first, { cost: {} });
    await pass(100);
    await tenant.settle("acme", other, { cost: {} });
    await pass(0);
    expect([next.at, next.value?.allowed]).toEqual([200, true]);
    await pass(300);
    expect([behind.at, behind.value]).toMatchObject([500, { allowed: false, retryAfterMs: 1_000 }]);
  });

  test.each([100, 5_000])("the store is asked every retryAfterMs of %i for the places of other processes", async (retryAfterMs) => {
    const limiter = make(policyOf(retryAfterMs));
    const waiter = createWaiter(limiter);
    const kept = await limiter.consume("ann");
    const next = timed(waiter.consume("ann"));
    await pass(0);
    const asked = spyOnVerb(limiter.store, "consume");
    await pass(2 * retryAfterMs + 1);
    expect(asked.mock.calls.length).toBe(2);
    expect(kept.allowed).toBe(true);
    await callsOf(limiter.store).reset(limiter.policy, "ann");
    await pass(retryAfterMs);
    expect([next.at, next.value?.allowed]).toEqual([3 * retryAfterMs, true]);
  });
});

test("L16 · all keys together are asked at most 1,000 times a second, whatever their retryAfterMs", async () => {
  const store = new MemoryStore({ maxKeys: 5_000 });
  const slow = definePolicy({ name: "work", limits: [one(300)] });
  const limiter = createLimiter({ policy: policyOf(50), store });
  const waiter = createWaiter(limiter);
  for (let i = 0; i < 1_500; i++) {
    const policy = i % 2 === 0 ? slow : limiter.policy;
    limiter.consume(`${i}`, { policy });
    void waiter.consume(`${i}`, { policy });
  }
  await pass(0);
  const asked = spyOnVerb(store, "consume");
  for (let second = 1; second <= 3; second++) {
    await pass(1_000);
    expect(asked.mock.calls.length).toBeGreaterThan(900 * second);
    expect(asked.mock.calls.length).toBeLessThanOrEqual(1_000 * second);
  }
  expect(new Set(asked.mock.calls.map(([, key]) => key)).size).toBe(1_500);
});

test("in an outage a caller waits for the place of the local share, too", async () => {
  const away = Object.assign(new LaterStore(() => performance.now(), { breaker: false }), { consume: () => Promise.reject<Decision>(new Error("connection refused")) });
  const limiter = createLimiter({ policy: policyOf(), store: away, observe: { decided: () => undefined, listens: () => false, storeChanged: () => undefined } as never });
  const waiter = createWaiter(limiter, { maxWaitMs: 500 });
  const first = await waiter.consume("ann");
  const [next, behind] = [timed(waiter.consume("ann")), timed(waiter.consume("ann"))];
  await pass(300);
  expect([next.at, first.degraded]).toEqual([null, true]);
  await limiter.settle("ann", first, { cost: {} });
  await pass(200);
  expect([next.at, next.value?.allowed]).toEqual([300, true]);
  expect([behind.at, behind.value]).toMatchObject([500, { allowed: false, degraded: true, retryAfterMs: 1_000 }]);
});

describe("in a gate", () => {
  const world = (maxWaitMs: number) => {
    let end = (): void => undefined;
    const limiter = createLimiter({ policy: policyOf() });
    const handle = rateLimit({ limiter: createWaiter(limiter, { maxWaitMs }), key: () => "ann" })(async () => {
      await new Promise<void>((resolve) => (end = resolve));
      return new Response(null);
    });
    const ask = () => timed(Promise.resolve(handle(new Request("http://localhost/"))) as Promise<Response>);
    return { ask, finish: () => end() };
  };

  test("a request waits for the place of another", async () => {
    const { ask, finish } = world(5_000);
    const first = ask();
    await pass(0);
    const second = ask();
    await pass(300);
    finish();
    await pass(10);
    finish();
    await pass(0);
    expect([first.value?.status, second.value?.status]).toEqual([200, 200]);
  });

  test("and gets a 429 with the wait of retryAfterMs at the end of maxWaitMs", async () => {
    const { ask, finish } = world(500);
    ask();
    await pass(0);
    const second = ask();
    await pass(500);
    expect([second.at, second.value?.status, second.value?.headers.get("retry-after")]).toEqual([500, 429, "1"]);
    finish();
    await pass(0);
  });
});
