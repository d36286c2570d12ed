// A key that is asked for more than the rate: a process makes at most one call in `leaseMs`, and refuses the rest by itself.
import { createLimiter, definePolicy, perSecond, type Decision } from "sluice";
import { leased } from "sluice/lease";
import { ManualClock } from "sluice/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { ModelStore } from "./model-store.js";

const LEASE_MS = 100;
const RATE = 1_000; // a second
const WARM_MS = 2_000;
const MS = 4_000;

let clock: ManualClock;
beforeEach(() => void (clock = new ManualClock(1_000_000)));

/** One process over the server of `shared`, which counts the instants of its calls. */
function process(shared: ModelStore): { readonly ask: () => Promise<Decision>; readonly calls: number[] } {
  const calls: number[] = [];
  const counted = Object.assign(Object.create(shared) as ModelStore, {
    consume: (...asked: Parameters<ModelStore["consume"]>) => (calls.push(clock.now()), shared.consume(...asked)),
  });
  const limiter = createLimiter({ policy, store: leased(counted, { leaseMs: LEASE_MS, clock: clock.now, wallClock: clock.now }) });
  return { ask: () => limiter.consume("key"), calls };
}
let policy = definePolicy({ name: "flood", capacity: 1_000, refill: perSecond(RATE) });

/** Asks `times` the rate, in equal parts. Begins with the full bucket, and counts from when it is drained. */
async function flood(processes: number, capacity: number, times: number): Promise<{ gaps: number[]; grants: number[] }> {
  policy = definePolicy({ name: "flood", capacity, refill: perSecond(RATE) });
  const shared = new ModelStore(clock);
  const all = Array.from({ length: processes }, () => process(shared));
  const grants = all.map(() => 0);
  const [from, end] = [clock.now() + WARM_MS, clock.now() + WARM_MS + MS];
  let [due, turn] = [0, 0];
  for (; clock.now() < end; clock.advance(1)) {
    for (due += (times * RATE) / 1_000; due >= 1; due--) {
      const i = turn++ % processes;
      const { allowed } = await (all[i] as (typeof all)[number]).ask();
      if (allowed && clock.now() >= from) grants[i] = (grants[i] as number) + 1;
    }
  }
  const gaps = all.flatMap(({ calls }) => calls.flatMap((at, i) => (at < from ? [] : [at - (calls[i - 1] as number)])));
  return { gaps, grants };
}

describe("a flood is calm", () => {
  test.each([
    [1, 1_000, 2], [1, 1_000, 10], [4, 1_000, 2], [4, 1_000, 10], [8, 1_000, 10],
    [1, 100, 2], [1, 100, 10], [4, 100, 4], [4, 100, 10],
  ])("L16 · %i processes, %i tokens, %i times the rate: one call in leaseMs, and 97 per cent of the rate", async (processes, capacity, times) => {
    const { gaps, grants } = await flood(processes, capacity, times);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(LEASE_MS);
    expect(grants.reduce((sum, each) => sum + each)).toBeGreaterThanOrEqual((0.97 * RATE * MS) / 1_000);
    expect(Math.min(...grants) / Math.max(...grants)).toBeGreaterThan(0.5);
  });

  test("below the rate every request is granted, and few leases are renewed early", async () => {
    const { gaps, grants } = await flood(4, 1_000, 0.96);
    expect(grants.reduce((sum, each) => sum + each)).toBe((0.96 * RATE * MS) / 1_000);
    expect(gaps.filter((gap) => gap < LEASE_MS).length / gaps.length).toBeLessThan(0.1);
  });

  test("L16 · a bucket that holds less than refills in leaseMs is never leased", async () => {
    policy = definePolicy({ name: "flood", capacity: 99, refill: perSecond(RATE) });
    const { ask, calls } = process(new ModelStore(clock));
    for (let i = 0; i < 200; i++) await ask();
    expect(calls).toHaveLength(200);
  });
});

describe("the refusal of a process", () => {
  test("L2 · is denied until its wait is over, without a call, and then allowed", async () => {
    policy = definePolicy({ name: "flood", capacity: 1_000, refill: perSecond(RATE) });
    const { ask, calls } = process(new ModelStore(clock));
    let decision = await ask();
    while (decision.allowed) decision = await ask();
    expect(decision).toMatchObject({ allowed: false, reason: "limited", cost: 1, remaining: 0, degraded: false });
    const before = calls.length;
    const until = clock.now() + decision.retryAfterMs;
    expect(decision.retryAfterMs).toBeLessThanOrEqual(1.5 * LEASE_MS);
    while (clock.now() < until) {
      expect(await ask()).toMatchObject({ allowed: false, retryAfterMs: until - clock.now() });
      clock.advance(1);
    }
    expect(calls).toHaveLength(before);
    expect((await ask()).allowed).toBe(true);
    expect(calls).toHaveLength(before + 1);
  });

  test("L2 · waits for the token, where that takes longer than the next call", async () => {
    policy = definePolicy({ name: "flood", capacity: 10, refill: perSecond(1) });
    const shared = new ModelStore(clock);
    const { ask } = process(shared);
    for (let i = 0; i < 10; i++) expect((await ask()).allowed).toBe(true);
    for (const waited of [0, 40, 80, 300, 350]) {
      clock.set(1_000_000 + waited);
      expect(await ask()).toMatchObject({ allowed: false, retryAfterMs: 1_000 - waited, resetMs: 10_000 - waited });
    }
  });

  test("L1 · is no grant of tokens that it holds and may not grant anymore", async () => {
    policy = definePolicy({ name: "flood", capacity: 14, refill: perSecond(100) });
    const wall = new ManualClock(5_000_000);
    const limiter = createLimiter({ policy, store: leased(new ModelStore(clock), { leaseMs: LEASE_MS, clock: clock.now, wallClock: wall.now }) });
    for (let i = 0; i < 5; i++) await limiter.consume("key"); // the fifth takes all that is left
    wall.advance(-1);
    expect(await limiter.consume("key")).toMatchObject({ allowed: false, reason: "limited", retryAfterMs: LEASE_MS });
  });

  test("waits for the end of a block that another process began", async () => {
    policy = definePolicy({ name: "flood", capacity: 1_000, refill: perSecond(RATE) });
    const shared = new ModelStore(clock);
    const { ask } = process(shared);
    for (let i = 0; i < 10; i++) await ask();
    clock.advance(LEASE_MS);
    await shared.block(policy, "key", 60_000);
    expect(await ask()).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
    clock.advance(10);
    expect(await ask()).toMatchObject({ allowed: false, retryAfterMs: 59_990 });
  });

  test("ends at once with a reset in its own process", async () => {
    policy = definePolicy({ name: "flood", capacity: 1_000, refill: perSecond(RATE) });
    const limiter = createLimiter({ policy, store: leased(new ModelStore(clock), { leaseMs: LEASE_MS, clock: clock.now, wallClock: clock.now }) });
    while ((await limiter.consume("key")).allowed);
    await limiter.reset("key");
    expect((await limiter.consume("key")).allowed).toBe(true);
  });
});
