// Marks on decisions: which store charged one, known by the object alone.
import { createLimiter, MemoryStore, perSecond, type Decision, type SyncStore } from "sluice";
import { guard, type AsyncStore } from "sluice/store";
import { describe, expect, test } from "vitest";
import type { OpenGuard } from "../../src/port/guarded-store.js";
import { chargedBy, markCharged, markNew } from "../../src/port/charged.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";
import type { StoreAnswer, StoreCall } from "sluice";
import { callOf } from "../../src/port/store.js";

const policy = { name: "api", capacity: 5, refill: perSecond(1) };
const decide = (): Decision => callsOf(new MemoryStore({ clock: () => 0 })).consume(createLimiter({ policy }).policy, "ann", 1);
const by = {};

describe("a mark", () => {
  test("is found on the object, is no member of it, and is on no copy", () => {
    const decision = decide();
    const plain = { ...decision };
    expect(chargedBy(decision)).toBe(null);
    expect(markCharged(decision, by)).toBe(decision);
    expect([chargedBy(decision), Reflect.ownKeys(decision), chargedBy({ ...decision }), chargedBy(structuredClone(decision))]).toEqual([by, Reflect.ownKeys(plain), null, null]);
    expect(decision).toStrictEqual(plain);
  });

  test("can be changed and taken away, also after the caller froze the decision", () => {
    const decision = Object.freeze(markCharged(decide(), by));
    expect(chargedBy(markCharged(decision, null))).toBe(null);
    expect(chargedBy(decision)).toBe(null);
    const other = decide();
    expect([markCharged(other, null), chargedBy(other)]).toEqual([other, null]);
  });

  test.each<[how: string, close: (decision: Decision) => Decision]>([["frozen", Object.freeze], ["sealed", Object.seal], ["not extensible", Object.preventExtensions]])("on a decision that is %s is put on a copy", (_, close) => {
    const decision = close(decide());
    const marked = markCharged(decision, by);
    expect(marked).not.toBe(decision);
    expect([{ ...marked }, chargedBy(marked), chargedBy(decision), markCharged(decision, null)]).toEqual([{ ...decision }, by, null, decision]);
  });

  test("on a new decision is the same, also when the object is not new", () => {
    const decision = decide();
    const other = {};
    expect([markNew(decision, by, "ann"), chargedBy(decision), markNew(decision, other, "ann"), chargedBy(decision)]).toEqual([decision, by, decision, other]);
    expect(chargedBy(decision)).toBe(other);
  });

  test.each([null, undefined, 5, "x"])("is not on %s", (value) => {
    expect(chargedBy(value as never)).toBe(null);
  });
});

test("a memory store that returns one object for all callers settles it once for each charge", () => {
  class Constant extends MemoryStore {
    readonly #answers = super.ask(callOf("consume", createLimiter({ policy }).policy, "x", 1));
    override ask(call: StoreCall): readonly StoreAnswer[] {
      const answers = super.ask(call);
      return call.verb === "consume" ? this.#answers : answers;
    }
  }
  const limiter = createLimiter({ policy, store: new Constant({ clock: () => 0 }) });
  const decision = limiter.consume("ann");
  expect(limiter.consume("ann")).toBe(decision);
  expect([limiter.refund("ann", decision), limiter.refund("ann", decision), limiter.peek("ann").remaining]).toEqual([true, false, 4]);
});

test("decisions of a store that freezes them are settled once each", () => {
  const inner = new MemoryStore({ clock: () => 0 });
  const store: SyncStore = storeOf({
    sync: true,
    clock: () => 0,
    consume: (...asked) => Object.freeze(callsOf(inner).consume(...asked)),
    peek: (...asked) => Object.freeze(callsOf(inner).peek(...asked)),
    adjust: (own, key, changes) => callsOf(inner).adjust(own, key, changes),
  });
  const limiter = createLimiter({ policy, store });
  const [first, second] = [limiter.consume("ann", 2), limiter.consume("ann", 2)];
  expect([limiter.refund("ann", first), limiter.refund("ann", first), limiter.settle("ann", second, 1), limiter.refund("ann", limiter.peek("ann"))]).toEqual([true, false, true, false]);
  expect(limiter.peek("ann").remaining).toBe(4);
});

test("a limiter over a server returns the promise of its guard, and makes none of its own", async () => {
  const asked = guard();
  const promises: unknown[] = [];
  const store: AsyncStore = storeOf({
    sync: false,
    clock: "server",
    consume: () => Promise.resolve(decide()),
    adjust: () => Promise.resolve(true),
    guard: {
      protect(own, setup) {
        const guarded = (asked as OpenGuard).protect(own, setup);
        const consume = (...of: Parameters<typeof guarded.consume>): ReturnType<typeof guarded.consume> => {
          const promise = guarded.consume(...of);
          promises.push(promise);
          return promise;
        };
        return { ...guarded, consume };
      },
    } as OpenGuard,
  });
  const limiter = createLimiter({ policy, store });
  const promise = limiter.consume("ann");
  expect(promises).toEqual([promise]);
  expect(promises[0]).toBe(promise);
  expect([chargedBy(await promise), await limiter.refund("ann", await promise)]).toEqual([store, true]);
});

test("a refusal has no mark", () => {
  const store = new MemoryStore({ clock: () => 0 });
  const limiter = createLimiter({ policy, store });
  expect([limiter.consume("ann", 5), limiter.consume("ann")].map(chargedBy)).toEqual([store, null]);
});
