// The flag of law L15 and its two sides, without a Worker: test/runtimes/workerd has the real ones. Here a request ends as
// it does there: its timers are gone, and what it waited for never comes.
import { createLimiter, createWaiter, definePolicy, MemoryStore, perSecond, type Decision } from "sluice";
import { casStore, sqlStore } from "sluice/store";
import { createFetch } from "sluice/client";
import { createTraffic } from "sluice/client/traffic";
import { RedisStore } from "sluice/redis";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { fullBucket } from "../src/core/bucket.js";
import { sharesWork } from "../src/platform.js";
import { KeyQueue } from "../src/stores/postgres/key-queue.js";
import { DenyCache } from "../src/stores/shared/deny-cache.js";
import { Snapshot } from "../src/stores/shared/snapshot.js";
import { UnsteadyStore } from "./helpers/unsteady-store.js";
import { callsOf } from "../src/testing/store-calls.js";
import { spyOnVerb } from "./helpers/spy-on-verb.js";

// In every configuration of Workers, also in those without `navigator`.
const onWorkers = (): unknown => vi.stubGlobal("WebSocketPair", class WebSocketPair {});
const turn = setImmediate;

function onEdge(): void {
  vi.stubGlobal("EdgeRuntime", "edge-runtime");
  vi.stubGlobal("setImmediate", refuse); // Next.js has it there, and it throws
}

function refuse(): never {
  throw new Error("A Node.js API is used which is not supported in the Edge Runtime.");
}

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe("L15 · the platform says whether requests share work", () => {
  test("L15 · on Node and in browsers they do", () => {
    expect(sharesWork()).toBe(true);
    vi.stubGlobal("navigator", { userAgent: "Mozilla/5.0 (X11; Linux x86_64) Edg/143.0" });
    expect(sharesWork()).toBe(true);
    vi.stubGlobal("navigator", undefined);
    expect(sharesWork()).toBe(true);
  });

  test("L15 · on Cloudflare Workers and in edge runtimes they do not", () => {
    onWorkers();
    expect(sharesWork()).toBe(false);
    vi.unstubAllGlobals();
    onEdge();
    expect(sharesWork()).toBe(false);
  });
});

const policy = { name: "api", capacity: 1, refill: perSecond(10) };
const never = (): Promise<never> => new Promise(() => undefined);

/** Lets time pass, with turns of the real loop. */
async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  for (let i = 0; i < 5; i++) await new Promise(turn);
}

/** The first request ends, and its timers with it. */
async function end(): Promise<void> {
  await pass(0);
  vi.clearAllTimers();
}

/** What became of a promise within a second. */
async function outcomeOf(promise: Promise<unknown>): Promise<unknown> {
  let outcome: unknown = "nothing";
  promise.then((value) => (outcome = value), (error: unknown) => (outcome = error));
  await pass(1_000);
  return outcome;
}

const reasonOf = async (decision: Promise<Decision>): Promise<unknown> => (await decision).reason;

/** Redis whose first calls never answer. It allows everything. The hash of the script takes no turn of the real loop. */
function redis(silent: number, isHashed = true) {
  const digest = vi.spyOn(crypto.subtle, "digest").mockResolvedValue(new ArrayBuffer(20));
  if (!isHashed) digest.mockImplementationOnce(never);
  const answer = async () => (silent-- > 0 ? never() : ["1000", "0"]);
  return new RedisStore({ evalsha: answer, eval: answer }, { denyCacheMs: 0 });
}

/** A server that refuses its first request for 500 ms, and serves the others. */
function refusingOnce() {
  let asked = 0;
  return async () => (asked++ === 0 ? new Response(null, { status: 429, headers: { "Retry-After-Ms": "500" } }) : new Response("ok"));
}

/** Each begins work in one request, which ends, and resolves to what became of the same in a second one. */
const works: Readonly<Record<string, { readonly run: () => Promise<unknown>; readonly shared: unknown; readonly own: unknown }>> = {
  "a timeout": {
    shared: "nothing",
    own: "store_unavailable",
    async run() {
      const store = new UnsteadyStore(() => 0, { breaker: false });
      store.health = "hangs";
      const limiter = createLimiter({ policy, store, onStoreError: "unavailable" });
      void limiter.consume("ann");
      await end();
      return outcomeOf(reasonOf(limiter.consume("bob")));
    },
  },
  "a round of a cas store": {
    shared: "nothing",
    own: null,
    async run() {
      let reads = 0;
      const store = casStore({ read: async () => (reads++ === 0 ? never() : null), write: async () => true });
      void callsOf(store).consume(definePolicy(policy), "ann", 1);
      await end();
      return outcomeOf(reasonOf(callsOf(store).consume(definePolicy(policy), "ann", 1)));
    },
  },
  "a transaction of sqlStore": {
    shared: "nothing",
    own: null,
    async run() {
      let begun = 0;
      const store = sqlStore<null>({
        transaction: (run) => (begun++ === 0 ? never() : run(null)),
        read: async () => null,
        write: async () => undefined,
      });
      void callsOf(store).consume(definePolicy(policy), "ann", 1);
      await end();
      return outcomeOf(reasonOf(callsOf(store).consume(definePolicy(policy), "ann", 1)));
    },
  },
  "a batch for Redis": {
    shared: "nothing",
    own: null,
    async run() {
      const store = redis(4);
      for (let i = 0; i < 4; i++) {
        void callsOf(store).consume(definePolicy(policy), "ann", 1);
        await end();
      }
      return outcomeOf(reasonOf(callsOf(store).consume(definePolicy(policy), "ann", 1)));
    },
  },
  "the hash of the script for Redis": {
    shared: "nothing",
    own: null,
    async run() {
      const store = redis(0, false);
      void callsOf(store).consume(definePolicy(policy), "ann", 1);
      await end();
      return outcomeOf(reasonOf(callsOf(store).consume(definePolicy(policy), "ann", 1)));
    },
  },
  "a question about a remembered refusal": {
    shared: "waits",
    own: "asks",
    async run() {
      const [one, cache] = [definePolicy(policy), new DenyCache(1_000)];
      const spent = { ...fullBucket(one.limits[0]), spent: one.limits[0].size };
      cache.remember(one, "ann", new Snapshot(0, [spent], false), cache.startCall());
      cache.expect(one, "ann", never());
      await pass(200);
      return cache.answer(one, "ann", 1) instanceof Promise ? "waits" : "asks";
    },
  },
  "a turn in the queue for Postgres": {
    shared: "nothing",
    own: "decided",
    async run() {
      const queue = new KeyQueue<number>(() => undefined);
      void queue.run(["ann"], never);
      await end();
      return outcomeOf(queue.run(["ann"], async () => "decided"));
    },
  },
  "a batch for Postgres": {
    shared: "nothing",
    own: "decided",
    async run() {
      const queue = new KeyQueue<number>(() => undefined);
      queue.join("ann", 1, () => true, never);
      await end();
      return outcomeOf(new Promise((resolve) => queue.join("ann", 2, () => true, async () => resolve("decided"))));
    },
  },
  "a wait": {
    shared: "nothing",
    own: null,
    async run() {
      const limiter = createLimiter({ policy });
      const waiter = createWaiter(limiter);
      limiter.consume("ann");
      void waiter.consume("ann");
      await end();
      return outcomeOf(reasonOf(waiter.consume("ann")));
    },
  },
  "an equal call of a client": {
    shared: "nothing",
    own: "ok",
    async run() {
      let asked = 0;
      const call = createFetch({ identity: "ann", fetch: async () => (asked++ === 0 ? never() : new Response("ok")) });
      void call("http://localhost/");
      await end();
      return outcomeOf(call("http://localhost/").then((response) => response.text()));
    },
  },
  "the count of a client's calls": {
    shared: "ERR_TOO_MANY_CALLS",
    own: "ok",
    async run() {
      let asked = 0;
      const call = createFetch({ maxPending: 1, fetch: async () => (asked++ === 0 ? never() : new Response("ok")) });
      void call("http://localhost/");
      await end();
      return outcomeOf(call("http://localhost/").then((response) => response.text(), (error: unknown) => (error as { code: string }).code));
    },
  },
  "a queued call of a client": {
    shared: "nothing",
    own: "ok",
    async run() {
      const call = createFetch({ traffic: createTraffic(), fetch: refusingOnce(), time: { random: () => 0 } });
      void call("http://localhost/");
      await pass(0);
      void call("http://localhost/");
      await end();
      return outcomeOf(call("http://localhost/").then((response) => response.text()));
    },
  },
};

describe.each(Object.entries(works))("L15 · %s", (_, { run, shared, own }) => {
  test("L15 · is shared where the platform allows it", async () => {
    expect(await run()).toBe(shared);
  });

  test("L15 · is no other request's on Workers", async () => {
    onWorkers();
    expect(await run()).toBe(own);
  });

  test("L15 · is no other request's in an edge runtime", async () => {
    onEdge();
    expect(await run()).toBe(own);
  });
});

test("L15 · a waiter on Workers refuses nobody for those whose request ended", async () => {
  onWorkers();
  const limiter = createLimiter({ policy });
  const waiter = createWaiter(limiter, { maxWaiters: 1, maxWaitersPerKey: 1 });
  limiter.consume("ann");
  for (let i = 0; i < 3; i++) {
    void waiter.consume("ann");
    await end();
  }
  expect(await outcomeOf(reasonOf(waiter.consume("ann")))).toBe(null);
});

test("L15 · tokens that come back in one request on Workers do not run another request's wait", async () => {
  const store = new MemoryStore();
  const limiter = createLimiter({ policy, store });
  for (const [set, calls] of [[() => undefined, 1], [onWorkers, 0]] as const) {
    set();
    const waiter = createWaiter(limiter);
    const cancel = new AbortController();
    limiter.consume("ann");
    void waiter.consume("ann", { signal: cancel.signal }).catch(() => undefined);
    await pass(0);
    const asked = spyOnVerb(store, "consume");
    limiter.reset("ann");
    await pass(0);
    expect(asked.mock.calls.length).toBe(calls);
    asked.mockRestore();
    cancel.abort();
  }
});

test("L15 · calls that a 429 held back on Workers do not leave all at once", async () => {
  onWorkers();
  const refuseFirst = refusingOnce();
  let [inFlight, most] = [0, 0];
  const call = createFetch({
    traffic: createTraffic(),
    time: { random: () => 0 },
    async fetch() {
      most = Math.max(most, ++inFlight);
      await new Promise((resolve) => setTimeout(resolve, 50));
      inFlight--;
      return refuseFirst();
    },
  });
  const calls = [call("http://localhost/")];
  await pass(50);
  for (let i = 0; i < 30; i++) calls.push(call("http://localhost/"));
  for (let i = 0; i < 200; i++) await pass(100);
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => 200));
  // After every two responses three more.
  expect(most).toBeLessThanOrEqual(1 + calls.length / 2);
});

describe("an edge runtime whose `process` throws", () => {
  const warn = vi.fn();
  // What was warned of once in this process: neither a row nor a file may leave that to the next.
  const warned = Object.getOwnPropertyDescriptors(globalThis) as unknown as Record<symbol, PropertyDescriptor>;
  const forget = (): void => {
    for (const symbol of Object.getOwnPropertySymbols(globalThis)) {
      if (symbol.description?.startsWith("sluice.")) Reflect.deleteProperty(globalThis, symbol);
    }
  };
  afterEach(() => {
    forget();
    for (const symbol of Object.getOwnPropertySymbols(warned)) {
      if (symbol.description?.startsWith("sluice.")) Object.defineProperty(globalThis, symbol, warned[symbol] as PropertyDescriptor);
    }
  });

  beforeEach(() => {
    warn.mockClear();
    forget();
    onEdge();
    vi.stubGlobal("console", { ...console, warn });
  });

  test.each([
    ["functions that throw", { getBuiltinModule: refuse, emitWarning: refuse, send: refuse }],
    ["members that throw", Object.defineProperties({}, Object.fromEntries(["getBuiltinModule", "emitWarning", "send"].map((name) => [name, { get: refuse }])))],
  ])("makes limiters and observers, and warns: %s", async (_, process) => {
    vi.stubGlobal("process", process);
    vi.resetModules();
    const fresh = await import("sluice");
    const limiter = fresh.createLimiter({ policy, observe: fresh.createObserver(() => refuse()) });
    expect(limiter.consume("ann").allowed).toBe(true);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("SLUICE_FUNCTION_FAILED"));
  });
});
