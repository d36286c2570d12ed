// A million keys, and more calls than `npm test` has time for: `npm run test:services` runs this file.
import { definePolicy, MemoryStore, perSecond } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { expectWarnings } from "../../setup/warnings.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({ capacity: 10, refill: perSecond(2) });

test("a million callers at once are each known", () => {
  const store = new MemoryStore({ clock: () => 0 });
  for (let i = 0; i < 1_000_000; i++) callsOf(store).consume(policy, `user:${i}`, 1);
  expect(store.stats()).toEqual({ buckets: 1_000_000, evictedBusy: 0 });
  const wrong = [0, 1, 499_999, 777_777, 999_999].filter((i) => callsOf(store).peek(policy, `user:${i}`, 0).remaining !== 9);
  expect(wrong).toEqual([]);
});

test("L16 · policy names cost nothing once their buckets are full again", () => {
  expectWarnings("SLUICE_POLICY_NAMES");
  const clock = new ManualClock();
  const store = new MemoryStore({ clock: clock.now });
  for (let i = 0; i < 10_000; i++) callsOf(store).consume(definePolicy({ name: `tenant-${i}`, capacity: 10, refill: perSecond(2) }), "alice", 1);
  expect(store.stats().buckets).toBe(10_000);
  clock.advance(5_000);
  // Two passes of the sweep over all shards.
  for (let i = 0; i < 1_500_000; i++) callsOf(store).consume(policy, "bob", i % 10_000 === 0 ? 1 : 0);
  expect(store.stats().buckets).toBeLessThan(500);
});
