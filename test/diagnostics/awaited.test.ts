import { ManualClock } from "sluice/testing";
import type { Decision } from "sluice";
import { expect, test } from "vitest";
import { LaterStore } from "../helpers/stores.js";
import { freshSluice } from "../helpers/warned.js";

const { now } = new ManualClock(1_000);

/** A copy of sluice that has given no answers yet, and two limiters of it: over a store elsewhere, and over one here. */
async function freshLimiters() {
  const sluice = await freshSluice();
  const policy = { name: "api", capacity: 5, refill: sluice.perSecond(1) };
  const later = sluice.createLimiter({ policy, store: new LaterStore(now) });
  const atOnce = sluice.createLimiter({ policy, store: new sluice.MemoryStore({ clock: now }) });
  return { ...sluice, later, atOnce };
}

type Limiters = Awaited<ReturnType<typeof freshLimiters>>;

test.each<[what: string, consume: (limiters: Limiters) => unknown]>([
  ["a limiter over a store elsewhere", ({ later }) => later.consume("ann")],
  ["its `peek`", ({ later }) => later.peek("ann")],
  ["a combination of two", ({ combine, later, atOnce }) => combine({ a: later, b: atOnce }).consume({ a: "ann", b: "ann" })],
  ["a waiter", ({ createWaiter, atOnce }) => createWaiter(atOnce).consume("ann")],
])("a decision that was not awaited refuses to be read: %s", async (_, consume) => {
  const decision = consume(await freshLimiters()) as Decision;
  expect(() => decision.allowed).toThrow(
    new TypeError("Expected a decision, got a promise of one: this limiter asks a store elsewhere. Write `await` before `consume`"),
  );
  expect(Object.keys(decision)).toEqual([]);
  expect(await Promise.resolve(decision)).toMatchObject({ allowed: true });
});

test("a limiter over a store in this process answers at once", async () => {
  const { atOnce } = await freshLimiters();
  expect(atOnce.consume("bob").allowed).toBe(true);
});

test("the first thousand answers refuse to be read, then 250 of every 16,000, because the mark takes time", async () => {
  const { later } = await freshLimiters();
  const marked: number[] = [];
  for (let place = 1; place <= 16_251; place++) {
    const answer = later.peek("cas");
    if (Object.hasOwn(answer, "allowed")) marked.push(place);
    await answer;
  }
  expect([marked.length, marked[999], marked[1_000], marked.at(-1)]).toEqual([1_250, 1_000, 16_001, 16_250]);
});
