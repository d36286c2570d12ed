import { combine, createLimiter, createObserver, MemoryStore, perHour, StoreUnavailableError, type AsyncStore, type Charge, type Decision, type GuardOptions, type LimiterEvent, type Policy } from "sluice";
import { guard, type Guard } from "sluice/store";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { outage } from "../helpers/unsteady-store.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { LaterVerbs } from "../helpers/store-of.js";

const policy = { name: "api", capacity: 1_000, refill: perHour(1) };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

type Trouble = "rejects" | "hangs";

/** A store that has trouble with some keys, or with all. It counts the calls for each key. */
class PartlyBrokenStore extends LaterVerbs implements AsyncStore {
  readonly guard: Guard;
  readonly clock = () => 0;
  readonly calls = new Map<string, number>();
  readonly trouble = new Map<string, Trouble>();
  all: Trouble | undefined;
  readonly #inner = new MemoryStore({ clock: this.clock });

  constructor(options: GuardOptions) {
    super();
    this.guard = guard(options);
  }

  consume(asked: Policy, key: string, cost: number): Promise<Decision> {
    return this.#answer([key], () => callsOf(this.#inner).consume(asked, key, cost));
  }

  peek(asked: Policy, key: string, cost: number): Promise<Decision> {
    return this.#answer([key], () => callsOf(this.#inner).peek(asked, key, cost));
  }

  consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    return this.#answer(charges.map(({ key }) => key), () => callsOf(this.#inner).together(charges));
  }

  #answer<T>(keys: string[], make: () => T): Promise<T> {
    for (const key of keys) this.calls.set(key, this.callsOf(key) + 1);
    const trouble = this.all ?? keys.map((key) => this.trouble.get(key)).find((each) => each !== undefined);
    if (trouble === "rejects") return Promise.reject(outage);
    return trouble === "hangs" ? new Promise(() => {}) : Promise.resolve(make());
  }

  callsOf(key: string): number {
    return this.calls.get(key) ?? 0;
  }
}

function open(options: GuardOptions = {}) {
  const store = new PartlyBrokenStore(options);
  const states: string[] = [];
  const observe = createObserver((event: LimiterEvent) => void (event.type === "store" && states.push(event.state)));
  const limiter = createLimiter({ policy, store, onStoreError: "unavailable", observe });
  const ask = async (key: string): Promise<string> => codeOf((await limiter.consume(key)).error);
  const askMany = async (key: string, times: number): Promise<string[]> => {
    const codes: string[] = [];
    for (let i = 0; i < times; i++) codes.push(await ask(key));
    return codes;
  };
  return { store, limiter, states, ask, askMany };
}

const codeOf = (error: unknown): string => (error instanceof StoreUnavailableError ? error.code : error === undefined ? "answered" : "failed");

describe("failures of one key", () => {
  test.each<Trouble>(["hangs", "rejects"])("that %s never make the store unavailable for other keys", async (trouble) => {
    const { store, states, ask } = open();
    store.trouble.set("hot", trouble);
    for (let second = 0; second < 5; second++) {
      const hot = Array.from({ length: 200 }, () => ask("hot"));
      await pass(102);
      await Promise.all(hot);
      for (let i = 0; i < 20; i++) expect(await ask(`caller ${i}`)).toBe("answered");
      await pass(1_000);
    }
    expect(states).toEqual([]);
  });

  test("stop the calls for it, but for one each second", async () => {
    const { store, ask, askMany } = open();
    store.trouble.set("hot", "rejects");
    expect(await askMany("hot", 8)).toEqual([...Array<string>(5).fill("failed"), ...Array<string>(3).fill("ERR_STORE_OPEN")]);
    for (let second = 1; second <= 4; second++) {
      expect(await ask("other")).toBe("answered");
      await pass(1_000);
      expect((await askMany("hot", 3)).sort()).toEqual(["ERR_STORE_OPEN", "ERR_STORE_OPEN", "failed"]);
      expect(store.callsOf("hot")).toBe(5 + second);
    }
  });

  test("say so, and what the store failed with", async () => {
    const { store, limiter, askMany } = open();
    store.trouble.set("hot", "rejects");
    await askMany("hot", 5);
    const { error } = await limiter.consume("hot");
    expect(error).toMatchObject({ code: "ERR_STORE_OPEN", cause: outage, message: expect.stringContaining("5 times in a row for one bucket") as string });
    await expect(limiter.peek("hot")).rejects.toBe(error);
  });

  test("are over with the first answer for it", async () => {
    const { store, ask, askMany } = open();
    store.trouble.set("hot", "rejects");
    await askMany("hot", 5);
    store.trouble.clear();
    expect(await askMany("other", 3)).toEqual(Array(3).fill("answered"));
    expect(await ask("hot")).toBe("ERR_STORE_OPEN");
    await pass(1_000);
    expect(await askMany("hot", 3)).toEqual(Array(3).fill("answered"));
  });

  test("count no longer when the next failure is of another key", async () => {
    const { store, states, ask, askMany } = open();
    store.trouble.set("hot", "rejects");
    await askMany("hot", 5);
    store.trouble.set("other", "rejects");
    expect(await askMany("other", 4)).toEqual(Array(4).fill("failed"));
    store.trouble.delete("other");
    expect(await ask("other")).toBe("answered");
    expect(states).toEqual([]);
  });

  test("are those of a bucket: the same key under another policy is another bucket", async () => {
    const { store, limiter, ask, askMany } = open();
    const other = createLimiter({ policy: { ...policy, name: "other" }, store });
    store.trouble.set("hot", "rejects");
    await askMany("hot", 5);
    store.trouble.clear();
    expect(await ask("hot")).toBe("ERR_STORE_OPEN");
    expect((await combine({ limiter, other }).consume({ limiter: "cold", other: "hot" })).degraded).toBe(false);
  });
});

describe("a dead store", () => {
  test("is noticed at once when several keys are in use", async () => {
    const { store, states, ask } = open();
    store.all = "rejects";
    for (let i = 0; i < 5; i++) await ask(i % 2 === 0 ? "ann" : "bob");
    expect([states, await ask("carl"), store.callsOf("carl")]).toEqual([["unavailable"], "ERR_STORE_OPEN", 0]);
  });

  test("is noticed with the first probe when one key is in use", async () => {
    const { store, states, ask, askMany } = open();
    store.all = "rejects";
    await askMany("ann", 5);
    expect(states).toEqual([]);
    await pass(1_000);
    await ask("ann");
    expect(states).toEqual(["unavailable"]);
    store.all = undefined;
    await pass(1_000);
    expect([await ask("ann"), states]).toEqual(["answered", ["unavailable", "available"]]);
  });

  test("is not seen in calls that were under way when their key was stopped", async () => {
    const { store, states, ask } = open();
    store.all = "hangs";
    const asked = Array.from({ length: 1_000 }, () => ask("ann"));
    await pass(50);
    asked.push(...Array.from({ length: 1_000 }, () => ask("ann")));
    await pass(200);
    await Promise.all(asked);
    expect([states, await ask("ann")]).toEqual([[], "ERR_STORE_OPEN"]);
  });

  test("stops no other key before that one failed too", async () => {
    const { store, states, ask, askMany } = open();
    store.trouble.set("hot", "rejects");
    await askMany("hot", 5);
    await pass(1_000);
    await ask("hot");
    // Nothing else was asked: it may be that the store is dead.
    expect(states).toEqual(["unavailable"]);
    expect(await askMany("other", 3)).toEqual(Array(3).fill("answered"));
    expect([states, await ask("hot")]).toEqual([["unavailable", "available"], "ERR_STORE_OPEN"]);
  });

  test.each([1, 2, 5])("is noticed when its keys fail one after another, %i times each", async (failures) => {
    const { store, states, ask, askMany } = open({ breaker: { failures } });
    store.all = "rejects";
    await askMany("ann", failures);
    expect(states).toEqual([]);
    await askMany("bob", failures);
    expect([states, await ask("carl"), store.callsOf("carl")]).toEqual([["unavailable"], "ERR_STORE_OPEN", 0]);
  });

  test("that is back is not kept away by a key that still fails", async () => {
    const { store, states, ask } = open();
    store.all = "rejects";
    for (let i = 0; i < 5; i++) await ask(`caller ${i}`);
    store.all = undefined;
    store.trouble.set("hot", "rejects");
    // Each second the hot key comes first.
    for (let second = 1; second <= 2; second++) {
      await pass(1_000);
      await ask("hot");
      await ask("ann");
    }
    expect([await ask("ann"), states]).toEqual(["answered", ["unavailable", "available"]]);
  });
});

describe("charges together", () => {
  const userPolicy = { ...policy, name: "user" };
  const tenantPolicy = { ...policy, name: "tenant" };

  test("that fail for one tenant stop no call of another", async () => {
    const { store, states } = open();
    const make = (each: typeof policy) => createLimiter({ policy: each, store, onStoreError: "unavailable", observe: createObserver((event) => void (event.type === "store" && states.push(event.state))) });
    const both = combine({ user: make(userPolicy), tenant: make(tenantPolicy) });
    store.trouble.set("acme", "rejects");
    for (let i = 0; i < 12; i++) await both.consume({ user: `user ${i}`, tenant: "acme" });
    expect(store.callsOf("acme")).toBe(5);
    for (let i = 0; i < 12; i++) expect((await both.consume({ user: `user ${i}`, tenant: "other" })).degraded).toBe(false);
    expect(states).toEqual([]);
  });
});

describe("the keys that are stopped", () => {
  test("are at most a hundred: the oldest is asked again", async () => {
    const { store, ask, askMany } = open({ breaker: { failures: 1 } });
    for (let i = 0; i <= 100; i++) {
      store.trouble.set(`hot ${i}`, "rejects");
      await ask(`hot ${i}`);
      await ask("other");
    }
    expect([await ask("hot 100"), await ask("hot 1"), await ask("hot 0")]).toEqual(["ERR_STORE_OPEN", "ERR_STORE_OPEN", "failed"]);
    expect(await askMany("other", 2)).toEqual(Array(2).fill("answered"));
  });

  test("are forgotten when their callers are gone", async () => {
    const { store, ask, askMany } = open();
    store.trouble.set("hot", "rejects");
    await askMany("hot", 5);
    await pass(2_000);
    await ask("other");
    expect(await askMany("hot", 6)).toEqual([...Array<string>(5).fill("failed"), "ERR_STORE_OPEN"]);
  });
});
