import { combine, createLimiter, createObserver, createWaiter, definePolicy, MemoryStore, perSecond, unlimited, type AsyncStore, type Decision, type LimiterEvent, type Waiter, type WaiterConsumeOptions } from "sluice";
import { guard } from "sluice/store";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LaterStore, SlowStore } from "../../helpers/stores.js";
import { expectWarnings } from "../../setup/warnings.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import { storeOf } from "../../helpers/store-of.js";
import { spyOnVerb } from "../../helpers/spy-on-verb.js";

const policy = { name: "mail", capacity: 3, refill: perSecond(2) };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

const start = (): number => performance.now();
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** The outcome of one wait: when it ended, and its refusal or its error. */
type Outcome = { readonly at: number; readonly refusal?: Decision; readonly error?: unknown };

/** Starts waits, and records the order and the instants at which they end. */
function diary(waiter: Waiter): { wait: (name: string, key: string, options?: WaiterConsumeOptions) => void; served: string[]; outcomes: Record<string, Outcome> } {
  const from = start();
  const served: string[] = [];
  const outcomes: Record<string, Outcome> = {};
  return {
    served,
    outcomes,
    wait(name, key, options) {
      waiter.consume(key, options).then(
        (decision) => {
          if (decision.allowed) served.push(name);
          outcomes[name] = { at: performance.now() - from, ...(decision.allowed ? {} : { refusal: decision }) };
        },
        (error: unknown) => void (outcomes[name] = { at: performance.now() - from, error }),
      );
    },
  };
}

const reasonOf = (outcome: Outcome | undefined): unknown => outcome?.refusal?.reason;

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
    await waiter.consume("smtp", 3);
    const decision = waiter.consume("smtp", 2);
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
    await waiter.consume(key, 3);
    void waiter.consume(key);
    key[1] = "imap";
    await pass(500);
    expect([waiter.waiting, limiter.peek(["host", "smtp"]).remaining, limiter.peek(["host", "imap"]).remaining]).toEqual([0, 0, 3]);
  });

  test("lasts longer than a timer can hold", async () => {
    const month = 30 * 86_400_000;
    const timers = vi.spyOn(globalThis, "setTimeout");
    const { wait, served } = diary(createWaiter(createLimiter({ policy: { capacity: 1, refill: { tokens: 1, everyMs: month } } })));
    wait("now", "a");
    wait("in a month", "a");
    await pass(2_000);
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + month - 3_000);
    await pass(999);
    expect(served).toEqual(["now"]);
    await pass(1_000);
    expect(served).toEqual(["now", "in a month"]);
    expect(Math.max(...timers.mock.calls.map(([, ms]) => ms ?? 0))).toBe(2 ** 31 - 1);
    vi.restoreAllMocks();
  });

  test("takes and asks nothing when a timer fires early", async () => {
    const store = new MemoryStore();
    const asked = spyOnVerb(store, "consume");
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
    const store = new LaterStore(() => Math.floor(performance.now()), { timeoutMs: Infinity });
    const asked = vi.spyOn(store, "consume");
    const waiter = createWaiter(createLimiter({ policy: { capacity: 10, refill: perSecond(100) }, store }));
    const all = Array.from({ length: 100 }, () => waiter.consume("smtp"));
    await pass(50);
    expect(vi.getTimerCount()).toBe(1);
    await pass(10_000);
    await Promise.all(all);
    expect(asked.mock.calls.length).toBe(100);
  });
});

describe("refuses", () => {
  test("at once a caller whose tokens come after its `maxWaitMs`, and no other", async () => {
    const { wait, outcomes } = diary(createWaiter(createLimiter({ policy }), { maxWaitMs: 1_000 }));
    for (const name of ["a", "b", "c", "d", "e", "f"]) wait(name, "smtp");
    wait("patient", "smtp", { maxWaitMs: 1_500 });
    wait("impatient", "smtp", { maxWaitMs: 1_999 });
    await pass(0);
    expect([outcomes["f"], outcomes["impatient"]].map(reasonOf)).toEqual(["limited", "limited"]);
    expect(outcomes["f"]?.refusal).toMatchObject({ allowed: false, retryAfterMs: 1_500, cost: 1, capacity: 3, remaining: 0, degraded: false });
    await pass(5_000);
    expect([outcomes["e"]?.at, outcomes["patient"]?.at]).toEqual([1_000, 1_500]);
  });

  test("callers with a `maxWaitMs` of 0 whose tokens are not there", async () => {
    const { wait, outcomes } = diary(createWaiter(createLimiter({ policy, store: new LaterStore(() => performance.now()) }), { maxWaitMs: 0 }));
    for (const name of ["a", "b", "c", "d", "e"]) wait(name, "smtp");
    await pass(0);
    expect(["a", "b", "c", "d", "e"].map((name) => reasonOf(outcomes[name]))).toEqual([undefined, undefined, undefined, "limited", "limited"]);
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
  const overHanging = () => {
    const consume = vi.fn(() => new Promise<Decision>(() => undefined));
    const store = storeOf({ sync: false, guard: guard({ breaker: false }), clock: "server", consume } as const);
    const limiter = createLimiter({ policy: { capacity: 1, refill: perSecond(1) }, store, onStoreError: "allow" });
    return { consume, ...diary(createWaiter(limiter)) };
  };

  test("L2 · a caller that the store holds up for longer than its `maxWaitMs` and one `timeoutMs` of the store", async () => {
    const { wait, served, outcomes, consume } = overHanging();
    for (let i = 0; i < 40; i++) wait(`${i}`, "smtp", { maxWaitMs: 200 });
    wait("patient", "smtp");
    await pass(5_000);
    // A call takes 100 ms; one is sent at 300 at the latest.
    expect(served).toEqual(["0", "1", "2", "3", "patient"]);
    expect([outcomes["3"], outcomes["patient"]]).toEqual([{ at: 400 }, { at: 500 }]);
    expect(outcomes["4"]).toMatchObject({
      at: 400,
      refusal: { reason: "store_unavailable", retryAfterMs: 1, degraded: true, error: { code: "ERR_STORE_TIMEOUT" } },
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
    expect([outcomes["first"]?.refusal, reasonOf(outcomes["second"])]).toEqual([undefined, "limited"]);
  });

  test("no caller for the time between two readings of the clock", async () => {
    // A clock that moves with each reading, as a real one may.
    let now = 0;
    vi.spyOn(performance, "now").mockImplementation(() => (now += 1));
    const waiter = createWaiter(createLimiter({ policy: { capacity: 1_000, refill: perSecond(1_000) } }), { maxWaitMs: 0 });
    const other = waiter.consume("smtp");
    for (let i = 0; i < 50; i++) expect((await waiter.consume("smtp")).allowed).toBe(true);
    await other;
    vi.restoreAllMocks();
  });

  test("at once a cost above the capacity, without a place in the queue", async () => {
    const limiter = createLimiter({ policy });
    const waiter = createWaiter(limiter);
    limiter.consume("smtp", 2);
    void waiter.consume("smtp", 3);
    expect(await waiter.consume("smtp", 4)).toEqual(limiter.peek("smtp", 4));
    expect([waiter.waiting, limiter.peek("smtp").remaining]).toEqual([1, 1]);
  });

  test("at once when `maxWaitersPerKey` callers wait for this key", async () => {
    const waiter = createWaiter(createLimiter({ policy }), { maxWaitersPerKey: 2 });
    const { wait, outcomes } = diary(waiter);
    wait("all", "smtp", { cost: 3 });
    await pass(0);
    for (const name of ["a", "b", "c"]) wait(name, "smtp");
    wait("other key", "imap");
    await pass(0);
    // Behind the two that wait.
    expect(outcomes["c"]?.refusal).toMatchObject({ reason: "limited", retryAfterMs: 1_500, remaining: 0 });
    expect(Object.keys(outcomes).sort()).toEqual(["all", "c", "other key"]);
    expect(waiter.waiting).toBe(2);
  });

  test("callers as soon as it is known that other callers took their tokens", async () => {
    const store = new MemoryStore();
    const limiter = createLimiter({ policy, store });
    const { wait, outcomes } = diary(createWaiter(limiter));
    wait("all", "smtp", { cost: 3 });
    wait("first", "smtp", { maxWaitMs: 1_000 });
    wait("second", "smtp", { maxWaitMs: 1_499 });
    wait("third", "smtp", { maxWaitMs: 2_400, cost: 2 });
    wait("fourth", "smtp", { maxWaitMs: 2_500 });
    await pass(499);
    // In another process. The bucket is empty again, which the first caller learns 1 ms later.
    callsOf(store).reset(limiter.policy, "smtp");
    callsOf(store).consume(limiter.policy, "smtp", 3);
    await pass(1);
    expect(reasonOf(outcomes["third"])).toBe("limited");
    expect(outcomes["third"]).toMatchObject({ at: 500, refusal: { retryAfterMs: 1_999, cost: 2 } });
    await pass(5_000);
    // Without the third, the fourth is served earlier than expected.
    expect(outcomes).toMatchObject({ first: { at: 999 }, second: { at: 1_499 }, fourth: { at: 1_999 } });
  });

  test("with a decision whose `retryAfterMs` is the wait", async () => {
    const limiter = createLimiter({ policy });
    const waiter = createWaiter(limiter, { maxWaitMs: 0 });
    await waiter.consume("smtp", 3);
    expect(await waiter.consume("smtp", 2)).toEqual(limiter.peek("smtp", 2));
  });

  test("with a decision that names the limit that binds, with all readings", async () => {
    const limits = [{ name: "calls", capacity: 5, refill: perSecond(1) }, { name: "tokens", capacity: 100, refill: perSecond(10) }];
    const waiter = createWaiter(createLimiter({ policy: { name: "llm", limits } }), { maxWaitMs: 4_000 });
    await waiter.consume("ann", { cost: { calls: 1, tokens: 100 } });
    void waiter.consume("ann", { cost: { calls: 1, tokens: 40 } });
    await pass(0);
    const refusal = await waiter.consume("ann", { cost: { calls: 1, tokens: 20 } });
    expect(refusal).toMatchObject({ allowed: false, reason: "limited", policy: "llm", limit: "tokens", retryAfterMs: 6_000, remaining: 0 });
    expect(refusal.limits).toMatchObject([{ limit: "calls", retryAfterMs: 0, remaining: 3 }, { limit: "tokens", retryAfterMs: 6_000, remaining: 0 }]);
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
    await expect(createWaiter(limiter).consume("smtp", { signal: AbortSignal.abort("no more") })).rejects.toBe("no more");
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

  test("by a store that aborts while it decides for the next caller returns the tokens of the first", async () => {
    const store = new MemoryStore();
    const cancel = new AbortController();
    const ask = store.ask.bind(store);
    let calls = 0;
    vi.spyOn(store, "ask").mockImplementation((call) => {
      if (call.verb === "consume" && ++calls === 2) cancel.abort("enough");
      return ask(call);
    });
    const limiter = createLimiter({ policy, store });
    const { wait, outcomes } = diary(createWaiter(limiter));
    wait("first", "smtp", { signal: cancel.signal });
    wait("second", "smtp");
    await pass(0);
    expect([outcomes, limiter.peek("smtp").remaining]).toEqual([{ first: { at: 0, error: "enough" }, second: { at: 0 } }, 2]);
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
    expect(callsOf(store.inner).peek(limiter.policy, "smtp", 0).resetMs).toBe(1_500);
  });

  test("over a store without `refund` loses the tokens, and nothing else", async () => {
    const inner = new LaterStore(() => performance.now());
    const store: AsyncStore = storeOf({ sync: false, guard: guard(), clock: "server", consume: (...asked) => inner.consume(...asked) });
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
  const away = () => ({ sync: false, guard: guard({ breaker: false }), clock: "server", ask: () => Promise.reject<never>(outage) }) as const;

  test("without a fallback refuses all callers, with the error", async () => {
    const waiter = createWaiter(createLimiter({ policy, store: away(), onStoreError: "unavailable" }));
    const { wait, outcomes } = diary(waiter);
    for (const name of ["a", "b"]) wait(name, "smtp");
    await pass(0);
    expect(Object.values(outcomes).map(reasonOf)).toEqual(["store_unavailable", "store_unavailable"]);
    expect(outcomes["a"]?.refusal).toMatchObject({ retryAfterMs: 1_000, degraded: true, error: outage });
    expect(waiter.waiting).toBe(0);
  });

  test("with a local share is followed at the share's pace, without a needless call", async () => {
    expectWarnings("SLUICE_STORE_UNAVAILABLE");
    const asked = vi.fn(away().ask);
    const waiter = createWaiter(createLimiter({ policy: { capacity: 4, refill: perSecond(2) }, store: { ...away(), ask: asked } }));
    const { wait, outcomes } = diary(waiter);
    for (const name of ["a", "b", "c", "d"]) wait(name, "smtp");
    wait("impatient", "smtp", { maxWaitMs: 900 });
    await pass(5_000);
    expect(outcomes).toEqual({ a: { at: 0 }, b: { at: 0 }, c: { at: 1_000 }, d: { at: 2_000 }, impatient: { at: 0, refusal: expect.objectContaining({ reason: "store_unavailable", degraded: true, retryAfterMs: 1_000, error: outage }) as Decision } });
    // Two calls for each of the two callers that had to wait, one for the others.
    expect(asked.mock.calls.length).toBe(6);
  });

  test("with `onStoreError: \"allow\"` lets every caller through", async () => {
    const { wait, served } = diary(createWaiter(createLimiter({ policy, store: away(), onStoreError: "allow" })));
    for (const name of ["a", "b", "c", "d"]) wait(name, "smtp");
    await pass(0);
    expect(served).toEqual(["a", "b", "c", "d"]);
  });

  test("a clock that returns NaN is misuse, and rejects the call", async () => {
    let now = Number.NaN;
    const waiter = createWaiter(createLimiter({ policy, store: new MemoryStore({ clock: () => now }) }));
    await expect(waiter.consume("smtp")).rejects.toThrow("Expected `clock()` to be a finite number");
    now = 0;
    expect((await waiter.consume("smtp")).allowed).toBe(true);
  });
});

describe("calls that never wait", () => {
  test("a limiter in shadow mode lets every caller through at once, and counts as usual", async () => {
    const limiter = createLimiter({ policy, shadow: true });
    const waiter = createWaiter(limiter, { maxWaitMs: 0 });
    const decisions = await Promise.all([1, 3, 1, 9].map((cost) => waiter.consume("smtp", cost)));
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, true]);
    expect(decisions.map((decision) => (decision.allowed ? decision.shadow?.reason : null))).toEqual([undefined, "limited", undefined, "cost_above_capacity"]);
    expect(waiter.waiting).toBe(0);
  });

  test("a key in shadow mode passes, and another waits", async () => {
    const { wait, outcomes } = diary(createWaiter(createLimiter({ policy, shadow: (key) => key === "trial" })));
    for (const key of ["trial", "smtp"]) for (const name of ["a", "b"]) wait(`${key} ${name}`, key, { cost: 3 });
    await pass(1_500);
    expect(outcomes).toEqual({ "trial a": { at: 0 }, "trial b": { at: 0 }, "smtp a": { at: 0 }, "smtp b": { at: 1_500 } });
  });

  test("the policy `unlimited` passes at once, also behind callers that wait", async () => {
    const waiter = createWaiter(createLimiter({ policy }));
    await waiter.consume("smtp", 3);
    void waiter.consume("smtp");
    expect(await waiter.consume("smtp", { policy: unlimited })).toMatchObject({ allowed: true, capacity: Infinity, limits: [] });
    expect(waiter.waiting).toBe(1);
  });

  test("a call whose signal is aborted while the store answers rejects, and takes nothing", async () => {
    const store = new LaterStore(() => performance.now());
    const limiter = createLimiter({ policy, store, shadow: true });
    const cancel = new AbortController();
    const waiting = createWaiter(limiter).consume("smtp", { signal: cancel.signal });
    cancel.abort("enough");
    await expect(waiting).rejects.toBe("enough");
    expect(callsOf(store.inner).peek(limiter.policy, "smtp", 0).remaining).toBe(3);
  });
});

test("observers are told once of each caller: of its answer, and not of its attempts", async () => {
  const events: LimiterEvent[] = [];
  const store = new MemoryStore();
  const asked = spyOnVerb(store, "consume");
  const limiter = createLimiter({ policy, store, observe: createObserver((event) => void events.push(event)) });
  const waiter = createWaiter(limiter, { maxWaitMs: 1_000 });
  const { wait } = diary(waiter);
  wait("all", "smtp", { cost: 3 });
  wait("waits", "smtp");
  wait("late", "smtp", { cost: 2, maxWaitMs: 1_499 });
  wait("never", "smtp", { cost: 4 });
  const cancel = new AbortController();
  wait("cancelled", "smtp", { signal: cancel.signal, maxWaitMs: 5_000 });
  await pass(100);
  cancel.abort();
  // Another process takes the next token, so the store refuses the attempt at 500.
  callsOf(store).adjust(limiter.policy, "smtp", 1);
  await pass(1_000);
  expect(asked.mock.results.filter(({ value }) => !(value as Decision).allowed)).toHaveLength(2);
  expect(events.map((event) => event.type === "decision" && [event.outcome, event.cost, event.limiter === limiter])).toEqual([
    ["allowed", 3, true], ["limited", 2, true], ["cost_above_capacity", 4, true], ["allowed", 1, true],
  ]);
});

test("the other verbs are those of the limiter, and answer with promises", async () => {
  const limiter = createLimiter({ policy });
  const waiter = createWaiter(limiter);
  const decision = await waiter.consume("smtp", 3);
  expect([waiter.waits, waiter.parts, waiter.shadow("smtp")]).toEqual([true, [limiter], false]);
  expect(await waiter.peek("smtp")).toEqual(limiter.peek("smtp"));
  expect([await waiter.settle("smtp", decision, 1), await waiter.refund("smtp", decision)]).toEqual([true, false]);
  expect(limiter.peek("smtp").remaining).toBe(2);
  await waiter.debit("smtp", 2);
  expect(limiter.peek("smtp").remaining).toBe(0);
  await waiter.credit("smtp", 1);
  expect(limiter.peek("smtp").remaining).toBe(1);
  await waiter.block("smtp", 5_000);
  expect((await waiter.peek("smtp")).retryAfterMs).toBe(5_000);
  await waiter.reset("smtp");
  expect(limiter.peek("smtp").remaining).toBe(3);
  await expect(waiter.debit("smtp", -1)).rejects.toThrow(RangeError);
});

describe("misuse", () => {
  const limiter = createLimiter({ policy });

  test.each([
    ["limiter", () => createWaiter(undefined as never), "Expected `limiter` to be made by createLimiter, combine or createWaiter, got undefined"],
    ["options", () => createWaiter(limiter, 5 as never), "Expected `options` to be an object, got 5"],
    ["a waiter", () => createWaiter(createWaiter(limiter)), "Expected `limiter` not to wait, got a waiter. Write createWaiter(combine({ ... }))"],
    ["a waiter in combine", () => combine({ a: createWaiter(limiter) }), "Write createWaiter(combine({ ... }))"],
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
    ["null", "smtp", null, "Expected `cost` to be a number, or an object with `cost` or `policy`, got null"],
    ["a misspelt option", "smtp", { maxWait: 5 }, "Unknown option `maxWait`. Did you mean `maxWaitMs`?"],
    ["maxWaitMs", "smtp", { maxWaitMs: Number.NaN }, "Expected `maxWaitMs` to be a whole number of at least 0, got NaN"],
    ["the policy", "smtp", { policy: {} }, "Expected `policy` to be made by definePolicy, or `unlimited`, got an object"],
    ["the signal", "smtp", { signal: {} }, "Expected `signal` to be an AbortSignal, got an object"],
  ])("of %s rejects, and takes nothing", async (_, key, asked, message) => {
    const waiter = createWaiter(limiter);
    await expect(waiter.consume(key, asked as WaiterConsumeOptions)).rejects.toThrow(message);
    expect([waiter.waiting, limiter.peek("smtp").remaining]).toEqual([0, 3]);
  });
});
