// What a store may be asked for, and what its calls hold, whatever `Object.prototype` has.
import { createLimiter, definePolicy, MemoryStore, perHour, whenDone, type Store, type StoreCall } from "sluice";
import { answerCall, casStore, LIMIT_KINDS, sqlStore, STORE_VERBS, type Records } from "sluice/store";
import { afterEach, expect, test } from "vitest";
import { callOf, hasVerb, takesTogether } from "../../src/port/store.js";
import { bareStore } from "../helpers/stores.js";

const policy = definePolicy({ name: "five", capacity: 5, refill: perHour(1) });
const clock = (): number => 0;

afterEach(() => {
  for (const name of ["from", "move", "verbs", "together"]) Reflect.deleteProperty(Object.prototype, name);
});

const kept = new Map<string, string>();
const stores: Record<string, Store> = {
  "in memory": new MemoryStore({ clock }),
  "over compare-and-set": casStore<null>({ read: async () => null, write: async () => true }, { time: { now: clock } }),
  "over rows": sqlStore<Map<string, string>>({ sync: true, transaction: (run) => run(kept), read: (tx, name) => ({ value: tx.get(name) }), write: (tx, name, value) => void tx.set(name, value) }),
};
test.each(Object.keys(stores))("L9 · a verb that a store %s does not know is refused, and takes nothing", async (name) => {
  const store = stores[name] as Store;
  const call = { verb: "double", parts: [{ policy, key: "ann", cost: 1 }] } as never;
  await expect((async () => store.ask(call))()).rejects.toThrow("Expected `verb` to be one of consume, peek, adjust, renew, block, reset, got \"double\"");
  expect(await store.ask(callOf("peek", policy, "ann", 0))).toMatchObject([{ remaining: 5 }]);
});

test("L9 · `answerCall` refuses it, too", () => {
  const records: Records = new Map();
  expect(() => answerCall({ verb: "double", parts: [{ policy, key: "ann", cost: 1 }] } as never, [records], 0)).toThrow(TypeError);
  expect(records.size).toBe(0);
});

test("a call has its own dates, and none of the prototype", () => {
  Object.assign(Object.prototype, { from: { at: 7 }, move: { from: 1, to: 2 } });
  const own = { at: 5 };
  const calls = [callOf("adjust", policy, "ann", -1, { from: own }), callOf("adjust", policy, "ann", 1), callOf("renew", policy, "ann", 1, { move: { from: 3, to: 4 } })];
  expect(calls.map(({ from, move }) => [from, move])).toEqual([[own, undefined], [undefined, undefined], [undefined, { from: 3, to: 4 }]]);
});

test("what a store can do is what it says, and nothing of the prototype", () => {
  Object.assign(Object.prototype, { verbs: ["peek"], together: true });
  const store: Store = { sync: true, clock, ask: () => [] };
  expect([hasVerb(store, "consume"), hasVerb(store, "peek"), takesTogether(store, [])]).toEqual([true, false, false]);
});

test.each<[what: string, together: unknown, taken: boolean]>([
  ["true", true, true], ["false", false, false], ["nothing", undefined, false], ["a function that says yes", () => true, true],
  ["a function that says no", () => false, false], ["a promise of yes", async () => true, false], ["a number", () => 1, false],
])("%s as `together`", (_what, together, taken) => {
  expect(takesTogether({ ...bareStore(clock), together } as never, [])).toBe(taken);
});

test("L21 · a store that counts tokens in flight and cannot give them back is refused", () => {
  const flight = { name: "flight", capacity: 2, returns: whenDone() };
  const over = (verbs: Store["verbs"]) => () => createLimiter({ policy: flight, store: { ...bareStore(clock), kinds: LIMIT_KINDS, verbs } });
  for (const verbs of [undefined, ["consume"], ["renew"]] as const) {
    expect(over(verbs)).toThrow('Expected a store with `verbs` that include "adjust" for the limits in flight of policy "flight", got others');
  }
  expect(over(STORE_VERBS)).not.toThrow();
});

test.each<[name: "verbs" | "together", value: unknown, message: string]>([
  ["verbs", new Set(["peek"]), "Expected `store.verbs` to be a list, such as STORE_VERBS, got an object"],
  ["verbs", "peek", 'Expected `store.verbs` to be a list, such as STORE_VERBS, got "peek"'],
  ["together", 1, "Expected `store.together` to be true, false, or a function of the parts, got 1"],
])("L9 · `%s: %o` is refused", (name, value, message) => {
  expect(() => createLimiter({ policy, store: { ...bareStore(clock), [name]: value } as never })).toThrow(new TypeError(message));
});

test("a subclass with a method `consume` of its own is asked by its `ask`", () => {
  class Own extends MemoryStore {
    consume(): never {
      throw new Error("not of the port");
    }
  }
  expect(createLimiter({ policy, store: new Own({ clock }) }).consume("ann").remaining).toBe(4);
});

test("a subclass, and a spy, that replace `ask` are asked", () => {
  const asked: StoreCall["verb"][] = [];
  class Told extends MemoryStore {
    override ask(call: StoreCall) {
      asked.push(call.verb);
      return super.ask(call);
    }
  }
  const limiter = createLimiter({ policy, store: new Told({ clock }) });
  limiter.consume("ann");
  limiter.peek("ann");
  expect(asked).toEqual(["consume", "peek"]);
});
