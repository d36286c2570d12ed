import { createLimiter, definePolicy, MemoryStore, perSecond, createWaiter, WaitError, type AsyncStore, type Decision, type Waiter, type WaitOptions } from "sluice";
import { guard } from "sluice/store";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LaterStore, SlowStore } from "../helpers/stores.js";

const policy = { name: "mail", capacity: 3, refill: perSecond(2) };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const start = (): number => performance.now();
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** The outcome of one wait: when it ended, and its error if it was rejected. */
type Outcome = { readonly at: number; readonly error?: unknown };

/** Starts waits, and records the order and the instants at which they end. */
function diary(waiter: Waiter): { wait: (name: string, key: string, options?: WaitOptions) => void; served: string[]; outcomes: Record<string, Outcome> } {
  const from = start();
  const served: string[] = [];
  const outcomes: Record<string, Outcome> = {};
  return {
    served,
    outcomes,
    wait(name, key, options) {
      waiter.wait(key, options).then(
        () => {
          served.push(name);
          outcomes[name] = { at: performance.now() - from };
        },
        (error: unknown) => void (outcomes[name] = { at: performance.now() - from, error }),
      );
    },
  };
}

const codeOf = (outcome: Outcome | undefined): unknown => (outcome?.error as WaitError | undefined)?.code;

describe("waiting", () => {
  test("takes the tokens that are there at once, then each token as it comes, in order of arrival", async () => {
    const waiter = createWaiter(createLimiter({ policy }));
    const { wait, served, outcomes } = diary(waiter);
    for (const name of ["a", "b", "c", "d", "e", "f"]) wait(name, "smtp");
    await pass(0);
    expect(served).toEqual(["a", "b", "c"]);
    expect(waiter.waiting).toBe(3);
    await pass(10_000);
    expect(Object.entries(outcomes).map(([name, { at }]) => [name, at])).toEqual([["a", 0], ["b", 0], ["c", 0], ["d", 500], ["e", 1_000], ["f", 1_500]]);
    expect(waiter.waiting).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a small cost does not overtake the first caller", async () => {
    const { wait, outcomes } = diary(createWaiter(createLimiter({ policy })));
    wait("takes all", "smtp", { cost: 3 });
    wait("large", "smtp", { cost: 3 });
    wait("small", "smtp", { cost: 1 });
    wait("free", "smtp", { cost: 0 });
    wait("other key", "imap", { cost: 1 });
    await pass(2_000);
    expect(outcomes).toEqual({ "takes all": { at: 0 }, "other key": { at: 0 }, large: { at: 1_500 }, small: { at: 2_000 }, free: { at: 2_000 } });
  });

  test("resolves with the decision that took the tokens", async () => {
    const waiter = createWaiter(createLimiter({ policy }));
    await waiter.wait("smtp", 3);
    const decision = waiter.wait("smtp", 2);
    await pass(1_000);
    expect(await decision).toMatchObject({ allowed: true, cost: 2, remaining: 0, retryAfterMs: 0 });
  });

  test("follows each call's own policy, with one queue for a policy name", async () => {
    const pro = definePolicy({ name: "mail", capacity: 30, refill: perSecond(20) });
    const bulk = definePolicy({ name: "bulk", capacity: 1, refill: perSecond(1) });
    const { wait, outcomes } = diary(createWaiter(createLimiter({ policy })));
    wait("all of it", "smtp", { cost: 30, policy: pro });
    wait("as pro", "smtp", { policy: pro });
    wait("as pro again", "smtp", { policy: pro, cost: 2 });
    wait("elsewhere", "smtp", { policy: bulk });
    await pass(150);
    expect(outcomes).toEqual({ "all of it": { at: 0 }, elsewhere: { at: 0 }, "as pro": { at: 50 }, "as pro again": { at: 150 } });
  });

  test("keeps to its key when the caller changes the tuple afterwards", async () => {
    const limiter = createLimiter({ policy });
    const waiter = createWaiter(limiter);
    const key: [string, string] = ["host", "smtp"];
    await waiter.wait(key, 3);
    void waiter.wait(key);
    key[1] = "imap";
    await pass(500);
    expect([waiter.waiting, limiter.peek(["host", "smtp"]).remaining, limiter.peek(["host", "imap"]).remaining]).toEqual([0, 0, 3]);
  });

  test("lasts longer than a timer can hold", async () => {
    const month = 30 * 86_400_000;
    const { wait, outcomes } = diary(createWaiter(createLimiter({ policy: { capacity: 1, refill: { tokens: 1, everyMs: month } } })));
    wait("now", "a");
    wait("in a month", "a");
    await pass(month - 1);
    expect(outcomes["in a month"]).toBeUndefined();
    await pass(1);
    expect(outcomes["in a month"]).toEqual({ at: month });
  });

  test("takes and asks nothing when a timer fires early", async () => {
    const store = new MemoryStore();
    const asked = vi.spyOn(store, "consume");
    const { wait, outcomes } = diary(createWaiter(createLimiter({ policy, store })));
    wait("all", "smtp", { cost: 3 });
    wait("next", "smtp");
    await pass(0);
    const before = asked.mock.calls.length;
    const { setTimeout: real } = globalThis;
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((ring: () => void, ms: number) => real(ring, ms / 2)) as typeof setTimeout);
    wait("later", "smtp");
    await pass(499);
    expect(asked.mock.calls.length).toBe(before);
    await pass(501);
    expect(outcomes).toEqual({ all: { at: 0 }, next: { at: 500 }, later: { at: 1_000 } });
    vi.restoreAllMocks();
  });

  test("costs one call for each caller while no other process takes tokens, and one timer", async () => {
    const store = new LaterStore(() => Math.floor(performance.now()));
    const asked = vi.spyOn(store, "consume");
    const waiter = createWaiter(createLimiter({ policy: { capacity: 10, refill: perSecond(100) }, store, storeTimeoutMs: Infinity }));
    const all = Array.from({ length: 100 }, () => waiter.wait("smtp"));
    await pass(50);
    expect(vi.getTimerCount()).toBe(1);
    await pass(10_000);
    await Promise.all(all);
    expect(asked.mock.calls.length).toBe(100);
  });
});

describe("rejects", () => {
  test("at once a caller whose tokens come after its `maxWaitMs`, and no other", async () => {
    const { wait, outcomes } = diary(createWaiter(createLimiter({ policy }), { maxWaitMs: 1_000 }));
    for (const name of ["a", "b", "c", "d", "e", "f"]) wait(name, "smtp");
    wait("patient", "smtp", { maxWaitMs: 1_500 });
    wait("impatient", "smtp", { maxWaitMs: 1_999 });
    await pass(0);
    expect([outcomes["f"], outcomes["impatient"]].map(codeOf)).toEqual(["ERR_WAIT_TOO_LONG", "ERR_WAIT_TOO_LONG"]);
    expect(outcomes["f"]?.error).toMatchObject({ waitMs: 1_500, message: "Expected tokens within `maxWaitMs`, got a wait of 1500 ms. Try again after it" });
    await pass(5_000);
    expect([outcomes["e"]?.at, outcomes["patient"]?.at]).toEqual([1_000, 1_500]);
  });

  test("callers with a `maxWaitMs` of 0 whose tokens are not there", async () => {
    const { wait, outcomes } = diary(createWaiter(createLimiter({ policy, store: new LaterStore(() => performance.now()) }), { maxWaitMs: 0 }));
    for (const name of ["a", "b", "c", "d", "e"]) wait(name, "smtp");
    await pass(0);
    expect(["a", "b", "c", "d", "e"].map((name) => codeOf(outcomes[name]))).toEqual([undefined, undefined, undefined, "ERR_WAIT_TOO_LONG", "ERR_WAIT_TOO_LONG"]);
    expect(Object.keys(outcomes)).toHaveLength(5);
  });

  test("L2 · no caller whose tokens are there, also with a `maxWaitMs` of 0 over a slow store", async () => {
    const plenty = { capacity: 1_000, refill: perSecond(1_000) };
    const { wait, outcomes } = diary(createWaiter(createLimiter({ policy: plenty, store: new SlowStore(3) }), { maxWaitMs: 0 }));
    const names = Array.from({ length: 10 }, (_, i) => `call ${i}`);
    for (const name of names) wait(name, "smtp");
    await pass(1_000);
    expect(names.map((name) => outcomes[name])).toEqual(names.map(() => ({ at: 3 })));
  });

  // A store that never answers holds callers up: while a fallback decides, they are asked for one by one.
  const hangs = { sync: false, guard, clock: "server", consume: () => new Promise<Decision>(() => undefined) } as const;
  const overHanging = () => {
    const consume = vi.fn(hangs.consume);
    const limiter = createLimiter({ policy: { capacity: 1, refill: perSecond(1) }, store: { ...hangs, consume }, storeTimeoutMs: 100, onStoreError: "allow", breaker: false });
    return { consume, ...diary(createWaiter(limiter)) };
  };

  test("L2 · a caller that the store holds up for longer than its `maxWaitMs` and one `storeTimeoutMs`", async () => {
    const { wait, served, outcomes, consume } = overHanging();
    for (let i = 0; i < 40; i++) wait(`${i}`, "smtp", { maxWaitMs: 200 });
    wait("patient", "smtp");
    await pass(5_000);
    // A call takes 100 ms; one is sent at 300 at the latest.
    expect(served).toEqual(["0", "1", "2", "3", "patient"]);
    expect([outcomes["3"], outcomes["patient"]]).toEqual([{ at: 400 }, { at: 500 }]);
    expect(outcomes["4"]).toMatchObject({
      at: 400,
      error: { code: "ERR_WAIT_TOO_LONG", waitMs: 0, message: "Expected the store to answer within `maxWaitMs`, got an answer 200 ms later. Look for a slow store" },
    });
    expect(consume.mock.calls.length).toBe(5);
  });

  test("a caller behind patient ones, as soon as its own time is over", async () => {
    const { wait, outcomes } = overHanging();
    for (let i = 0; i < 9; i++) wait(`patient ${i}`, "smtp");
    wait("impatient", "smtp", { maxWaitMs: 100 });
    wait("another", "smtp", { maxWaitMs: 250 });
    await pass(5_000);
    expect([outcomes["impatient"]?.at, outcomes["another"]?.at, outcomes["patient 8"]?.at]).toEqual([300, 400, 900]);
  });

  test("L2 · a caller whose tokens come too late because the timer did", async () => {
    const limiter = createLimiter({ policy: { capacity: 1, refill: perSecond(10) } });
    const { wait, outcomes } = diary(createWaiter(limiter));
    wait("now", "smtp");
    wait("first", "smtp", { maxWaitMs: 200 });
    wait("second", "smtp", { maxWaitMs: 200 });
    await pass(0);
    // The process is blocked for a while, and a full bucket gains nothing.
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + 150);
    await pass(100);
    vi.restoreAllMocks();
    expect([outcomes["first"]?.error, codeOf(outcomes["second"])]).toEqual([undefined, "ERR_WAIT_TOO_LONG"]);
  });

  test("no caller for the time between two readings of the clock", async () => {
    // A clock that moves with each reading, as a real one may.
    let now = 0;
    vi.spyOn(performance, "now").mockImplementation(() => (now += 1));
    const waiter = createWaiter(createLimiter({ policy: { capacity: 1_000, refill: perSecond(1_000) } }), { maxWaitMs: 0 });
    const other = waiter.wait("smtp");
    for (let i = 0; i < 50; i++) expect((await waiter.wait("smtp")).allowed).toBe(true);
    await other;
    vi.restoreAllMocks();
  });

  test("at once a cost above the capacity, without a call", async () => {
    const limiter = createLimiter({ policy });
    const waiter = createWaiter(limiter);
    const error: unknown = await waiter.wait("smtp", 4).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(WaitError);
    expect(error).toMatchObject({ code: "ERR_WAIT_NEVER", waitMs: Infinity, message: "Expected `cost` to be at most the capacity, 3, got 4. Split the work, or raise the capacity" });
    expect(limiter.peek("smtp").remaining).toBe(3);
  });

  test("at once when `maxWaitersPerKey` callers wait for this key", async () => {
    const waiter = createWaiter(createLimiter({ policy }), { maxWaitersPerKey: 2 });
    const { wait, outcomes } = diary(waiter);
    wait("all", "smtp", { cost: 3 });
    await pass(0);
    for (const name of ["a", "b", "c"]) wait(name, "smtp");
    wait("other key", "imap");
    await pass(0);
    expect(outcomes["c"]?.error).toMatchObject({ code: "ERR_WAIT_FULL", waitMs: null, message: "Expected at most 2 callers waiting for one key (`maxWaitersPerKey`), got one more. Shed load, or raise `maxWaitersPerKey`" });
    expect(Object.keys(outcomes).sort()).toEqual(["all", "c", "other key"]);
    expect(waiter.waiting).toBe(2);
  });

  test("callers as soon as it is known that other callers took their tokens", async () => {
    const limiter = createLimiter({ policy });
    const { wait, outcomes } = diary(createWaiter(limiter));
    wait("all", "smtp", { cost: 3 });
    wait("first", "smtp", { maxWaitMs: 1_000 });
    wait("second", "smtp", { maxWaitMs: 1_499 });
    wait("third", "smtp", { maxWaitMs: 2_400, cost: 2 });
    wait("fourth", "smtp", { maxWaitMs: 2_500 });
    await pass(499);
    // The bucket is empty again, which the first caller learns 1 ms later.
    limiter.reset("smtp");
    limiter.consume("smtp", 3);
    await pass(1);
    expect(codeOf(outcomes["third"])).toBe("ERR_WAIT_TOO_LONG");
    expect(outcomes["third"]).toMatchObject({ at: 500, error: { waitMs: 1_999 } });
    await pass(5_000);
    // Without the third, the fourth is served earlier than expected.
    expect(outcomes).toMatchObject({ first: { at: 999 }, second: { at: 1_499 }, fourth: { at: 1_999 } });
  });

  test("no caller when other callers refunded tokens, which are used at once", async () => {
    const limiter = createLimiter({ policy });
    const { wait, outcomes } = diary(createWaiter(limiter));
    wait("all", "smtp", { cost: 3 });
    wait("first", "smtp");
    wait("second", "smtp");
    await pass(499);
    limiter.refund("smtp", 1);
    // At 500 the first is served, and there is one left for the second.
    await pass(1);
    expect(outcomes).toEqual({ all: { at: 0 }, first: { at: 500 }, second: { at: 500 } });
  });

  test("with an error for programs: a stable code and the wait", async () => {
    const waiter = createWaiter(createLimiter({ policy }), { maxWaitMs: 0 });
    await waiter.wait("smtp", 3);
    const error = (await waiter.wait("smtp", 2).catch((reason: unknown) => reason)) as WaitError;
    expect([error.name, error.code, error.waitMs]).toEqual(["WaitError", "ERR_WAIT_TOO_LONG", 1_000]);
  });
});

describe("cancelling", () => {
  test("leaves nothing behind: no tokens taken, no place, no timer, no listener", async () => {
    const limiter = createLimiter({ policy });
    const waiter = createWaiter(limiter);
    const { wait, outcomes } = diary(waiter);
    const cancel = new AbortController();
    const [added, removed] = [vi.spyOn(cancel.signal, "addEventListener"), vi.spyOn(cancel.signal, "removeEventListener")];
    wait("all", "smtp", { cost: 3, signal: cancel.signal });
    await pass(0);
    wait("cancelled", "smtp", { cost: 3, signal: cancel.signal });
    wait("after it", "smtp");
    wait("cancelled, too", "smtp", { signal: cancel.signal });
    await pass(100);
    const reason = new Error("shutting down");
    cancel.abort(reason);
    await pass(0);
    expect([outcomes["cancelled"], outcomes["cancelled, too"]]).toEqual([{ at: 100, error: reason }, { at: 100, error: reason }]);
    await pass(400);
    expect(outcomes["after it"]).toEqual({ at: 500 });
    expect(limiter.peek("smtp").resetMs).toBe(1_500);
    expect([waiter.waiting, vi.getTimerCount()]).toEqual([0, 0]);
    // One listener at a time, and each of them gone: the first with "all", the second because it was called.
    expect([added.mock.calls.length, removed.mock.calls.length]).toEqual([2, 1]);
  });

  test("sends no call for a signal that was aborted before", async () => {
    const limiter = createLimiter({ policy });
    await expect(createWaiter(limiter).wait("smtp", { signal: AbortSignal.abort("no more") })).rejects.toBe("no more");
    expect(limiter.peek("smtp").remaining).toBe(3);
  });

  test("takes nothing for callers that one signal cancels, also when the next one's tokens are there", async () => {
    const limiter = createLimiter({ policy });
    const { wait, served } = diary(createWaiter(limiter));
    const cancel = new AbortController();
    wait("all", "smtp", { cost: 2 });
    wait("large", "smtp", { cost: 3, signal: cancel.signal });
    wait("small", "smtp", { cost: 1, signal: cancel.signal });
    await pass(0);
    cancel.abort();
    await pass(0);
    expect(served).toEqual(["all"]);
    expect(limiter.peek("smtp").remaining).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("lets the next caller go on at once if its tokens are there", async () => {
    const { wait, outcomes } = diary(createWaiter(createLimiter({ policy })));
    const cancel = new AbortController();
    wait("all", "smtp", { cost: 2 });
    wait("large", "smtp", { cost: 3, signal: cancel.signal });
    wait("small", "smtp", { cost: 1 });
    await pass(10);
    cancel.abort();
    await pass(0);
    expect(outcomes["small"]).toEqual({ at: 10 });
  });

  test("while a call is under way leaves its tokens to the next caller", async () => {
    const store = new LaterStore(() => performance.now());
    const asked = vi.spyOn(store, "consume");
    const limiter = createLimiter({ policy, store });
    const { wait, outcomes } = diary(createWaiter(limiter));
    const cancel = new AbortController();
    wait("cancelled", "smtp", { cost: 3, signal: cancel.signal });
    wait("next", "smtp", { cost: 3 });
    await Promise.resolve(); // The first call is sent.
    expect(asked.mock.calls.length).toBe(1);
    cancel.abort("enough");
    await pass(0);
    expect(outcomes).toEqual({ cancelled: { at: 0, error: "enough" }, next: { at: 0 } });
    expect(store.inner.peek(limiter.policy, "smtp", 0).resetMs).toBe(1_500);
  });

  test("over a store without `refund` loses the tokens, and nothing else", async () => {
    const inner = new LaterStore(() => performance.now());
    const store: AsyncStore = { sync: false, guard, clock: "server", consume: (...asked) => inner.consume(...asked) };
    const limiter = createLimiter({ policy, store });
    const waiter = createWaiter(limiter);
    const { wait, outcomes } = diary(waiter);
    const cancel = new AbortController();
    wait("cancelled", "smtp", { cost: 3, signal: cancel.signal });
    wait("next", "smtp", { cost: 1 });
    await Promise.resolve(); // The first call is sent.
    cancel.abort("enough");
    await pass(500);
    expect(outcomes).toEqual({ cancelled: { at: 0, error: "enough" }, next: { at: 500 } });
    expect(waiter.waiting).toBe(0);
  });
});

describe("a store that fails", () => {
  const outage = new Error("connection refused");
  const away = { sync: false, guard, clock: "server", consume: () => Promise.reject<Decision>(outage) } as const;

  test("without a fallback rejects all callers, with the cause", async () => {
    const waiter = createWaiter(createLimiter({ policy, store: away, onStoreError: "unavailable" }));
    const { wait, outcomes } = diary(waiter);
    for (const name of ["a", "b"]) wait(name, "smtp");
    await pass(0);
    expect(Object.values(outcomes).map(codeOf)).toEqual(["ERR_WAIT_STORE_UNAVAILABLE", "ERR_WAIT_STORE_UNAVAILABLE"]);
    expect(outcomes["a"]?.error).toMatchObject({ waitMs: null, cause: outage });
    expect(waiter.waiting).toBe(0);
  });

  test("with a local share is followed at the share's pace, without a needless call", async () => {
    const asked = vi.fn(away.consume);
    const waiter = createWaiter(createLimiter({ policy: { capacity: 4, refill: perSecond(2) }, store: { ...away, consume: asked }, localShare: 0.5, breaker: false }));
    const { wait, outcomes } = diary(waiter);
    for (const name of ["a", "b", "c", "d"]) wait(name, "smtp");
    wait("impatient", "smtp", { maxWaitMs: 900 });
    await pass(5_000);
    expect(outcomes).toEqual({ a: { at: 0 }, b: { at: 0 }, c: { at: 1_000 }, d: { at: 2_000 }, impatient: { at: 0, error: expect.any(WaitError) as unknown } });
    // Two calls for each of the two callers that had to wait, one for the others.
    expect(asked.mock.calls.length).toBe(6);
  });

  test("with `onStoreError: \"allow\"` lets every caller through", async () => {
    const { wait, served } = diary(createWaiter(createLimiter({ policy, store: away, onStoreError: "allow" })));
    for (const name of ["a", "b", "c", "d"]) wait(name, "smtp");
    await pass(0);
    expect(served).toEqual(["a", "b", "c", "d"]);
  });

  test("a clock that returns NaN is misuse, and rejects the call", async () => {
    let now = Number.NaN;
    const waiter = createWaiter(createLimiter({ policy, store: new MemoryStore({ clock: () => now }) }));
    await expect(waiter.wait("smtp")).rejects.toThrow("Expected `clock()` to be a finite number");
    now = 0;
    expect((await waiter.wait("smtp")).allowed).toBe(true);
  });
});

test("a limiter in shadow mode lets every caller through at once, and counts as usual", async () => {
  const limiter = createLimiter({ policy, shadow: true });
  const waiter = createWaiter(limiter, { maxWaitMs: 0 });
  const decisions = await Promise.all([1, 3, 1, 9].map((cost) => waiter.wait("smtp", cost)));
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, true]);
  expect(decisions.map((decision) => (decision.allowed ? decision.shadow?.reason : null))).toEqual([undefined, "limited", undefined, "cost_above_capacity"]);
  expect(waiter.waiting).toBe(0);
});

describe("misuse", () => {
  const limiter = createLimiter({ policy });

  test.each([
    ["limiter", () => createWaiter(undefined as never), "Expected `limiter` to be made by createLimiter or combine, got undefined"],
    ["options", () => createWaiter(limiter, 5 as never), "Expected `options` to be an object, got 5"],
    ["a misspelt option", () => createWaiter(limiter, { maxWait: 5 } as never), "Unknown option `maxWait`. Did you mean `maxWaitMs`?"],
    ["maxWaitMs", () => createWaiter(limiter, { maxWaitMs: -1 }), "Expected `maxWaitMs` to be a whole number of at least 0, got -1"],
    ["maxWaiters", () => createWaiter(limiter, { maxWaiters: 0 }), "Expected `maxWaiters` to be a positive integer, got 0"],
    ["maxWaitersPerKey", () => createWaiter(limiter, { maxWaitersPerKey: 1.5 }), "Expected `maxWaitersPerKey` to be a positive integer, got 1.5"],
    ["jitterMs", () => createWaiter(limiter, { jitterMs: -1 }), "Expected `jitterMs` to be a whole number of at least 0, got -1"],
  ])("of %s throws", (_, call, message) => {
    expect(call).toThrow(message);
  });

  test.each<[what: string, key: string, asked: unknown, message: string]>([
    ["the key", "", 1, "Expected `key` to be a non-empty string, got an empty one"],
    ["the cost", "smtp", 1.5, "Expected `cost` to be a whole number of at least 0, got 1.5"],
    ["null", "smtp", null, "Expected `asked` to be a cost or an object, got null"],
    ["a misspelt option", "smtp", { maxWait: 5 }, "Unknown option `maxWait`. Known options: `cost`, `policy`"],
    ["maxWaitMs", "smtp", { maxWaitMs: Number.NaN }, "Expected `maxWaitMs` to be a whole number of at least 0, got NaN"],
    ["the policy", "smtp", { policy: {} }, "Expected `policy` to be made by definePolicy, got an object"],
    ["the signal", "smtp", { signal: {} }, "Expected `signal` to be an AbortSignal, got an object"],
  ])("of %s rejects, and takes nothing", async (_, key, asked, message) => {
    const waiter = createWaiter(limiter);
    await expect(waiter.wait(key, asked as WaitOptions)).rejects.toThrow(message);
    expect([waiter.waiting, limiter.peek("smtp").remaining]).toEqual([0, 3]);
  });
});
