import { build } from "esbuild";
import { createLimiter, definePolicy, MemoryStore, perMinute, perSecond, type Key, type PolicyOptions, type SyncStore } from "sluice";
import { guard } from "sluice/store";
import { describe, expect, test } from "vitest";
import { bareStore, LaterStore } from "../helpers/stores.js";
import { callsOf, type StoreCalls } from "../../src/testing/store-calls.js";
import { storeOf, NowVerbs } from "../helpers/store-of.js";

const policy = { name: "api", capacity: 10, refill: perSecond(2) };

describe("a limiter", () => {
  test("has a memory store of its own when it is given none, and shares nothing with another", () => {
    const [a, b] = [createLimiter({ policy }), createLimiter({ policy })];
    expect(a.store).toBeInstanceOf(MemoryStore);
    a.consume("alice", 10);
    expect(b.peek("alice").remaining).toBe(10);
  });

  test("takes the cost as a number or in options, 1 by default", () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: () => 0 }) });
    const costs = [undefined, 2, { cost: 3 }, {}, { cost: 0 }].map((asked) => limiter.consume("alice", asked));
    expect(costs.map(({ cost, remaining }) => [cost, remaining])).toEqual([[1, 9], [2, 7], [3, 4], [1, 3], [0, 3]]);
  });

  test("peek answers what consume would and takes nothing; reset forgets", () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: () => 0 }) });
    limiter.consume("alice", 8);
    expect(limiter.peek("alice", 3)).toMatchObject({ allowed: false, reason: "limited", remaining: 2, retryAfterMs: 500 });
    expect(limiter.peek("alice", { cost: 2 })).toMatchObject({ allowed: true, remaining: 2 });
    limiter.reset("alice");
    expect(limiter.peek("alice")).toMatchObject({ remaining: 10, resetMs: 0 });
  });

  test("a tier is a policy of the same name: it keeps what was spent, and each request may bring its own", () => {
    const pro = definePolicy({ name: "api", capacity: 100, refill: perSecond(20) });
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: () => 0 }) });
    limiter.consume("alice", 10);
    expect(limiter.consume("alice").allowed).toBe(false);
    expect(limiter.consume("alice", { policy: pro, cost: 5 })).toMatchObject({ allowed: true, capacity: 100, remaining: 85 });
    expect(limiter.consume("alice")).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 3_000 });
    limiter.reset("alice", { policy: pro });
    expect(limiter.peek("alice", { policy: limiter.policy }).remaining).toBe(10);
  });

  test("a policy of another name is another bucket", () => {
    const bulk = definePolicy({ name: "bulk", capacity: 1, refill: perSecond(1) });
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: () => 0 }) });
    expect(limiter.consume("alice", { policy: bulk })).toMatchObject({ policy: "bulk", remaining: 0 });
    expect(limiter.peek("alice", { policy: limiter.policy }).remaining).toBe(10);
  });

  test("its methods work on their own", () => {
    const { consume, peek, credit, refund, settle, reset } = createLimiter({ policy, store: new MemoryStore({ clock: () => 0 }) });
    expect(consume("alice").remaining).toBe(9);
    credit("alice", 1);
    expect([refund("alice", consume("alice")), settle("alice", consume("alice", 2), 1), peek("alice").remaining]).toEqual([true, true, 9]);
    reset("alice");
    expect(peek("alice").remaining).toBe(10);
  });
});

describe("two limiters on one store", () => {
  const others: readonly [what: string, policy: PolicyOptions][] = [
    ["capacity", { ...policy, capacity: 11 }],
    ["rate", { ...policy, refill: perSecond(3) }],
    ["limits", { name: "api", limits: [policy, { name: "day", capacity: 10, refill: perSecond(2) }] }],
  ];
  test.each(others)("with one name and another %s are refused", (_, other) => {
    const store = new MemoryStore();
    createLimiter({ policy, store });
    expect(() => createLimiter({ policy: other, store })).toThrow(
      /^Expected policy "api" to have the same numbers in every limiter on one store, got others: give it another name\. /,
    );
    // Another name, or another store, is welcome.
    createLimiter({ policy: { ...other, name: "other" } as PolicyOptions, store });
    createLimiter({ policy: other, store: new MemoryStore() });
  });

  test("with one name and the same numbers share their buckets", () => {
    const store = new MemoryStore({ clock: () => 0 });
    const a = createLimiter({ policy, store });
    const b = createLimiter({ policy: { ...policy, refill: perMinute(120) }, store });
    a.consume("alice", 10);
    expect(b.consume("alice").allowed).toBe(false);
  });
});

describe("a store without powers", () => {
  const limiter = createLimiter({ policy, store: bareStore(() => 0) });

  test("consumes", () => {
    expect(limiter.consume("alice", 4)).toMatchObject({ allowed: true, remaining: 6 });
  });

  const calls = {
    peek: () => limiter.peek("alice"), settle: () => limiter.settle("alice", limiter.consume("alice"), 1), refund: () => limiter.refund("alice", limiter.consume("alice")),
    credit: () => limiter.credit("alice", 1), debit: () => limiter.debit("alice", 1),
    block: () => limiter.block("alice", 1), reset: () => limiter.reset("alice"),
  };
  test.each([["peek", "peek"], ["settle", "adjust"], ["refund", "adjust"], ["credit", "adjust"], ["debit", "adjust"], ["block", "block"], ["reset", "reset"]] as const)("says so when it is asked to %s", (verb, method) => {
    expect(calls[verb]).toThrow(`Expected a store with \`verbs\` that include "${method}", got consume. A store over`);
  });

  test("is a store still when it is an instance whose methods need their object", () => {
    class Counting extends NowVerbs implements SyncStore {
      readonly clock = () => 0;
      calls = 0;
      readonly #inner = new MemoryStore({ clock: this.clock });
      consume(...asked: Parameters<StoreCalls<true>["consume"]>): ReturnType<StoreCalls<true>["consume"]> {
        this.calls += 1;
        return callsOf(this.#inner).consume(...asked);
      }
      peek(...asked: Parameters<StoreCalls<true>["consume"]>): ReturnType<StoreCalls<true>["consume"]> {
        return callsOf(this.#inner).peek(...asked);
      }
    }
    const store = new Counting();
    const counted = createLimiter({ policy, store });
    counted.consume("alice");
    expect([store.calls, counted.peek("alice").remaining]).toEqual([1, 9]);
  });
});

describe("an asynchronous limiter", () => {
  const limiter = createLimiter({ policy, store: new LaterStore(() => 0) });

  test("answers later what a synchronous one answers at once", async () => {
    const now = createLimiter({ policy, store: new MemoryStore({ clock: () => 0 }) });
    for (const cost of [1, 9, 1, 0, 11]) expect(await limiter.consume("alice", cost)).toStrictEqual(now.consume("alice", cost));
    expect(await limiter.peek("alice")).toStrictEqual(now.peek("alice"));
    await limiter.credit("alice", 3);
    expect((await limiter.peek("alice")).remaining).toBe(3);
    await limiter.reset("alice");
    expect((await limiter.peek("alice")).remaining).toBe(10);
  });

  const misuses: readonly [what: string, key: Key, cost: number][] = [["an empty key", "", 1], ["a cost that is not whole", "alice", 1.5]];
  test.each(misuses)("rejects on %s, and never throws", async (_, key, cost) => {
    const { consume, peek, settle, credit, debit, block, reset } = limiter;
    const decision = await limiter.consume("bob");
    for (const call of [() => consume(key, cost), () => peek(key, cost), () => settle(key, decision, cost), () => credit(key, cost), () => debit(key, cost), () => block(key, cost), () => reset("")]) {
      const promise = call();
      expect(promise).toBeInstanceOf(Promise);
      await expect(promise).rejects.toThrow(/^Expected `(key|cost|actual|tokens|forMs)` to be /);
    }
  });

  test("rejects when the store lacks an optional method", async () => {
    const { sync, clock, guard, consume } = new LaterStore(() => 0);
    const bare = createLimiter({ policy, store: storeOf({ sync, clock, guard, consume }) });
    for (const call of [bare.peek("a"), bare.credit("a", 1), bare.reset("a")]) await expect(call).rejects.toThrow(TypeError);
  });
});

describe("a store that can fail", () => {
  const message = (got: string) =>
    `Expected \`store.guard\` to be made by \`guard\` of sluice/store, got ${got}. Write \`readonly guard = guard()\` in the store`;
  const ask = () => Promise.reject(new Error("down"));

  test.each([
    ["an asynchronous store without a guard", { sync: false, clock: "server", ask }, "undefined"],
    ["an asynchronous store with another guard", { sync: false, clock: "server", ask, guard: 5 }, "5"],
    ["a store with the function `guard` itself", { sync: false, clock: "server", ask, guard }, "a function"],
    ["a synchronous store with another guard", { sync: true, clock: () => 0, ask, guard: "no" }, '"no"'],
  ])("%s is refused, and the message says what to write", (_, store, got) => {
    expect(() => createLimiter({ policy, store: store as never })).toThrow(new TypeError(message(got)));
  });

  test.each([undefined, "date", 5, { now: 1 }])("L9 · a store whose clock is %o is refused", (clock) => {
    const message = /^Expected `store\.clock` to be a function that returns milliseconds, or \{ now, wallNow \}, got /;
    expect(() => createLimiter({ policy, store: { sync: true, clock, ask: () => [] } as never })).toThrow(message);
  });

  test("what a synchronous store without a guard throws reaches the caller", () => {
    const outage = new Error("disk full");
    const store = { sync: true, clock: () => 0, ask: () => { throw outage; } } as const;
    expect(() => createLimiter({ policy, store, onStoreError: "allow" }).consume("ann")).toThrow(outage);
  });

  test("a limiter over memory loads no timeout, circuit breaker, fallback or local share", async () => {
    const { metafile } = await build({
      stdin: { contents: 'export { createLimiter } from "./src/index.ts"', resolveDir: "." },
      bundle: true,
      write: false,
      metafile: true,
      format: "esm",
      platform: "neutral",
    });
    const used = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs)).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
    const files = used.map(([file]) => file);
    expect(files).toContain("src/limiter/create-limiter.ts");
    expect(files.filter((file) => file.startsWith("src/guard/"))).toEqual([]);
  });
});
