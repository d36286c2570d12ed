import { createLimiter, definePolicy, perHour, perSecond, MemoryStore, type Decision } from "sluice";
import { leased } from "sluice/lease";
import { ManualClock } from "sluice/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { ModelStore, settled } from "./model-store.js";

const LEASE_MS = 100;
const policy = definePolicy({ name: "hot", capacity: 1_000, refill: perSecond(100) });

let clock: ManualClock;
let wall: ManualClock;
let shared: ModelStore;
const process = () => leased(shared, { leaseMs: LEASE_MS, clock: clock.now, wallClock: wall.now });
const advance = (ms: number): void => (clock.advance(ms), wall.advance(ms));

beforeEach(() => {
  clock = new ManualClock(1_000_000);
  wall = new ManualClock(5_000_000);
  shared = new ModelStore(clock);
});

/** Asks `count` times, one after the other. */
async function ask(store: ReturnType<typeof process>, count: number, cost = 1, key = "a"): Promise<Decision[]> {
  const decisions: Decision[] = [];
  for (let i = 0; i < count; i++) decisions.push(await store.consume(policy, key, cost));
  return decisions;
}

const granted = (decisions: readonly Decision[]): number => decisions.filter(({ allowed }) => allowed).length;

describe("a lease", () => {
  test("a cold key is not leased: the store decides, and its decisions pass unchanged", async () => {
    const store = process();
    const direct = new ModelStore(clock);
    for (let i = 0; i < 30; i++) {
      expect(await store.consume(policy, "a", 1)).toEqual(await direct.consume(policy, "a", 1));
      advance(LEASE_MS / 3);
    }
    expect(shared.sent).toEqual(direct.sent);
  });

  test("a hot key needs at most one call in leaseMs while the lease lasts", async () => {
    const store = process();
    await ask(store, 100);
    for (let round = 0; round < 8; round++) {
      advance(LEASE_MS);
      const before = shared.calls("a");
      expect(granted(await ask(store, 100))).toBe(100);
      expect(shared.calls("a") - before).toBeLessThanOrEqual(1);
      if (round < 7) shared.reset(policy, "a"), shared.sent.pop();
    }
  });
});
