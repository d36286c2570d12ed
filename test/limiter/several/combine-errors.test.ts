// A store without a guard throws. What a combination took before it must not stay taken.
import { combine, createLimiter, MemoryStore, perSecond, type Store, type SyncStore } from "sluice";
import { describe, expect, test } from "vitest";
import { LaterStore } from "../../helpers/stores.js";
import { expectWarnings } from "../../setup/warnings.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import { storeOf } from "../../helpers/store-of.js";

const few = { capacity: 5, refill: perSecond(1) };
const keys = { first: "a", second: "b", third: "c" };

/** A store without a guard that throws while it is `full`. */
function disk() {
  const inner = new MemoryStore({ clock: () => 0 });
  const state = { full: false };
  const unlessFull = <T>(make: () => T): T => {
    if (state.full) throw new Error("disk full");
    return make();
  };
  const store: SyncStore = storeOf({
    sync: true,
    clock: () => 0,
    consume: (...asked) => unlessFull(() => callsOf(inner).consume(...asked)),
    peek: (...asked) => callsOf(inner).peek(...asked),
    adjust: (policy, key, changes) => callsOf(inner).adjust(policy, key, changes),
  });
  return { store, state };
}

const over = <S extends Store>(name: string, store: S) => createLimiter<S>({ policy: { name, ...few }, store });

describe("L10 · a store without a guard that throws", () => {
  test("L10 · after others were charged leaves nothing charged, at once", () => {
    const { store, state } = disk();
    const first = over("first", new MemoryStore({ clock: () => 0 }));
    const [second, third] = [over("second", new MemoryStore({ clock: () => 0 })), over("third", store)];
    const all = combine({ first, second, third });
    state.full = true;
    expect(() => all.consume(keys, 3)).toThrow(new Error("disk full"));
    expect([first.peek("a").remaining, second.peek("b").remaining, third.peek("c").remaining]).toEqual([5, 5, 5]);
    state.full = false;
    expect(all.consume(keys, 5).allowed).toBe(true);
  });

  test("L10 · after a store that answers later rejects, and leaves nothing charged", async () => {
    const { store, state } = disk();
    const later = new LaterStore(() => 0);
    const [first, second] = [over("first", new MemoryStore({ clock: () => 0 })), over("second", later)];
    const third = over("third", store);
    const all = combine({ first, second, third });
    state.full = true;
    await expect(all.consume(keys, 3)).rejects.toThrow("disk full");
    expect([first.peek("a").remaining, (await second.peek("b")).remaining, third.peek("c").remaining]).toEqual([5, 5, 5]);
  });

  test("L10 · a clock that fails between two steps leaves nothing charged", () => {
    let now = 0;
    const first = over("first", new MemoryStore({ clock: () => 0 }));
    const second = over("second", new MemoryStore({ clock: () => now }));
    const both = combine({ first, second });
    now = Number.NaN;
    expect(() => both.consume({ first: "a", second: "b" })).toThrow(RangeError);
    expect(first.peek("a").remaining).toBe(5);
  });

  test("what cannot be given back does not hide the error", () => {
    expectWarnings("SLUICE_SETTLEMENT_FAILED");
    const [one, other] = [disk(), disk()];
    const [first, second] = [over("first", storeOf({ ...one.store, adjust: () => { throw new Error("read-only"); } })), over("second", other.store)];
    other.state.full = true;
    expect(() => combine({ first, second }).consume({ first: "a", second: "b" })).toThrow(new Error("disk full"));
  });
});
