// SLUICE_NOT_SETTLED: work in flight that nothing gives back.
import { combine, createLimiter, createWaiter, definePolicy, MemoryStore, perSecond, run, whenDone, type Decision, type Store } from "sluice";
import { ManualClock } from "sluice/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { LaterStore } from "../helpers/stores.js";
import { expectWarnings } from "../setup/warnings.js";

const TEXT =
  'SLUICE_NOT_SETTLED: Expected work in flight of policy "gpu" to be settled, got tokens that came back by themselves after 1000 ms. ' +
  "Write run(limiter, key, work), which also renews them, or settle(key, decision, 0) in a `finally`";
const gpu = { name: "gpu", capacity: 4, returns: whenDone({ staleAfterMs: 1_000 }) };
const rate = { name: "rate", capacity: 100, refill: perSecond(100) };

function world(policy = definePolicy(gpu)) {
  const clock = new ManualClock();
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
  return { clock, limiter };
}

afterEach(() => void vi.useRealTimers());

describe("is given once, when tokens are taken again, for work that", () => {
  test("was never settled", () => {
    expectWarnings(TEXT);
    const { clock, limiter } = world();
    limiter.consume("a");
    clock.advance(1_100);
    for (let i = 0; i < 9; i++) limiter.consume("b");
  });

  test("was never settled, on two stores that were watched before", () => {
    expectWarnings(TEXT);
    const worlds = [world(), world()];
    for (const { limiter } of worlds) limiter.consume("a");
    for (const { clock } of worlds) clock.advance(1_100);
    for (const { limiter } of worlds) for (let i = 0; i < 9; i++) limiter.consume("b");
  });

  test("was settled after its tokens had come back", () => {
    expectWarnings(TEXT);
    const { clock, limiter } = world();
    limiter.consume("x", 0);
    const first = limiter.consume("a");
    const second = limiter.consume("a");
    limiter.refund("a", first);
    clock.advance(1_100);
    limiter.consume("b");
    limiter.refund("a", second);
  });

  test("took tokens of a tier, of a policy with rates, or more than one", () => {
    expectWarnings(TEXT);
    const { clock, limiter } = world(definePolicy({ ...rate, name: "gpu" }));
    const tier = { policy: definePolicy({ name: "gpu", limits: [{ ...rate, name: "r" }, { ...gpu, name: "p" }] }), cost: { p: 3 } };
    limiter.consume("a", tier);
    clock.advance(1_100);
    limiter.consume("a", tier);
  });

  test.each<[what: string, make: (clock: () => number) => readonly [Store, Store]]>([
    ["one store", (clock) => {
      const store = new MemoryStore({ clock });
      return [store, store];
    }],
    ["two stores", (clock) => [new LaterStore(clock), new MemoryStore({ clock })]],
  ])("took tokens of a combination over %s", async (_, make) => {
    expectWarnings(TEXT);
    const clock = new ManualClock();
    const [first, second] = make(clock.now);
    const both = combine({ a: createLimiter<Store>({ policy: gpu, store: first }), b: createLimiter<Store>({ policy: rate, store: second }) });
    await both.consume({ a: "a", b: "b" });
    clock.advance(1_100);
    await both.consume({ a: "a", b: "b" });
  });

  test("a waiter began, over a store that answers later", async () => {
    expectWarnings(TEXT);
    const clock = new ManualClock();
    const waiter = createWaiter(createLimiter({ policy: gpu, store: new LaterStore(clock.now) }));
    await waiter.consume("a");
    clock.advance(1_100);
    await waiter.consume("a");
  });

  test("passed a copy of its decision to `settle`", () => {
    expectWarnings(TEXT);
    const { clock, limiter } = world();
    expect(limiter.refund("a", { ...limiter.consume("a") })).toBe(false);
    clock.advance(1_100);
    limiter.consume("a");
  });
});

describe("is silent for", () => {
  test("work that is settled in time, in any order, and beside work that goes on", () => {
    const { clock, limiter } = world();
    for (let i = 0; i < 50; i++) {
      const [first, second] = [limiter.consume("a"), limiter.consume("b")];
      limiter.settle("b", second, 0);
      clock.advance(900);
      limiter.refund("a", first);
      clock.advance(900);
    }
  });

  test("`peek`, refusals, a cost of 0, shadow mode and limits without tokens in flight", () => {
    const { clock, limiter } = world();
    const shadowed = createLimiter({ policy: { ...gpu, name: "s" }, store: limiter.store, shadow: true });
    const rates = createLimiter({ policy: rate, store: limiter.store });
    for (let i = 0; i < 9; i++) {
      limiter.peek("a");
      limiter.consume("a", 5);
      limiter.consume("a", 0);
      shadowed.consume("a");
      rates.consume("a");
      clock.advance(2_000);
    }
  });

  test("`run`, whose work is longer than staleAfterMs", async () => {
    vi.useFakeTimers();
    const limiter = createLimiter({ policy: gpu, store: new MemoryStore({ clock: Date.now }) });
    const work = run(limiter, "a", () => new Promise((resolve) => setTimeout(resolve, 5_000)));
    for (let i = 0; i < 6; i++) {
      await vi.advanceTimersByTimeAsync(1_000);
      await run(limiter, "b", () => undefined);
    }
    await work;
  });

  test("tokens that a waiter or a combination gave back because another refused", async () => {
    const { clock, limiter } = world();
    const other = createLimiter({ policy: { ...rate, capacity: 1, refill: { tokens: 1, everyMs: 1e9 } }, store: new MemoryStore({ clock: clock.now }) });
    const both = combine({ limiter, other });
    other.consume("o");
    expect(both.consume({ limiter: "a", other: "o" }).allowed).toBe(false);
    clock.advance(2_000);
    limiter.refund("a", limiter.consume("a"));
  });

  test("a settlement that waits for the store, and a decision of the local share", async () => {
    const clock = new ManualClock();
    const store = new LaterStore(clock.now, { breaker: { failures: 1 } });
    const limiter = createLimiter({ policy: gpu, store });
    const decision: Decision = await limiter.consume("a");
    const { consume } = store;
    store.consume = () => Promise.reject(new Error("down"));
    await limiter.consume("a");
    await expect(limiter.refund("a", decision)).rejects.toMatchObject({ code: "ERR_STORE_OPEN" });
    store.consume = consume;
    clock.advance(2_000);
    // The circuit of the first bucket alone is open.
    expect(await limiter.consume("b")).toMatchObject({ allowed: true, degraded: false });
  });
});
