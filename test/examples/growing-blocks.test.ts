import { createLimiter, perSecond, MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { withGrowingBlocks } from "../../examples/growing-blocks/growing-blocks.js";
import { UnsteadyStore } from "../helpers/unsteady-store.js";

const MINUTE = 60_000;
const DAY = 86_400_000;
const policy = { name: "api", capacity: 5, refill: perSecond(1) };

function serve() {
  const clock = new ManualClock();
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
  const ask = withGrowingBlocks(limiter);
  /** Asks until it is told to wait longer than the bucket takes to refill, and tells for how long. */
  const insist = async (key = "ann"): Promise<number> => {
    for (let asked = 0; asked < 100; asked++) {
      const { retryAfterMs } = await ask(key);
      if (retryAfterMs > 5_000) return retryAfterMs;
    }
    return 0;
  };
  return { clock, limiter, ask, insist };
}

test("callers who go on after refusals are blocked for 1 minute, then for 5, 30 and 120", async () => {
  const { clock, insist } = serve();
  for (const minutes of [1, 5, 30, 120, 120]) {
    expect(await insist()).toBe(minutes * MINUTE);
    clock.advance(minutes * MINUTE);
  }
});

test("ten refusals are an accident, and so is one now and then", async () => {
  const { clock, ask, limiter } = serve();
  for (let i = 0; i < 15; i++) await ask("ann");
  expect(limiter.peek("ann").retryAfterMs).toBe(1_000);
  for (let minute = 0; minute < 60; minute++) {
    clock.advance(MINUTE);
    for (let i = 0; i < 9; i++) await ask("ann"); // 4 refusals
  }
  expect(limiter.peek("ann").retryAfterMs).toBe(1_000);
});

test("a burst of parallel requests takes one step", async () => {
  const { clock, ask, limiter } = serve();
  for (const minutes of [1, 5]) {
    await Promise.all(Array.from({ length: 40 }, () => ask("ann")));
    expect(limiter.peek("ann").retryAfterMs).toBe(minutes * MINUTE);
    clock.advance(minutes * MINUTE);
  }
});

test("asking on through a block leads to no other during it, but to the next one after it", async () => {
  const { clock, insist, ask, limiter } = serve();
  expect(await insist()).toBe(MINUTE);
  clock.advance(MINUTE - 1_000);
  for (let i = 0; i < 40; i++) await ask("ann");
  expect(limiter.peek("ann").retryAfterMs).toBe(1_000);
  clock.advance(1_000);
  for (let i = 0; i < 6; i++) await ask("ann"); // 5 are allowed, and the first refusal is one too many
  expect(limiter.peek("ann").retryAfterMs).toBe(5 * MINUTE);
  expect((await ask("bob")).allowed).toBe(true);
});

test("a day forgives one step", async () => {
  const { clock, insist } = serve();
  for (const minutes of [1, 5, 30]) {
    expect(await insist()).toBe(minutes * MINUTE);
    clock.advance(minutes * MINUTE);
  }
  clock.advance(DAY);
  expect(await insist()).toBe(30 * MINUTE);
  clock.advance(2 * DAY);
  expect(await insist()).toBe(5 * MINUTE);
});

test("an outage refuses by this process's share, and blocks nobody", async () => {
  const store = new UnsteadyStore(new ManualClock().now, { breaker: false });
  const ask = withGrowingBlocks(createLimiter({ policy, store }));
  for (let i = 0; i < 15; i++) await ask("ann");
  store.health = "down";
  for (let i = 0; i < 30; i++) expect((await ask("ann")).degraded).toBe(true);
  store.health = "up";
  expect((await ask("ann")).retryAfterMs).toBeLessThanOrEqual(MINUTE);
});
