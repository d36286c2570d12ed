// Limits in flight through the verbs of a limiter: settle, run, renewal, late give-back, the local share and waiters.
import { combine, createLimiter, createWaiter, definePolicy, MemoryStore, perMinute, run, whenDone, type Decision, type AsyncStore, type Policy } from "sluice";
import { guard, LIMIT_KINDS } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { soon } from "../helpers/soon.js";
import { expectWarnings } from "../setup/warnings.js";
import { afterEach, describe, expect, test, vi } from "vitest";
import { callsOf, type StoreCalls } from "../../src/testing/store-calls.js";
import { LaterVerbs } from "../helpers/store-of.js";

const parallel = { name: "parallel", capacity: 2, returns: whenDone({ staleAfterMs: 15_000 }) };
const chat = definePolicy({ name: "chat", limits: [{ name: "requests", capacity: 60, refill: perMinute(60) }, { name: "tokens", capacity: 100, refill: perMinute(1), cost: 0 }, parallel] });

function world(policy: Policy = chat) {
  const clock = new ManualClock(1_700_000_000_000);
  const store = new MemoryStore({ clock: clock.now });
  const limiter = createLimiter({ policy, store });
  const left = (): Record<string, number> => Object.fromEntries((limiter.peek("ann", 0).limits ?? []).map(({ limit, remaining }) => [limit, remaining]));
  return { clock, store, limiter, left };
}

afterEach(() => vi.useRealTimers());

describe("costs", () => {
  test("L21 · one number is for rates and quotas; a limit in flight costs 1 unless it is named", () => {
    const { limiter, left } = world();
    limiter.consume("ann", 5);
    expect(left()).toEqual({ requests: 55, tokens: 95, parallel: 1 });
    limiter.consume("ann", { cost: { parallel: 1, tokens: 3 } });
    expect(left()).toEqual({ requests: 54, tokens: 92, parallel: 0 });
    expect(limiter.consume("ann")).toMatchObject({ allowed: false, limit: "parallel", retryAfterMs: 1_000, inFlight: true });
  });

  test("L21 · a refusal of a rate holds no token in flight", () => {
    const { limiter, left } = world();
    expect(limiter.consume("ann", { cost: { tokens: 100 } }).allowed).toBe(true);
    expect(limiter.consume("ann", { cost: { tokens: 1 } })).toMatchObject({ allowed: false, limit: "tokens" });
    expect(left()["parallel"]).toBe(1);
  });

  test("a limit in flight never binds while it refuses nothing, unless it is alone", () => {
    const { limiter } = world();
    expect(limiter.consume("ann").limit).toBe("requests");
    expect(createLimiter({ policy: { capacity: 2, returns: whenDone() } }).consume("ann")).toMatchObject({ remaining: 1, inFlight: true });
  });
});

describe("settle", () => {
  test("L21 · returns all tokens in flight, whatever it says of the other limits, and once", () => {
    const { limiter, left } = world();
    const first = limiter.consume("ann", { cost: { tokens: 50 } });
    expect(limiter.settle("ann", first, { cost: { tokens: 40 } })).toBe(true);
    expect(left()).toEqual({ requests: 59, tokens: 60, parallel: 2 });
    expect(limiter.settle("ann", first, { cost: {} })).toBe(false);
    const second = limiter.consume("ann");
    expect(limiter.settle("ann", second, { cost: {} })).toBe(true);
    expect(left()).toEqual({ requests: 58, tokens: 60, parallel: 2 });
    const third = limiter.consume("ann");
    expect(limiter.settle("ann", third, { cost: { parallel: 1 } })).toBe(true);
    expect(left()["parallel"]).toBe(2);
  });

  test("debit and credit leave limits in flight alone, and say so", () => {
    const { limiter, left } = world();
    limiter.consume("ann");
    limiter.credit("ann", { cost: { requests: 1 } });
    limiter.debit("ann", { cost: { tokens: 5 } });
    expect(left()).toEqual({ requests: 60, tokens: 95, parallel: 1 });
    const wrong = "Expected `cost` to be of rates and quotas, got an object. Work returns tokens in flight when it is done";
    expect(() => limiter.credit("ann", { cost: { parallel: 1 } })).toThrow(new TypeError(wrong));
    expect(() => limiter.debit("ann", { cost: { parallel: 1 } })).toThrow(new TypeError(wrong));
    expect(left()["parallel"]).toBe(1);
  });

  test("L21 · a combination holds and returns those of each member", () => {
    const clock = new ManualClock(1_700_000_000_000);
    const store = new MemoryStore({ clock: clock.now });
    const user = createLimiter({ policy: { name: "user", limits: [parallel] }, store });
    const tenant = createLimiter({ policy: { name: "tenant", limits: [{ ...parallel, capacity: 1 }] }, store });
    const both = combine({ user, tenant });
    const keys = { user: "ann", tenant: "acme" };
    const decision = both.consume(keys);
    expect([decision.allowed, both.consume(keys).allowed, user.peek("ann").remaining]).toEqual([true, false, 1]);
    both.settle(keys, decision, { cost: {} });
    expect([user.peek("ann").remaining, tenant.peek("acme").remaining]).toEqual([2, 1]);
  });
});

describe("run", () => {
  test("L21 · returns tokens in flight when the work is done, and when it throws", async () => {
    const { limiter, left } = world();
    expect(await run(limiter, "ann", () => left()["parallel"])).toBe(1);
    expect(left()).toEqual({ requests: 59, tokens: 100, parallel: 2 });
    await expect(run(limiter, "ann", () => Promise.reject(new Error("boom")))).rejects.toThrow("boom");
    expect(left()).toEqual({ requests: 58, tokens: 100, parallel: 2 });
    await run(limiter, "ann", () => "text", { cost: { tokens: 50 }, actualCost: () => ({ tokens: 10 }) });
    expect(left()).toEqual({ requests: 57, tokens: 90, parallel: 2 });
  });

  test("L21 · an actualCost that fails leaves the charge and returns tokens in flight", async () => {
    const { limiter, left } = world();
    expectWarnings("SLUICE_FUNCTION_FAILED");
    await run(limiter, "ann", () => "text", { cost: { tokens: 50 }, actualCost: () => Promise.reject(new Error("no usage")) });
    expect(left()).toEqual({ requests: 59, tokens: 50, parallel: 2 });
  });

  // Each has a `staleAfterMs` of its own, and so a timer that begins in it.
  test.each([["one limiter", 12_000], ["a combination", 12_001]])("L21 · work that lives longer than staleAfterMs keeps its tokens, at most for maxWorkMs: %s", async (which, staleAfterMs) => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "Date"] });
    const { clock, limiter } = world(definePolicy({ name: "p", limits: [{ ...parallel, returns: whenDone({ staleAfterMs, maxWorkMs: 60_000 }) }] }));
    let end = (): void => undefined;
    const work = (): Promise<void> => new Promise((resolve) => (end = resolve));
    const done = which === "one limiter" ? run(limiter, "ann", work) : run(combine({ a: limiter }), { a: "ann" }, work);
    await Promise.resolve();
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 500) {
        clock.advance(500);
        await vi.advanceTimersByTimeAsync(500);
      }
    };
    for (let second = 0; second < 55; second += 5) {
      await pass(5_000);
      expect([second, limiter.peek("ann").remaining]).toEqual([second, 1]);
    }
    await pass(25_000);
    expect(limiter.peek("ann").remaining).toBe(2);
    end();
    await done;
    expect([limiter.peek("ann").remaining, vi.getTimerCount()]).toEqual([2, 0]);
  });

  test("L21 · a settlement gives back renewed tokens, and those of a neighbour stay", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "Date"] });
    const { clock, limiter } = world(definePolicy({ name: "p", limits: [{ ...parallel, returns: whenDone({ staleAfterMs: 12_002 }) }] }));
    let end = (): void => undefined;
    const done = run(limiter, "ann", () => new Promise<void>((resolve) => (end = resolve)));
    await Promise.resolve();
    clock.advance(10_000);
    await vi.advanceTimersByTimeAsync(10_000);
    limiter.consume("ann");
    end();
    await done;
    expect(limiter.peek("ann").remaining).toBe(1);
    clock.advance(12_001);
    expect(limiter.peek("ann").remaining).toBe(1);
  });
});

/** A memory store that answers when it is told to, and then counts as shared. */
class SlowStore extends LaterVerbs {
  readonly kinds = LIMIT_KINDS;
  readonly clock: () => number;
  readonly inner: MemoryStore;
  readonly guard = guard({ timeoutMs: 50, breaker: { failures: 1 }, sharedBy: 2 });
  answers: Array<() => void> = [];
  isHeld = false;
  isDown = false;
  constructor(clock: () => number) {
    super();
    this.clock = clock;
    this.inner = new MemoryStore({ clock });
  }
  async #held<T>(make: () => T): Promise<T> {
    if (this.isDown) throw new Error("connection refused");
    const answer = make();
    if (this.isHeld) await new Promise<void>((resolve) => this.answers.push(resolve));
    return answer;
  }
  consume(...args: Parameters<StoreCalls<true>["consume"]>): Promise<Decision> {
    return this.#held(() => callsOf(this.inner).consume(...args));
  }
  async peek(...args: Parameters<StoreCalls<true>["consume"]>): Promise<Decision> {
    return callsOf(this.inner).peek(...args);
  }
  async adjust(...args: Parameters<StoreCalls<true>["adjust"]>): Promise<boolean> {
    if (this.isDown) throw new Error("connection refused");
    return callsOf(this.inner).adjust(...args);
  }
  async renew(...args: Parameters<StoreCalls<true>["renew"]>): Promise<boolean> {
    return callsOf(this.inner).renew(...args);
  }
}

describe("a store that fails", () => {
  test("L21 · an allowed answer that comes after its timeout gives its tokens back", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const store = new SlowStore(clock.now);
    const limiter = createLimiter<AsyncStore>({ policy: { name: "p", limits: [parallel] }, store });
    store.isHeld = true;
    const decision = await limiter.consume("ann");
    expect(decision).toMatchObject({ degraded: true, allowed: true, capacity: 1 });
    expect(callsOf(store.inner).peek(limiter.policy, "ann", 1).remaining).toBe(1);
    for (const answer of store.answers) answer();
    await soon(() => expect(callsOf(store.inner).peek(limiter.policy, "ann", 1).remaining).toBe(2));
  });

  test("L21 · the local share has at least 1, and its tokens return where they were taken", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const store = new SlowStore(clock.now);
    const limiter = createLimiter<AsyncStore>({ policy: { name: "p", limits: [{ ...parallel, capacity: 1 }] }, store });
    store.isHeld = true;
    const first = await limiter.consume("ann");
    expect(first).toMatchObject({ degraded: true, allowed: true, capacity: 1 });
    expect((await limiter.consume("ann")).allowed).toBe(false);
    expect(await limiter.settle("ann", first, { cost: {} })).toBe(true);
    expect((await limiter.consume("ann")).allowed).toBe(true);
  });
});

test("L21 · a settlement wakes a waiter of its process", async () => {
  const { limiter } = world(definePolicy({ name: "p", limits: [{ ...parallel, capacity: 1 }] }));
  const waiter = createWaiter(limiter);
  const first = await waiter.consume("ann");
  const second = waiter.consume("ann");
  await Promise.resolve();
  await waiter.settle("ann", first, { cost: {} });
  expect((await second).allowed).toBe(true);
});

test("a store that does not keep limits in flight is refused, and a bucket too", () => {
  const store = { sync: true, clock: () => 0, kinds: ["rate"], ask: () => [] } as never;
  expect(() => createLimiter({ policy: { capacity: 2, returns: whenDone() }, store })).toThrow(
    'Expected a store with `kinds` that include "in-flight" for policy "default", got others. See the guide to stores, or use `refill`',
  );
});

describe("whenDone", () => {
  test.each([
    [{ staleAfterMs: 999 }, "Expected `staleAfterMs` to be from 1000 to 3600000 ms, got 999"],
    [{ staleAfterMs: 3_600_001 }, "Expected `staleAfterMs` to be from 1000 to 3600000 ms, got 3600001"],
    [{ retryAfterMs: 2_147_483_648 }, "Expected `retryAfterMs` to be from 1 to 2147483647 ms, got 2147483648"],
    [{ staleAfterMs: 0.5 }, "Expected `staleAfterMs` to be a positive integer"],
    [{ retryAfterMs: 0 }, "Expected `retryAfterMs` to be a positive integer"],
    [{ staleAfterMs: 5_000, maxWorkMs: 4_999 }, "Expected `maxWorkMs` to be from 5000 to 2147483647 ms, got 4999"],
    [{ atMostMs: 5 }, "Unknown option `atMostMs`"],
  ])("%j: %s", (options, message) => {
    expect(() => whenDone(options as never)).toThrow(message);
  });

  test("accepts its bounds", () => {
    for (const options of [
      { staleAfterMs: 1_000, retryAfterMs: 1, maxWorkMs: 1_000 },
      { staleAfterMs: 3_600_000, retryAfterMs: 2_147_483_647, maxWorkMs: 2_147_483_647 },
    ]) expect({ ...whenDone(options) }).toEqual(options);
  });

  test("is plain data, and a copy is made again by whenDone(copy)", () => {
    const made = whenDone({ staleAfterMs: 5_000 });
    expect(JSON.parse(JSON.stringify(made))).toEqual({ staleAfterMs: 5_000, retryAfterMs: 1_000, maxWorkMs: 3_600_000 });
    const copy = structuredClone(made) as never;
    expect(() => definePolicy({ capacity: 1, returns: copy })).toThrow("For a copy write whenDone(limit.returns)");
    expect(definePolicy({ capacity: 1, returns: whenDone(copy) })).toMatchObject({ limits: [{ returns: { staleAfterMs: 5_000 } }] });
  });
});

test("L21 · a settlement that the open circuit breaker refused is made again when the store is available", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "Date"] });
  const clock = new ManualClock(1_700_000_000_000);
  const store = new SlowStore(clock.now);
  const limiter = createLimiter<AsyncStore>({ policy: { name: "p", limits: [parallel] }, store });
  const decision = await limiter.consume("ann");
  expectWarnings("SLUICE_STORE_UNAVAILABLE");
  store.isDown = true;
  for (const key of ["bob", "eve", "joe", "zoe"]) await limiter.consume(key);
  await expect(limiter.settle("ann", decision, { cost: {} })).rejects.toMatchObject({ code: "ERR_STORE_OPEN" });
  store.isDown = false;
  expect(callsOf(store.inner).peek(limiter.policy, "ann", 1).remaining).toBe(1);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(callsOf(store.inner).peek(limiter.policy, "ann", 1).remaining).toBe(2);
  expect(await limiter.settle("ann", decision, { cost: {} })).toBe(false);
});
