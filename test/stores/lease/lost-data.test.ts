// The bound of leases after a reset by another process, and after a loss of data: a restart, a failover, an eviction.
import { definePolicy, perDay, perSecond, type Refill } from "sluice";
import { leased } from "sluice/lease";
import { ManualClock } from "sluice/testing";
import type { AsyncStore, Policy } from "sluice/store";
import { beforeEach, describe, expect, test } from "vitest";
import { mostAhead, type Granted } from "../../examples/llm-windows.js";
import { ModelStore } from "./model-store.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const LEASE_MS = 100;
let clock: ManualClock;
let shared: ModelStore;
let grants: Granted[];
const open = (): AsyncStore => leased(shared, { leaseMs: LEASE_MS, time: { now: clock.now, wallNow: clock.now } });

beforeEach(() => {
  clock = new ManualClock(1_000_000);
  shared = new ModelStore(clock);
  grants = [];
});

/** Asks `count` times, and stops at a refusal. Returns the granted tokens. */
async function take(store: AsyncStore, policy: Policy, count: number, cost = 1): Promise<number> {
  let tokens = 0;
  for (let i = 0; i < count && (await callsOf(store).consume(policy, "key", cost)).allowed; i++) tokens += cost;
  grants.push([clock.now(), tokens]);
  return tokens;
}

const LIMITS: readonly (readonly [string, number, Refill])[] = [
  ["1,000 tokens and 1 a day", 1_000, perDay(1)],
  ["1,000 tokens and 1 a second", 1_000, perSecond(1)],
  ["30,000 tokens and 500 a second", 30_000, perSecond(500)],
];
const ROWS = LIMITS.flatMap(([name, capacity, refill]) =>
  (["reset by another process", "lost"] as const).flatMap((how) => (["idle", "hot"] as const).map((what) => ({ name, capacity, refill, how, what }))),
);

test.each(ROWS)("L1 · a bucket of $name: $what processes grant no more than the bound", async ({ capacity, refill, how, what }) => {
  const policy = definePolicy({ name: "p", capacity, refill });
  const processes = Array.from({ length: 5 }, open);
  for (const each of processes) await take(each, policy, 5, capacity / 100);
  clock.advance(10);
  if (how === "lost") shared.lose();
  else await callsOf(open()).reset(policy, "key");
  for (let i = 0; i < 50; i++) {
    clock.advance(20);
    for (const each of what === "hot" ? processes : []) await take(each, policy, 1);
  }
  grants = [];
  for (const each of processes) await take(each, policy, 3 * capacity);
  const granted = mostAhead(grants, { capacity, refill });
  expect(granted).toBeLessThanOrEqual(capacity + (refill.tokens / refill.everyMs) * LEASE_MS);
  expect(granted).toBeGreaterThan(capacity / 2);
});

describe("what a lease keeps", () => {
  const policy = definePolicy({ name: "p", capacity: 1_000, refill: perDay(1) });

  test("L1 · is at most what the store's answer still has as spent", async () => {
    const [store, other] = [open(), open()];
    await take(store, policy, 5, 20);
    clock.advance(50);
    await callsOf(other).reset(policy, "key");
    await shared.consume(policy, "key", 10);
    clock.advance(LEASE_MS / 2);
    const before = shared.left(policy, "key");
    await take(store, policy, 1);
    // 10 of the 260 spent tokens are left, so of the tokens that this process took, one in 26 is.
    const kept = 9;
    const held = await take(store, policy, 10_000);
    expect(held + 1).toBeLessThanOrEqual(before + kept);
  });

  // Another process spends as much again between the reset and the next call, so the answer does not show the reset.
  test("L1 · lapses two leaseMs after the call that took it, however often it was kept", async () => {
    const store = open();
    await take(store, policy, 6, 20);
    const spent = 1_000 - shared.left(policy, "key");
    shared.lose();
    await shared.consume(policy, "key", spent);
    clock.advance(LEASE_MS);
    await take(store, policy, 4);
    clock.advance(LEASE_MS - 1);
    await take(store, policy, 4);
    clock.advance(1);
    grants = [];
    expect(await take(store, policy, 10_000)).toBeLessThanOrEqual(shared.left(policy, "key") + 1_000 - spent);
  });

  test("is not what an idle process kept for two leaseMs", async () => {
    const store = open();
    await take(store, policy, 5, 20);
    clock.advance(2 * LEASE_MS);
    const left = shared.left(policy, "key");
    expect(await take(store, policy, 10_000)).toBe(left);
  });
});
