import { combine, createLimiter, createWaiter, MemoryStore, perSecond, type Decision } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { LaterStore } from "../helpers/stores.js";

const policy = { name: "api", capacity: 5, refill: perSecond(1) };
const { now } = new ManualClock(1_000);
const later = createLimiter({ policy, store: new LaterStore(now) });
const atOnce = createLimiter({ policy, store: new MemoryStore({ clock: now }) });

test.each<[what: string, consume: () => unknown]>([
  ["a limiter over a store elsewhere", () => later.consume("ann")],
  ["its `peek`", () => later.peek("ann")],
  ["a combination of two", () => combine({ a: later, b: atOnce }).consume({ a: "ann", b: "ann" })],
  ["a waiter", () => createWaiter(atOnce).consume("ann")],
])("a decision that was not awaited refuses to be read: %s", async (_, consume) => {
  const decision = consume() as Decision;
  expect(() => decision.allowed).toThrow(
    new TypeError("Expected a decision, got a promise of one: this limiter asks a store elsewhere. Write `await` before `consume`"),
  );
  expect(Object.keys(decision)).toEqual([]);
  expect(await Promise.resolve(decision)).toMatchObject({ allowed: true });
});

test("a limiter over a store in this process answers at once", () => {
  expect(atOnce.consume("bob").allowed).toBe(true);
});

test("only the first thousand answers of a process are marked, because the mark costs time", async () => {
  for (let i = 0; i < 1_000; i++) await later.peek("cas");
  const unmarked = later.peek("cas");
  expect(Object.hasOwn(unmarked, "allowed")).toBe(false);
  expect(await unmarked).toMatchObject({ allowed: true });
});
