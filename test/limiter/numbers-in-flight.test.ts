// What a number as the cost means for a limit in flight.
import { combine, createLimiter, createWaiter, definePolicy, MemoryStore, monthly, perMinute, run, whenDone, type Decision } from "sluice";
import { createGate } from "sluice/http";
import { describe, expect, test } from "vitest";

const store = () => new MemoryStore({ clock: () => 0 });
const gpu = { name: "gpu", capacity: 4, returns: whenDone() };
const tokens = { name: "tokens", capacity: 10_000, refill: perMinute(10_000) };
const month = { name: "month", capacity: 50_000, renews: monthly() };
const free = definePolicy({ name: "plan", limits: [{ ...gpu, name: "p" }] });
const pro = definePolicy({ name: "plan", limits: [{ ...gpu, name: "p", capacity: 20 }] });
const mixed = definePolicy({ name: "plan", limits: [{ ...gpu, name: "p" }, { ...tokens, name: "t" }] });
const costs = (decision: Decision) => (decision.limits ?? [decision]).map(({ cost }) => cost);

describe("a number is for the one limit of a limiter whose own policy has one, in flight too", () => {
  test("in consume, peek, run, a waiter and an object of options", async () => {
    const limiter = createLimiter({ policy: gpu, store: store() });
    const first = limiter.consume("a", 2);
    expect([first.cost, first.remaining, limiter.peek("a", 3).allowed, limiter.consume("a", { cost: 2 }).cost]).toEqual([2, 2, false, 2]);
    expect([limiter.consume("b", 9), limiter.peek("b", 9)]).toEqual([0, 1].map(() => expect.objectContaining({ allowed: false, reason: "cost_above_capacity", cost: 9 })));
    expect([limiter.consume("b").cost, limiter.consume("c", 0).cost, limiter.consume("d", 4).remaining]).toEqual([1, 0, 0]);
    expect((await createWaiter(limiter).consume("e", 3)).remaining).toBe(1);
    expect(await run(limiter, "f", ({ cost }) => cost, { cost: 4 })).toBe(4);
    expect([limiter.refund("a", first), limiter.peek("a").remaining]).toEqual([true, 2]);
  });

  test("under the limit's own cost it replaces it, and a bad one is refused", () => {
    const limiter = createLimiter({ policy: { name: "gpu", limits: [{ ...gpu, cost: 2 }] }, store: store() });
    expect([limiter.consume("a").cost, limiter.consume("b", 3).cost]).toEqual([2, 3]);
    for (const bad of [-1, 0.5, Number.NaN]) expect(() => limiter.consume("a", bad)).toThrow("cost");
  });

  test("for a tier of one limit, when the own policy is in flight", () => {
    const limiter = createLimiter({ policy: free, store: store() });
    expect([limiter.consume("a", { cost: 9, policy: pro }).cost, costs(limiter.consume("b", { cost: 50, policy: mixed }))]).toEqual([9, [1, 50]]);
  });

  test("in a gate, whose fixed cost is checked when it is made", async () => {
    const reader = { method: () => "GET", header: () => undefined };
    const gate = (cost: number) => createGate({ policy: gpu, key: () => "a", cost, store: store() }, reader as never);
    expect(() => gate(9)).toThrow(/^Expected `cost` to be at most the capacity, 4, got 9/);
    const verdict = await gate(3)({} as never);
    expect(verdict).toMatchObject({ outcome: "pass" });
  });
});

describe("a number leaves limits in flight at their own cost", () => {
  test("beside rates and quotas", () => {
    const limiter = createLimiter({ policy: { name: "llm", limits: [tokens, gpu, month] }, store: store() });
    expect([costs(limiter.consume("a", 2_000)), costs(limiter.consume("b", { cost: { tokens: 5, gpu: 2 } }))]).toEqual([[2_000, 1, 2_000], [5, 2, 1]]);
  });

  test("in several limits in flight of one policy", () => {
    const limiter = createLimiter({ policy: { name: "two", limits: [gpu, { ...gpu, name: "cpu" }] }, store: store() });
    expect(costs(limiter.consume("a", 3))).toEqual([1, 1]);
  });

  test.each([["rates", mixed], ["a rate", definePolicy({ ...tokens, name: "plan" })]])("in a tier of a policy of %s", (_, policy) => {
    const limiter = createLimiter({ policy, store: store() });
    expect([limiter.consume("a", { cost: 2_000, policy: free }), limiter.peek("b", { cost: 2_000, policy: free })]).toEqual([0, 1].map(() => expect.objectContaining({ allowed: true, cost: 1 })));
    expect(limiter.consume("b", { cost: { p: 3 }, policy: free }).cost).toBe(3);
  });

  test("of the members of a combination, until the member is named", async () => {
    const shared = store();
    const user = createLimiter({ policy: tokens, store: shared });
    const place = createLimiter({ policy: gpu, store: shared });
    const both = combine({ user, place });
    const keys = { user: "a", place: "g" };
    const all = both.consume(keys, { cost: 2_000 });
    expect([all.allowed, costs(all), costs(both.peek(keys, 2_000))]).toEqual([true, [2_000, 1], [2_000, 1]]);
    expect(costs(both.consume(keys, { cost: { user: 5, place: 2 } }))).toEqual([5, 2]);
    const outer = combine({ both, again: place });
    expect(costs(outer.peek({ both: keys, again: "h" }, { cost: { both: 50, again: 3 } }))).toEqual([50, 1, 3]);
    expect(costs(outer.peek({ both: keys, again: "h" }, 50))).toEqual([50, 1, 1]);
    const waiter = createWaiter(both);
    await expect(waiter.consume({ user: "b", place: "i" }, 2_000)).resolves.toMatchObject({ allowed: true });
  });

  test("in the numbers of a member that was peeked at because another refused", () => {
    const [user, place] = [createLimiter({ policy: { ...tokens, capacity: 5, refill: perMinute(5) }, store: store() }), createLimiter({ policy: mixed, store: store() })];
    const both = combine({ place, user });
    const refused = both.consume({ user: "a", place: "g" }, { cost: { user: 9, place: { p: 3 } }, policy: { place: free } });
    expect([refused.allowed, refused.decisions.place?.cost]).toEqual([false, 3]);
  });
});

test("the error for one number under several limits has the code to write", () => {
  const limiter = createLimiter({ policy: { name: "llm", limits: [{ ...tokens, name: "per-day" }, gpu, month, { ...tokens, name: "2" }] }, store: store() });
  const decision = limiter.consume("a");
  for (const call of [() => limiter.settle("a", decision, 21), () => limiter.debit("a", 21), () => limiter.credit("a", 21)]) {
    expect(call).toThrow('Policy "llm" has 4 limits: write cost: { "per-day": 21, month: 21, "2": 21 }');
  }
  expect(limiter.settle("a", decision, { cost: { "per-day": 21, month: 21, "2": 21 } })).toBe(true);
  const held = createLimiter({ policy: { name: "two", limits: [gpu, { ...gpu, name: "cpu" }] }, store: store() });
  expect(() => held.settle("a", held.consume("a"), 21)).toThrow("has 2 limits: write cost: 0, because all of them are in flight");
});
