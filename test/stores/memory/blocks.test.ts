// Blocks in a memory store: each takes the place of a bucket, and is busy until it ends.
import { createLimiter, MemoryStore, perSecond } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { callsOf } from "../../../src/testing/store-calls.js";

const HOUR = 3_600_000;
const policy = { name: "api", capacity: 5, refill: perSecond(1) };

function storeOf(maxKeys: number) {
  const clock = new ManualClock(1_000_000);
  const store = new MemoryStore({ maxKeys, clock: clock.now });
  const limiter = createLimiter({ policy, store });
  const spray = (count: number, cost = 1): void => {
    for (let i = 0; i < count; i++) limiter.consume(`spray ${i}`, cost);
  };
  return { clock, store, limiter, spray };
}

describe("blocks at `maxKeys`", () => {
  test.each([0, -1, -60_000, -HOUR])("L13 · a block stays while 255 buckets that are full sooner can go, also after a step of the clock of %i ms", (ms) => {
    const { clock, store, limiter, spray } = storeOf(300);
    limiter.block("ann", HOUR);
    clock.advance(ms);
    spray(5_000);
    expect(limiter.consume("ann", 0)).toMatchObject({ allowed: false, retryAfterMs: HOUR - ms });
    expect(store.stats().buckets).toBe(300);
  });

  test("L13 · a block is one bucket, and one that goes before its end is counted", () => {
    const { store, limiter } = storeOf(1);
    limiter.block("ann", HOUR);
    expect(store.stats()).toEqual({ buckets: 1, evictedBusy: 0 });
    limiter.consume("bob");
    expect(store.stats()).toEqual({ buckets: 1, evictedBusy: 1 });
    expect(limiter.consume("ann").allowed).toBe(true);
  });

  test("L13 · a block that is over goes first, and is not counted", () => {
    const { clock, store, limiter } = storeOf(2);
    limiter.block("ann", 2_000);
    clock.advance(1_000);
    limiter.consume("bob", 3);
    clock.advance(1_000);
    limiter.consume("carl", 3);
    expect(store.stats()).toEqual({ buckets: 2, evictedBusy: 0 });
    expect([limiter.peek("bob").remaining, limiter.peek("carl").remaining]).toEqual([3, 2]);
  });

  test("a reset ends a block and frees its place, and no other key is blocked", () => {
    const { store, limiter } = storeOf(10);
    for (const key of ["ann", "bob"]) limiter.block(key, HOUR);
    limiter.consume("carl");
    limiter.reset("ann");
    expect(store.stats().buckets).toBe(2);
    expect(["ann", "bob", "carl"].map((key) => limiter.peek(key).allowed)).toEqual([true, false, true]);
    limiter.reset("bob");
    expect(limiter.consume("bob").allowed).toBe(true);
  });

  test("L4 · with 0 a block frees its place and leaves the limits of its key, and other blocks", () => {
    const { clock, store, limiter } = storeOf(10);
    limiter.consume("ann", 4);
    for (const key of ["ann", "bob"]) limiter.block(key, HOUR);
    expect(store.stats().buckets).toBe(3);
    for (const key of ["ann", "ann", "carl"]) limiter.block(key, 0);
    expect(store.stats()).toEqual({ buckets: 2, evictedBusy: 0 });
    clock.advance(-500); // the block does not come back
    expect(limiter.consume("ann", 1)).toMatchObject({ allowed: true, remaining: 0 });
    expect(limiter.consume("bob", 0)).toMatchObject({ allowed: false, blocked: true });
    limiter.block("bob", 0);
    expect(limiter.consume("bob", 5)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test("L10 · one blocked key refuses all charges that are made together", () => {
    const { store, limiter } = storeOf(10);
    limiter.block("ann", HOUR);
    const charges = ["bob", "ann"].map((key) => ({ policy: limiter.policy, key, cost: 0 }));
    expect(callsOf(store).together(charges)).toMatchObject([{ allowed: true }, { allowed: false, retryAfterMs: HOUR }]);
    expect(limiter.peek("bob").remaining).toBe(5);
  });
});

test("L6, L13 · a record further ahead of the clock than a refill keeps what was spent, and is counted when it goes", () => {
  const { clock, store, limiter } = storeOf(1);
  limiter.consume("ann", 5);
  clock.advance(-HOUR);
  expect(limiter.peek("ann")).toMatchObject({ remaining: 0, retryAfterMs: 1_000 });
  limiter.consume("bob");
  expect(store.stats()).toEqual({ buckets: 1, evictedBusy: 1 });
});
