// A decision knows the key and the policy that it charged. Another key is an error, and changes nothing.
import {
  combine, createLimiter, createWaiter, definePolicy, MemoryStore, perSecond, unlimited, whenDone,
  type Decision, type Key, type Store, type SyncStore,
} from "sluice";
import { leased } from "sluice/lease";
import { guard } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { LaterStore } from "../helpers/stores.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";

const ERROR = /^Expected `key` to be the key that the decision charged, got .*\. Pass the key of its `consume`$/;
const policy = { name: "api", capacity: 10, refill: perSecond(1) };
const still = (): number => 0;

/** A store of another author, without a guard. */
function plainStore(): SyncStore {
  const inner = new MemoryStore({ clock: still });
  return storeOf({
    sync: true, clock: still,
    consume: (...asked) => callsOf(inner).consume(...asked), peek: (...asked) => callsOf(inner).peek(...asked), adjust: (...asked) => callsOf(inner).adjust(...asked),
  });
}

function guardedStore(): SyncStore {
  return { ...plainStore(), guard: guard() };
}

/** A store whose decisions are made in this process, because it fails. */
function failing(): Store {
  const store = new LaterStore(still);
  store.consume = () => Promise.reject(new Error("down"));
  return store;
}

async function thrown(call: () => unknown): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return error;
  }
}

const isOtherKey = (error: unknown): void => expect([error instanceof TypeError, String(Object(error).message)]).toEqual([true, expect.stringMatching(ERROR)]);

const KEYS: ReadonlyArray<readonly [what: string, own: Key, other: Key]> = [
  ["another text", "a", "b"],
  ["a tuple that reads alike", "user:a", ["user", "a"]],
  ["a tuple with its parts in another order", ["user", "a"], ["a", "user"]],
  ["one part more", ["user", 1], ["user", 1, 2]],
  ["a text that looks encoded", ["a"], "(1:a"],
];

describe("a settlement", () => {
  test.each(KEYS)("L1 · under %s is a TypeError and changes nothing", (_, own, other) => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: still }) });
    limiter.consume(other, 4);
    const decision = limiter.consume(own, 3);
    for (const settle of [() => limiter.settle(other, decision, 0), () => limiter.settle(other, decision, 9), () => limiter.refund(other, decision)]) {
      expect(settle).toThrow(ERROR);
    }
    expect([limiter.peek(own).remaining, limiter.peek(other).remaining]).toEqual([7, 6]);
    expect([limiter.settle(own, decision, 1), limiter.peek(own).remaining, limiter.peek(other).remaining]).toEqual([true, 9, 6]);
  });

  test("under an equal key is done: numbers are text, and a list may be another one", () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: still }) });
    expect([limiter.refund(["user", "7"], limiter.consume(["user", 7])), limiter.refund(["user", 7n], limiter.consume(["user", "7"]))]).toEqual([true, true]);
  });

  test.each<[what: string, make: () => Store]>([
    ["without a guard", plainStore],
    ["that answers at once, with a guard", guardedStore],
    ["that answers later", () => new LaterStore(still)],
    ["that fails: the local share", failing],
    ["with leases", () => leased(new LaterStore(still), { leaseMs: 1_000 })],
  ])("knows the key over a store %s", async (_, make) => {
    const limiter = createLimiter<Store>({ policy, store: make() });
    await limiter.consume("a", 0);
    await limiter.consume("a");
    const decision = await limiter.consume("a");
    expect(decision.allowed).toBe(true);
    isOtherKey(await thrown(() => limiter.refund("b", decision)));
    expect(await limiter.refund("a", decision)).toBe(true);
    expect(await limiter.refund("a", decision)).toBe(false);
  });

  test("of work in flight frees no place under another key", () => {
    const limiter = createLimiter({ policy: { name: "gpu", capacity: 2, returns: whenDone() }, store: new MemoryStore({ clock: still }) });
    const [own, other] = [limiter.consume("a"), limiter.consume("b")];
    expect(() => limiter.settle("b", own, 0)).toThrow(ERROR);
    expect([limiter.peek("a").remaining, limiter.peek("b").remaining]).toEqual([1, 1]);
    expect([limiter.refund("a", own), limiter.refund("b", other)]).toEqual([true, true]);
  });

  test("of a waiter knows its key", async () => {
    const waiter = createWaiter(createLimiter({ policy, store: new MemoryStore({ clock: still }) }));
    const decision = await waiter.consume("a");
    isOtherKey(await thrown(() => waiter.refund("b", decision)));
    expect(await waiter.refund("a", decision)).toBe(true);
  });

  test("of a decision that took nothing here returns false, as before", () => {
    const store = new MemoryStore({ clock: still });
    const [limiter, other] = [createLimiter({ policy, store }), createLimiter({ policy: { ...policy, name: "other" }, store })];
    const decision = limiter.consume("a");
    const none: readonly Decision[] = [limiter.peek("a"), limiter.consume("a", 10), { ...decision }, other.consume("a")];
    expect(none.map((each) => limiter.refund("b", each))).toEqual([false, false, false, false]);
  });
});

describe("a settlement of a combination", () => {
  const pair = <S extends Store>(first: S, second: S) => ({
    user: createLimiter<S>({ policy: { ...policy, name: "user" }, store: first }),
    team: createLimiter<S>({ policy: { ...policy, name: "team" }, store: second }),
  });
  const left = async ({ user, team }: ReturnType<typeof pair<Store>>, u: Key, t: Key) => [(await user.peek(u)).remaining, (await team.peek(t)).remaining];

  test.each<[what: string, make: () => readonly [Store, Store]]>([
    ["one store", () => {
      const store = new MemoryStore({ clock: still });
      return [store, store];
    }],
    ["two stores", () => [new MemoryStore({ clock: still }), new LaterStore(still)]],
  ])("L1 · over %s with one other key changes nothing", async (_, make) => {
    const members = pair<Store>(...make());
    const both = combine(members);
    const keys = { user: "a", team: "t" };
    const decision = await both.consume(keys, 3);
    for (const other of [{ user: "b", team: "t" }, { user: "a", team: "x" }, { user: "t", team: "a" }, { user: unlimited, team: "t" }]) {
      isOtherKey(await thrown(() => both.settle(other as never, decision, 0)));
    }
    expect([await left(members, "a", "t"), await left(members, "b", "x")]).toEqual([[7, 7], [10, 10]]);
    isOtherKey(await thrown(() => members.user.refund("b", decision.decisions.user as Decision)));
    expect([await both.refund({ team: "t", user: "a" }, decision), await left(members, "a", "t")]).toEqual([true, [10, 10]]);
  });

  test("inside another one, with members on one bucket, and with one left out", () => {
    const store = new MemoryStore({ clock: still });
    const { user, team } = pair(store, store);
    const all = combine({ inner: combine({ user, again: user }), team });
    const keys = { inner: { user: "a", again: "a" }, team: unlimited } as const;
    const decision = all.consume(keys);
    expect(user.peek("a").remaining).toBe(8);
    expect(() => all.refund({ ...keys, inner: { user: "a", again: "b" } }, decision)).toThrow(ERROR);
    expect([all.refund(keys, decision), user.peek("a").remaining]).toEqual([true, 10]);
  });

  test("under the policies of a tier needs no policies to know its keys", () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock: clock.now });
    const { user, team } = pair(store, store);
    const both = combine({ user, team });
    const keys = { user: "a", team: "t" };
    const policies = { policy: { team: unlimited } };
    const decision = both.consume(keys, policies);
    expect(() => both.refund({ ...keys, user: "b" }, decision, policies)).toThrow(ERROR);
    expect(both.refund(keys, decision, policies)).toBe(true);
  });
});

describe("a settlement acts by the policy that was charged, whichever is named", () => {
  const own = definePolicy({ ...policy, capacity: 100 });
  const fast = definePolicy({ ...policy, capacity: 100, refill: perSecond(50) });
  const twice = definePolicy({ name: "api", limits: [{ name: "x", capacity: 100, refill: perSecond(1) }, { name: "y", capacity: 50, refill: perSecond(1) }] });
  const elsewhere = definePolicy({ name: "elsewhere", capacity: 7, refill: perSecond(1) });
  const named = [undefined, own, fast, twice, elsewhere, unlimited];

  test.each([
    ["of the limiter", own, 60, [100]],
    ["of a tier", fast, 60, [100]],
    ["with more limits", twice, { x: 60, y: 20 }, [100, 50]],
    ["of another name", elsewhere, 5, [7]],
  ] as const)("L1 · one %s", async (_, charged, cost, all) => {
    for (const makeStore of [() => new MemoryStore({ clock: still }), plainStore, guardedStore, () => new LaterStore(still), failing]) {
      for (const each of named) {
        const limiter = createLimiter<Store>({ policy: own, store: makeStore() });
        const single = combine({ only: limiter });
        const waiter = createWaiter(limiter);
        const asked = { cost, policy: charged } as never;
        const options = each && { policy: each };
        const decisions = [await limiter.consume("a", asked), await waiter.consume("b", asked), await single.consume({ only: "c" }, { cost: { only: cost }, policy: { only: charged } } as never)];
        expect(decisions.map((decision) => decision.allowed)).toEqual([true, true, true]);
        expect(await limiter.settle("a", decisions[0] as Decision, { cost: 0, ...options })).toBe(true);
        expect(await waiter.settle("b", decisions[1] as Decision, { cost: 0, ...options })).toBe(true);
        expect(await single.settle({ only: "c" }, decisions[2] as never, { cost: 0, ...each && { policy: { only: each } } })).toBe(true);
        for (const key of ["a", "b", "c"]) {
          const { limits, remaining, degraded } = await limiter.peek(key, { policy: charged });
          expect(limits?.map((reading) => reading.remaining) ?? [remaining]).toEqual(degraded ? expect.anything() : all);
        }
      }
    }
  });

  test("L1 · what has refilled since does not come back, by the rate that was charged", () => {
    for (const charged of [own, fast]) {
      for (const each of named) {
        const clock = new ManualClock();
        const limiter = createLimiter({ policy: own, store: new MemoryStore({ clock: clock.now }) });
        const decision = limiter.consume("a", { cost: 50, policy: charged });
        limiter.consume("a", { cost: 50, policy: charged });
        clock.advance(1_000);
        expect(limiter.refund("a", decision, each && { policy: each })).toBe(true);
        expect(limiter.peek("a", { policy: charged }).remaining).toBe(50);
      }
    }
  });

  test("L1 · the costs have the names of the limits that were charged", () => {
    const limiter = createLimiter({ policy: own, store: new MemoryStore({ clock: still }) });
    const decision = limiter.consume("a", { cost: { x: 10, y: 20 }, policy: twice });
    expect(() => limiter.settle("a", decision, 5)).toThrow("write cost: { x: 5, y: 5 }");
    expect(limiter.settle("a", decision, { cost: { y: 5 } })).toBe(true);
    expect(limiter.peek("a", { policy: twice }).limits).toMatchObject([{ remaining: 90 }, { remaining: 45 }]);
  });

  test("L1 · of a decision of another limiter on the store: under its policy, or not at all", () => {
    const store = new MemoryStore({ clock: still });
    const [free, pro] = [createLimiter({ policy: own, store }), createLimiter({ policy: elsewhere, store })];
    const decision = pro.consume("a", 5);
    expect([free.refund("a", decision), free.refund("a", decision, { policy: own }), pro.peek("a").remaining]).toEqual([false, false, 2]);
    expect([free.refund("a", decision, { policy: elsewhere }), pro.peek("a").remaining]).toEqual([true, 7]);
  });

  test("L1 · in a combination over one store each member has its own", () => {
    const store = new MemoryStore({ clock: still });
    const both = combine({ user: createLimiter({ policy: own, store }), team: createLimiter({ policy: { ...policy, name: "team" }, store }) });
    const keys = { user: "a", team: "t" };
    const decision = both.consume(keys, { cost: { user: { x: 10, y: 20 }, team: 3 }, policy: { user: twice } } as never);
    const { user } = decision.decisions;
    expect(createLimiter({ policy: own, store }).refund("a", user as Decision)).toBe(true);
    expect(createLimiter({ policy: own, store }).peek("a", { policy: twice }).limits).toMatchObject([{ remaining: 100 }, { remaining: 50 }]);
  });
});
