import { createLimiter, definePolicy, MemoryStore, perSecond } from "sluice";
import type { AsyncStore, Decision, OnStoreError, SyncStore } from "sluice";
import { guard } from "sluice/store";
import { describe, expect, test } from "vitest";
import { expectWarnings } from "../setup/warnings.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";

const policy = {
  name: "api",
  limits: [
    { name: "burst", capacity: 10, refill: perSecond(2) },
    { name: "day", capacity: 90, refill: perSecond(1) },
  ],
} as const;
const outage = new Error("connection lost");

const fail = (): never => {
  throw outage;
};
const throwing = (): SyncStore => (storeOf({ sync: true, guard: guard(), clock: "server", consume: fail }));
const rejecting = (): AsyncStore => (storeOf({ sync: false, guard: guard(), clock: "server", consume: () => Promise.reject(outage) }));
// Breaks the port's promise to reject, and must not break the limiter's.
const careless = (): AsyncStore => (storeOf({ sync: false, guard: guard(), clock: "server", consume: fail }));

/** Asks a limiter over each failing store. */
async function ask(onStoreError?: OnStoreError, cost = 1): Promise<Decision[]> {
  const options = { policy, onStoreError };
  return [
    createLimiter({ ...options, store: throwing() }).consume("alice", cost),
    await createLimiter({ ...options, store: rejecting() }).consume("alice", cost),
    await createLimiter({ ...options, store: careless() }).consume("alice", cost),
  ];
}

const asked = { policy: "api", limit: "burst", cost: 2, capacity: 10 };
const unknown = { ...asked, remaining: 0, nextTokenMs: 0, resetMs: 0, limits: null, at: expect.any(Number) as number, degraded: true, error: outage };

describe("L11 · refused is not broken", () => {
  test("L11 · refused is not broken: each reason is told apart, and only a refusal has one", () => {
    const limiter = createLimiter({ policy: { capacity: 10, refill: perSecond(2) }, store: new MemoryStore({ clock: () => 0 }) });
    const told = [10, 1, 11, 0].map((cost) => limiter.consume("alice", cost));
    expect(told.map(({ allowed, reason, retryAfterMs }) => [allowed, reason, retryAfterMs])).toEqual([
      [true, null, 0],
      [false, "limited", 500],
      [false, "cost_above_capacity", Infinity],
      [true, null, 0],
    ]);
    expect(told.every(({ degraded }) => !degraded)).toBe(true);
    expect(told.some((decision) => "error" in decision)).toBe(false);
  });

  test("L11 · refused is not broken: a failed store can be unavailable", async () => {
    for (const decision of await ask("unavailable", 2)) {
      expect(decision).toStrictEqual({ allowed: false, reason: "store_unavailable", ...unknown, retryAfterMs: 1_000 });
    }
  });

  test("L11 · refused is not broken: or lets everybody through, marked as degraded", async () => {
    for (const decision of await ask("allow", 2)) {
      expect(decision).toStrictEqual({ allowed: true, reason: null, ...unknown, retryAfterMs: 0 });
    }
  });

  test("L11 · refused is not broken: misuse is never taken for a failed store", async () => {
    for (const onStoreError of ["local", "allow", "unavailable"] as const) {
      const now = createLimiter({ policy, store: throwing(), onStoreError });
      const later = createLimiter({ policy, store: rejecting(), onStoreError });
      expect(() => now.consume("")).toThrow(TypeError);
      expect(() => now.consume("alice", -1)).toThrow(RangeError);
      expect(() => now.consume("alice", { policy: policy as never })).toThrow(TypeError);
      await expect(later.consume("")).rejects.toThrow(TypeError);
      await expect(later.consume("alice", -1)).rejects.toThrow(RangeError);
      await expect(later.consume("alice", { policy: policy as never })).rejects.toThrow(TypeError);
    }
  });

  test("L11 · refused is not broken: a clock that tells no time is misuse, not an outage that opens the gate", () => {
    const store = new MemoryStore({ clock: () => Number.NaN });
    const limiter = createLimiter({ policy, store, onStoreError: "allow" });
    expect(() => limiter.consume("alice")).toThrow(RangeError);
  });

  test("L11 · refused is not broken: a clock that tells no time is misuse too, also where only the store's stand-in reads it", async () => {
    const asked = createLimiter({ policy, store: { ...rejecting(), clock: () => Number.NaN } }).consume("alice");
    await expect(asked).rejects.toThrow("Expected `clock()` to be a finite number of milliseconds below 2^53, got NaN");
  });

  test("L11 · refused is not broken: a store in this process may fail with any error, also a TypeError", () => {
    expectWarnings("SLUICE_STORE_BUG");
    const closed = new TypeError("The database connection is not open");
    const store: SyncStore = storeOf({
      sync: true, guard: guard(),
      clock: () => 0,
      consume() {
        throw closed;
      },
    });
    expect(createLimiter({ policy, store, onStoreError: "allow" }).consume("alice")).toMatchObject({ allowed: true, error: closed });
  });

  test("L11 · refused is not broken: what needs no store is answered as ever: a cost that cannot fit, and a cost of nothing", async () => {
    for (const choice of ["local", "allow", "unavailable"] as const) {
      for (const decision of await ask(choice, 11)) {
        expect(decision).toMatchObject({ allowed: false, reason: "cost_above_capacity", retryAfterMs: Infinity, degraded: true });
      }
      for (const decision of await ask(choice, 0)) expect(decision).toMatchObject({ allowed: true, cost: 0, degraded: true });
    }
  });

  test("L11 · refused is not broken: whatever a store fails with is handed on", async () => {
    for (const error of ["a string", undefined, 42, new Error("x", { cause: outage })]) {
      const store: AsyncStore = storeOf({ sync: false, guard: guard(), clock: "server", consume: () => Promise.reject(error as Error) });
      expect((await createLimiter({ policy, store }).consume("alice")).error).toBe(error);
    }
  });

  test("L11 · refused is not broken: of a tier, the tier's numbers are told", async () => {
    const tier = definePolicy({ name: "api", capacity: 500, refill: perSecond(9) });
    const decision = await createLimiter({ policy, store: rejecting(), onStoreError: "unavailable" }).consume("alice", { policy: tier });
    expect(decision).toMatchObject({ reason: "store_unavailable", limit: "api", capacity: 500 });
  });

  test("L11 · refused is not broken: what a degraded decision let through is not given back", () => {
    let fails = true;
    const inner = new MemoryStore({ clock: () => 0 });
    const store: SyncStore = storeOf({
      sync: true, guard: guard(),
      clock: inner.clock,
      consume: (...asked) => callsOf((fails ? throwing() : inner)).consume(...asked),
      peek: (...asked) => callsOf(inner).peek(...asked),
      adjust: (own, key, changes) => callsOf(inner).adjust(own, key, changes),
    });
    const limiter = createLimiter({ policy, store, onStoreError: "allow" });
    const degraded = limiter.consume("alice", 5);
    fails = false;
    limiter.consume("alice", 6);
    limiter.refund("alice", degraded);
    expect(limiter.peek("alice").remaining).toBe(4);
  });

  test("a store that fails at anything else fails aloud", async () => {
    const store: AsyncStore = storeOf({ ...rejecting(), peek: () => Promise.reject(outage), reset: () => Promise.reject(outage) });
    const limiter = createLimiter({ policy, store, onStoreError: "allow" });
    await expect(limiter.peek("alice")).rejects.toBe(outage);
    await expect(limiter.reset("alice")).rejects.toBe(outage);
  });
});
