// A key that is asked for more than the rate: a process makes at most one call in `leaseMs`, and refuses the rest by itself.
import { createLimiter, definePolicy, perSecond, type Decision } from "sluice";
import { leased } from "sluice/lease";
import { ManualClock } from "sluice/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { ModelStore } from "./model-store.js";

const LEASE_MS = 100;
const RATE = 1_000; // a second

let clock: ManualClock;
beforeEach(() => void (clock = new ManualClock(1_000_000)));

/** One process over the server of `shared`, which counts the instants of its calls. */
function process(shared: ModelStore): { readonly ask: () => Promise<Decision>; readonly calls: number[] } {
  const calls: number[] = [];
  const counted = Object.assign(Object.create(shared) as ModelStore, {
    consume: (...asked: Parameters<ModelStore["consume"]>) => (calls.push(clock.now()), shared.consume(...asked)),
  });
  const limiter = createLimiter({ policy, store: leased(counted, { leaseMs: LEASE_MS, time: { now: clock.now, wallNow: clock.now } }) });
  return { ask: () => limiter.consume("key"), calls };
}
let policy = definePolicy({ name: "flood", capacity: 1_000, refill: perSecond(RATE) });

/** A number of processes on one full bucket, and what becomes of the requests that they get in equal parts. */
class Crowd {
  readonly calls: readonly (readonly number[])[];
  readonly grants: number[];
  asked = 0;
  readonly #all: readonly ReturnType<typeof process>[];
  #due = 0;
  #turn = 0;

  constructor(processes: number, capacity: number) {
    policy = definePolicy({ name: "flood", capacity, refill: perSecond(RATE) });
    const shared = new ModelStore(clock);
    this.#all = Array.from({ length: processes }, () => process(shared));
    this.calls = this.#all.map(({ calls }) => calls);
    this.grants = this.#all.map(() => 0);
  }

  get granted(): number {
    return this.grants.reduce((sum, each) => sum + each);
  }

  /** Asks `times` the rate for `ms`. */
  async ask(times: number, ms: number): Promise<void> {
    for (const end = clock.now() + ms; clock.now() < end; clock.advance(1)) {
      for (this.#due += (times * RATE) / 1_000; this.#due >= 1; this.#due--) {
        const i = this.#turn++ % this.#all.length;
        this.asked += 1;
        if ((await this.#all[i]?.ask())?.allowed === true) this.grants[i] = (this.grants[i] as number) + 1;
      }
    }
  }

  /** Forgets what was counted. */
  count(): void {
    this.asked = 0;
    this.grants.fill(0);
  }

  /** How long after the call before it each call was made, from the instant `from` on. */
  gaps(from: number): number[] {
    return this.calls.flatMap((calls) => calls.flatMap((at, i) => (at < from ? [] : [at - (calls[i - 1] ?? -Infinity)])));
  }
}

/** Asks `times` the rate for `ms`, after the full bucket is drained and each process knows its part. */
async function flood(processes: number, capacity: number, times: number, ms: number): Promise<{ crowd: Crowd; gaps: number[] }> {
  const crowd = new Crowd(processes, capacity);
  await crowd.ask(times, 3_000 + (times > 1 ? capacity / (times - 1) : 0));
  const from = clock.now();
  crowd.count();
  await crowd.ask(times, ms);
  return { crowd, gaps: crowd.gaps(from) };
}

const TIMES = [0.6, 0.96, 1.2, 2, 10];
// 100 tokens refill in leaseMs.
const CROWDS = [[1, 100], [2, 100], [4, 100], [1, 1_000], [2, 1_000], [4, 1_000], [8, 1_000]] as const;

describe("a flood is calm", () => {
  test.each(
    CROWDS.flatMap(([processes, capacity]) => TIMES.map((times) => [processes, capacity, times] as const)),
  )("L16 · %i processes, %i tokens, %f times the rate: one call in leaseMs, and 97 per cent of the rate", async (processes, capacity, times) => {
    const ms = 2_500;
    const { crowd, gaps } = await flood(processes, capacity, times, ms);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(LEASE_MS);
    // The next call is at most a tenth late, and then waits for a request.
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1.1 * LEASE_MS + processes / times);
    expect(crowd.granted).toBeGreaterThanOrEqual(0.97 * Math.min(1, times) * (RATE / 1_000) * ms);
    expect(Math.min(...crowd.grants) / Math.max(...crowd.grants)).toBeGreaterThan(0.5);
  });

  // A full bucket must grant all its tokens, so a lease that is used up while the store has more is renewed early.
  test.each([
    [1, 1_000, 0.1, 0.9, 2], [4, 1_000, 0.3, 0.9, 1], [1, 100, 0.1, 0.9, 2], [4, 100, 0.3, 0.9, 1],
    [1, 1_000, 0.1, 10, 4], [4, 1_000, 0.3, 10, 3.5], [1, 100, 0.1, 10, 2], [4, 100, 0.3, 10, 2],
  ])("L16 · %i processes, %i tokens: a jump from %f to %f times the rate costs at most %f early calls of each", async (processes, capacity, low, high, most) => {
    const crowd = new Crowd(processes, capacity);
    await crowd.ask(low, 1_000);
    const from = clock.now();
    crowd.count();
    for (let jump = 0; jump < 4; jump++) {
      await crowd.ask(high, 500);
      await crowd.ask(low, 2_000);
    }
    expect(crowd.gaps(from).filter((gap) => gap < LEASE_MS).length / processes / 4).toBeLessThanOrEqual(most);
    if (high < 1 && capacity > 100) expect(crowd.granted).toBe(crowd.asked);
  });

  test.each([[200, 9], [1_000, 12]])("L5 · renewed early, all of %i tokens are granted with less than %i calls", async (capacity, most) => {
    const crowd = new Crowd(1, capacity);
    await crowd.ask(1.5 * capacity, 1);
    expect(crowd.granted).toBe(capacity);
    expect(crowd.calls[0]?.length).toBeLessThan(most);
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
    const limiter = createLimiter({ policy, store: leased(new ModelStore(clock), { leaseMs: LEASE_MS, time: { now: clock.now, wallNow: wall.now } }) });
    for (let i = 0; i < 5; i++) await limiter.consume("key"); // the fifth takes five
    await limiter.debit("key", 5); // all that is left
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
    const limiter = createLimiter({ policy, store: leased(new ModelStore(clock), { leaseMs: LEASE_MS, time: { now: clock.now, wallNow: clock.now } }) });
    while ((await limiter.consume("key")).allowed);
    await limiter.reset("key");
    expect((await limiter.consume("key")).allowed).toBe(true);
  });
});
