import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { costAt } from "../../../src/core/limit.js";
import { CallWatch } from "../../../src/testing/store-suite/call-watch.js";
import { casesOf, factoryOf, failureOf } from "./run-case.js";
import { nextTurn, right, wrongStore } from "./wrong-stores-base.js";

const never = (): Promise<never> => new Promise(() => undefined);
const timeoutMs = 40;

describe("no store can hang the suite: a case fails, and names the method and the likely cause", () => {
  test("a call of several parts that takes locks in the order of the charges", async () => {
    const held = new Map<string, Promise<void>>();
    const Deadlocking = wrongStore({
      async consumeTogether(charges) {
        const done: Array<() => void> = [];
        for (const { policy, key } of charges) {
          const name = this.name(policy, key);
          while (held.has(name)) await held.get(name);
          held.set(name, new Promise<void>((resolve) => done.push(() => (held.delete(name), resolve()))));
          await nextTurn();
        }
        const decisions = await right.consumeTogether.call(this, charges);
        for (const release of done) release();
        return decisions;
      },
    });
    const message = await failureOf("L10 · concurrent calls of two parts", { factory: factoryOf(Deadlocking), timeoutMs });
    expect(message).toMatch(/^Expected `consume of several parts` to answer within 40 ms, got nothing\. Waiting are \d+ calls: \d+ of `consume of several parts`\nLikely cause: .*deadlock.*fixed order/);
  });

  test("consume that takes its lock twice", async () => {
    const Reentrant = wrongStore({ consume(policy, key, cost) { return this.server.atomically(() => right.consume.call(this, policy, key, cost)); } });
    const message = await failureOf("L4 · no bucket is forgotten", { factory: factoryOf(Reentrant), timeoutMs });
    expect(message).toBe("Expected `consume` to answer within 40 ms, got nothing\nLikely cause: `consume` never settles its promise, or a lock is taken twice or was not released by an earlier call.");
  });

  test.each([
    ["peek", "L14 · spent tokens still count", wrongStore({ peek: never })],
    ["reset", "reset · makes all limits full", wrongStore({ reset: never })],
    ["adjust", "adjust · refunds up to full", wrongStore({ adjust: never })],
    ["adjust", "adjust · refunds up to full", wrongStore({ adjust: never })],
    ["block", "block · refuses everything", wrongStore({ block: never })],
    ["consume of several parts", "L7 · a decision", wrongStore({ consumeTogether: never })],
    ["close", "close · ", wrongStore({ close: never })],
  ] as const)("%s that never settles", async (method, beginning, Store) => {
    const message = await failureOf(beginning, { factory: factoryOf(Store), timeoutMs });
    expect(message).toMatch(new RegExp(`^Expected \`${method}\` to answer within 40 ms, got nothing.*\\nLikely cause: .+\\.$`, "s"));
  });

  test("a factory that never resolves", async () => {
    expect(await failureOf("L4 · no bucket is forgotten", { factory: never, timeoutMs })).toBe(
      "Expected `factory` to answer within 40 ms, got nothing\nLikely cause: The factory waits for a server that does not answer. Give its connection a timeout.",
    );
  });

  test("a close that never settles fails a case whose other calls were answered, and hides no other failure", async () => {
    expect(await failureOf("L4 · no bucket is forgotten", { factory: factoryOf(wrongStore({ close: never })), timeoutMs })).toMatch(/^Expected `close` to answer/);
    const Wrong = wrongStore({ close: never, lifetimeMs: () => 1 });
    expect(await failureOf("L4 · no bucket is forgotten", { factory: factoryOf(Wrong), timeoutMs })).toMatch(/^Expected `consume 20` to get the core's decision/);
  });

  test("a store that is silent in every case fails all of them that ask it without its guard", async () => {
    const cases = casesOf({ factory: factoryOf(wrongStore({ consume: never, peek: never })), timeoutMs: 2 });
    const passed: string[] = [];
    for (const [name, run] of cases) await run().then(() => passed.push(name), () => undefined);
    expect(passed).toEqual([
      "L12 · `guard` of the store is what the function `guard` returns, with the options of the factory's setup",
      "together · as a function says truly and at once which charges can be taken together (checked if it is one)",
    ]);
  });

  test("a store that refuses every later call", async () => {
    const Refusing = wrongStore({
      async consume(policy, key, cost) {
        if (this.row(policy, key) === undefined) return right.consume.call(this, policy, key, cost);
        const { reason: _, ...decision } = await right.peek.call(this, policy, key, policy.maxCost + 1);
        return { ...decision, cost: costAt(cost, 0), allowed: false, reason: "limited", retryAfterMs: 1 };
      },
    });
    expect(await failureOf("L4 · own clock: nothing", { factory: factoryOf(Refusing) })).toMatch(/^Expected a token after \d+ ms, got refusals for 3\.5 s/);
  });
});

describe("the deadline is one of silence", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const watch = () => new CallWatch({ timeoutMs: 100 }, () => performance.now());
  const after = (ms: number): Promise<string> => new Promise((resolve) => setTimeout(resolve, ms, "answer"));

  test("calls that are answered in turn may take longer all together", async () => {
    const deadline = watch();
    const calls = Promise.all([90, 180, 270, 360].map((ms) => deadline.within(after(ms), "consume")));
    await vi.advanceTimersByTimeAsync(360);
    await expect(calls).resolves.toHaveLength(4);
  });

  test("a call is silent from the last answer of another", async () => {
    const deadline = watch();
    const failed = vi.fn();
    void deadline.within(after(90), "peek");
    void deadline.within(never(), "reset").catch(failed);
    await vi.advanceTimersByTimeAsync(190);
    expect(failed).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(30);
    expect(failed).toHaveBeenCalledOnce();
  });

  test("an answer that waits behind a blocked event loop still counts", async () => {
    const deadline = watch();
    const call = deadline.within(after(101), "consume");
    vi.setSystemTime(Date.now() + 200);
    await vi.advanceTimersByTimeAsync(101);
    await expect(call).resolves.toBe("answer");
  });

  test("after one silence, later calls of the suite get 500 ms at most", async () => {
    const patience = { timeoutMs: 4_000 };
    const failed = vi.fn();
    void new CallWatch(patience, () => performance.now()).within(never(), "consume").catch(failed);
    await vi.advanceTimersByTimeAsync(4_020);
    expect(failed).toHaveBeenCalledOnce();
    expect(patience.timeoutMs).toBe(500);
  });
});
