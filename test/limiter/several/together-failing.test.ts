// Limiters over a store that answers later and rejects, and one that answers at once and throws. A verb over both fails
// once, after all calls were started, and no rejection stays without a handler: Node would end the process (law L17).
import { spawnSync } from "node:child_process";
import { combine, createLimiter, MemoryStore, perSecond, type AsyncStore, type Store, type SyncStore } from "sluice";
import { guard } from "sluice/store";
import { describe, expect, test } from "vitest";
import { bundledCode } from "../../helpers/bundled.js";
import { expectNoUnhandled } from "../../helpers/unhandled.js";
import { expectWarnings } from "../../setup/warnings.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import { storeOf } from "../../helpers/store-of.js";
import { STORE_VERBS } from "sluice/store";

expectNoUnhandled();

/** A memory store, whose other verbs than `consume` fail while it is `down`. Counts their calls. */
interface Failing {
  readonly store: Store;
  readonly inner: MemoryStore;
  readonly calls: string[];
  down: boolean;
}

const rejects = (): Failing => {
  const inner = new MemoryStore({ clock: () => 0 });
  const made = { inner, calls: [] as string[], down: false };
  const later = async <T>(name: string, make: () => T): Promise<T> => {
    made.calls.push(name);
    await Promise.resolve();
    if (made.down) throw new Error("rejected");
    return make();
  };
  const store: AsyncStore = storeOf({
    sync: false, guard: guard({ breaker: false }), clock: () => 0,
    consume: async (...asked) => callsOf(inner).consume(...asked),
    peek: (...asked) => later("peek", () => callsOf(inner).peek(...asked)),
    adjust: (policy, key, changes) => later("adjust", () => callsOf(inner).adjust(policy, key, changes)),
    block: (...asked) => later("block", () => callsOf(inner).block(...asked)),
    reset: (...asked) => later("reset", () => callsOf(inner).reset(...asked)),
  });
  return Object.assign(made, { store });
};

const throws = (): Failing => {
  const inner = new MemoryStore({ clock: () => 0 });
  const made = { inner, calls: [] as string[], down: false };
  const now = <T>(name: string, make: () => T): T => {
    made.calls.push(name);
    if (made.down) throw new Error("thrown");
    return make();
  };
  const store: SyncStore = storeOf({
    sync: true, clock: () => 0,
    consume: (...asked) => callsOf(inner).consume(...asked),
    peek: (...asked) => now("peek", () => callsOf(inner).peek(...asked)),
    adjust: (policy, key, changes) => now("adjust", () => callsOf(inner).adjust(policy, key, changes)),
    block: (...asked) => now("block", () => callsOf(inner).block(...asked)),
    reset: (...asked) => now("reset", () => callsOf(inner).reset(...asked)),
  });
  return Object.assign(made, { store });
};

const few = { capacity: 5, refill: perSecond(1) };
const keys = { a: "ann", b: "red", c: "all" };

function over([first, second, third]: readonly Failing[]) {
  const make = (name: string, failing: Failing | undefined) => createLimiter<Store>({ policy: { name, ...few }, store: (failing as Failing).store });
  const limiters = [make("a", first), make("b", second), make("c", third)] as const;
  const all = combine({ a: limiters[0], b: limiters[1], c: limiters[2] });
  const left = (): number[] => [first, second, third].map((each, i) => callsOf((each as Failing).inner).peek((limiters[i] as (typeof limiters)[0]).policy, Object.values(keys)[i] as string, 0).remaining);
  return { all, left };
}

type World = ReturnType<typeof over>;
type Verb = readonly [verb: string, called: string, left: number | null, prepare: (world: World) => Promise<() => unknown>];

/** Each verb, the method of the store that it calls, and what it leaves of 5 tokens after 3 were taken. */
const VERBS: readonly Verb[] = [
  ["peek", "peek", null, async ({ all }) => () => all.peek(keys)],
  ["reset", "reset", 5, async ({ all }) => (await all.consume(keys, 3), () => all.reset(keys))],
  ["refund", "adjust", 5, async ({ all }) => {
    const decision = await all.consume(keys, 3);
    return () => all.refund(keys, decision);
  }],
  ["settle", "adjust", 4, async ({ all }) => {
    const decision = await all.consume(keys, 3);
    return () => all.settle(keys, decision, 1);
  }],
  ["debit", "adjust", 0, async ({ all }) => (await all.consume(keys, 3), () => all.debit(keys, 2))],
  ["credit", "adjust", 3, async ({ all }) => (await all.consume(keys, 3), () => all.credit(keys, 1))],
  ["block", "block", 0, async ({ all }) => (await all.consume(keys, 3), () => all.block(keys, 1_000))],
];

const ORDERS: ReadonlyArray<readonly [order: string, stores: ReadonlyArray<() => Failing>, error: string]> = [
  ["one rejects, then one throws", [rejects, throws, rejects], "thrown"],
  ["one throws, then one rejects", [throws, rejects, throws], "thrown"],
  ["all reject", [rejects, rejects, rejects], "rejected"],
  ["all throw", [throws, throws, throws], "thrown"],
];

/** Names the warning of a settlement that fails, whatever else is told of it. */
function expectTold(verb: string): void {
  if (verb === "settle" || verb === "refund") expectWarnings("SLUICE_SETTLEMENT_FAILED");
}

describe.each(VERBS)("%s of several limiters", (verb, called, _left, prepare) => {
  test.each(ORDERS)("L17 · starts all calls and handles every failure: %s", async (_, makers, error) => {
    expectTold(verb);
    const stores = makers.map((make) => make());
    const run = await prepare(over(stores));
    for (const store of stores) store.down = true;
    const outcome = (async () => run())();
    await expect(outcome).rejects.toThrow(error);
    // A credit first asks a server for its time.
    expect(stores.map(({ calls }) => calls)).toEqual(stores.map(({ store }) => [verb === "credit" && store.clock === "server" ? "peek" : called]));
  });

  test("throws when all stores answer at once, and rejects otherwise", async () => {
    expectTold(verb);
    const stores = [throws(), throws(), throws()];
    const run = await prepare(over(stores));
    (stores[1] as Failing).down = true;
    expect(run).toThrow("thrown");
    const mixed = [throws(), rejects(), throws()];
    const runMixed = await prepare(over(mixed));
    (mixed[0] as Failing).down = true;
    await expect(runMixed()).rejects.toThrow("thrown");
  });
});

describe.each(VERBS.slice(1))("%s of several limiters of which one fails", (verb, _called, done, prepare) => {
  test.each([0, 1, 2])("L17 · does its work at the others: the one at %i fails", async (at) => {
    expectTold(verb);
    const stores = [rejects(), throws(), rejects()];
    const world = over(stores);
    const run = await prepare(world);
    (stores[at] as Failing).down = true;
    await expect(run()).rejects.toThrow(at === 1 ? "thrown" : "rejected");
    expect(world.left()).toEqual([0, 1, 2].map((i) => (i === at ? 2 : done)));
  });
});

describe("a wrong key among others", () => {
  test.each(["a", "b"])("L9 · throws before any limiter is asked: the one of %s", async (name) => {
    const stores = [throws(), rejects(), throws()];
    const { all, left } = over(stores);
    const decision = await all.consume(keys, 3);
    for (const store of stores) store.down = true;
    const wrong = { ...keys, [name]: "" };
    const runs = [() => all.reset(wrong), () => all.refund(wrong, decision), () => all.settle(wrong, decision, 1), () => all.debit(wrong, 1), () => all.credit(wrong, 1), () => all.block(wrong, 1), () => all.peek(wrong)];
    for (const run of runs) {
      await expect((async () => run())()).rejects.toThrow(new TypeError("Expected `key` to be a non-empty string, got an empty one"));
    }
    expect([left(), stores.flatMap(({ calls }) => calls)]).toEqual([[2, 2, 2], []]);
    // The decision is not spent by the mistake.
    for (const store of stores) store.down = false;
    expect(await all.refund(keys, decision)).toBe(true);
    expect(left()).toEqual([5, 5, 5]);
  });

  test("L9 · a store without `reset` among others resets none", async () => {
    const [first, second] = [throws(), throws()];
    const bare = { ...second.store, verbs: STORE_VERBS.filter((verb) => verb !== "reset") } as SyncStore;
    const { all, left } = over([first, { ...second, store: bare }, throws()]);
    await all.consume(keys, 3);
    expect(() => all.reset(keys)).toThrow(/^Expected a store with `verbs` that include "reset", got consume/);
    expect(left()).toEqual([2, 2, 2]);
  });
});

test("L17 · a script that catches the errors of every verb goes on to its end", async () => {
  const source = `import { combine, createLimiter, MemoryStore, perSecond } from "./src/index.ts";
    import { guard } from "./src/store.ts";
    const inner = new MemoryStore({ clock: () => 0 });
    const asked = (call, reason) => { if (call.verb === "consume") return inner.ask(call); throw new Error(reason); };
    const verbs = ["consume", "peek", "adjust", "reset"];
    const later = { sync: false, guard: guard({ breaker: false }), clock: "server", verbs, ask: async (call) => asked(call, "ECONNREFUSED") };
    const now = { sync: true, clock: () => 0, verbs, ask: (call) => asked(call, "SQLITE_BUSY") };
    const of = (name, store) => createLimiter({ policy: { name, capacity: 5, refill: perSecond(1) }, store });
    const both = combine({ user: of("user", later), tenant: of("tenant", now) });
    const keys = { user: "ann", tenant: "red" };
    const [first, second] = [await both.consume(keys), await both.consume(keys, 2)];
    const caught = [];
    for (const run of [() => both.peek(keys), () => both.reset(keys), () => both.refund(keys, first), () => both.settle(keys, second, 1), () => both.debit(keys, 1), () => both.credit(keys, 1)]) {
      try { await run(); } catch (error) { caught.push(error.message); }
      await new Promise(setImmediate);
    }
    console.log(caught.join());`;
  const { status, stdout } = spawnSync(process.execPath, ["--input-type=module"], { encoding: "utf8", input: await bundledCode(source) });
  expect({ status, stdout: stdout.trim() }).toEqual({ status: 0, stdout: Array(6).fill("SQLITE_BUSY").join() });
});
