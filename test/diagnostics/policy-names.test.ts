import { definePolicy, perSecond, type Key, type Policy } from "sluice";
import { guard } from "sluice/store";
import { afterEach, describe, expect, test, vi } from "vitest";
import { bareStore } from "../helpers/stores.js";
import { freshSluice } from "../helpers/warned.js";
import type { SyncStore } from "sluice";
import { callsOf } from "../../src/testing/store-calls.js";

afterEach(() => void vi.restoreAllMocks());

const numbers = { capacity: 5, refill: perSecond(1) };
const policyOf = (i: number): Policy => definePolicy({ name: `tenant-${i}`, ...numbers });

describe("SLUICE_POLICY_NAMES", () => {
  test("L16 · at the 1,000th name in a memory store, from limiters and from single calls together", async () => {
    const { createLimiter, MemoryStore, given } = await freshSluice();
    const store = new MemoryStore();
    const limiter = createLimiter({ policy: policyOf(0), store });
    for (let i = 1; i < 500; i++) createLimiter({ policy: policyOf(i), store });
    for (let i = 0; i < 999; i++) limiter.consume("ann", { policy: policyOf(i) });
    expect(given).toEqual([]);
    limiter.consume("ann", { policy: policyOf(999) });
    expect(given).toMatchObject([{ code: "SLUICE_POLICY_NAMES", message: expect.stringContaining('1000 policy names, such as "tenant-999"') as string }]);
    expect(JSON.stringify(given)).not.toContain("ann");
  });

  test("L16 · at the 1,000th name that limiters, or requests, bring to another store", async () => {
    for (const bring of ["limiters", "requests"]) {
      const { createLimiter, createGate, codes } = await freshSluice();
      const store = { ...bareStore(() => 0), clock: "server", guard: guard() } as const;
      // The gate's own limiter has a name as well.
      const gate = createGate({ policy: (i: number) => policyOf(i), store, key: (): Key => "ann" }, { method: () => "GET", header: () => undefined });
      const see = (i: number): void => void (bring === "limiters" ? createLimiter({ policy: policyOf(i), store }) : gate(i));
      for (let i = 0; i < 998; i++) see(i);
      expect(codes()).toEqual([]);
      see(998);
      expect(codes(), bring).toEqual(["SLUICE_POLICY_NAMES"]);
    }
  });

  test("not for names of several stores, nor for one name in many numbers", async () => {
    const { createLimiter, MemoryStore, codes } = await freshSluice();
    const stores = [new MemoryStore(), new MemoryStore()];
    for (let i = 0; i < 1_998; i++) callsOf(stores[i % 2] as SyncStore).consume(policyOf(i), "ann", 1);
    const limiter = createLimiter({ policy: numbers });
    for (let i = 0; i < 2_000; i++) limiter.consume("ann", { policy: definePolicy({ ...numbers, capacity: i + 1 }) });
    expect(codes()).toEqual([]);
  });
});

test("L16 · a store remembers the numbers of the last 1,000 policy names of its limiters", async () => {
  const { createLimiter, MemoryStore, silenceWarnings } = await freshSluice();
  silenceWarnings("SLUICE_POLICY_NAMES");
  const store = new MemoryStore();
  const make = (i: number, capacity: number) => () => createLimiter({ policy: { name: `tenant-${i}`, ...numbers, capacity }, store });
  for (let i = 0; i < 1_000; i++) make(i, 5)();
  expect(make(0, 6)).toThrow(RangeError);
  make(1_000, 5)();
  expect(make(0, 6)).not.toThrow();
  expect(make(1_000, 6)).toThrow(RangeError);
});

test("L16 · the checks of a store's requests remember at most 1,000 policy names", async () => {
  const { createGate, MemoryStore, silenceWarnings } = await freshSluice();
  silenceWarnings("SLUICE_POLICY_NAMES");
  const store = new MemoryStore();
  for (let gates = 0; gates < 3; gates++) {
    const asked = { method: () => "GET", header: () => undefined };
    const gate = createGate({ policy: ({ i }: { readonly i: number }) => policyOf(i), store, key: (): Key => "ann" }, asked);
    for (let i = 0; i < 1_000; i++) void gate({ i: 1_000 * gates + i });
  }
  const shared = globalThis as unknown as Record<symbol, WeakMap<object, { readonly keys: ReadonlyMap<string, unknown> }>>;
  expect(shared[Symbol.for("sluice.1.ledgers")]?.get(store)?.keys.size).toBe(1_000);
});
