import { createLimiter, definePolicy, MemoryStore, perSecond, type Decision } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { LaterStore } from "./stores.js";

const policy = { name: "api", capacity: 10, refill: perSecond(2) };
const clock = new ManualClock();

describe("refund", () => {
  test("gives back what a decision took, once", () => {
    const limiter = createLimiter({ policy, clock: clock.now });
    const first = limiter.consume("alice", 3);
    limiter.consume("alice", 4);
    for (let again = 0; again < 3; again++) {
      limiter.refund("alice", first);
      expect(limiter.peek("alice").remaining).toBe(6);
    }
  });

  test("each decision for itself, also when they say the same", () => {
    const limiter = createLimiter({ policy, clock: clock.now });
    const decisions = Array.from({ length: 5 }, () => limiter.consume("alice"));
    for (const decision of decisions) limiter.refund("alice", decision);
    expect(limiter.peek("alice")).toMatchObject({ remaining: 10, resetMs: 0 });
  });

  test("gives nothing for a refusal, or for a decision that took nothing", () => {
    const limiter = createLimiter({ policy, clock: clock.now });
    limiter.consume("alice", 8);
    const taken: Decision[] = [limiter.consume("alice", 3), limiter.consume("alice", 11), limiter.consume("alice", 0)];
    for (const decision of taken) limiter.refund("alice", decision);
    expect(limiter.peek("alice").remaining).toBe(2);
  });

  test("gives nothing for what was peeked, at once or later", async () => {
    const limiter = createLimiter({ policy, clock: clock.now });
    limiter.consume("alice", 8);
    for (let again = 0; again < 4; again++) limiter.refund("alice", limiter.peek("alice"));
    expect(limiter.peek("alice").remaining).toBe(2);

    const later = createLimiter({ policy, store: new LaterStore(clock.now) });
    await later.consume("alice", 8);
    await later.refund("alice", await later.peek("alice"));
    expect((await later.peek("alice")).remaining).toBe(2);
  });

  test("gives back once, whichever limiters of a store are asked", () => {
    const store = new MemoryStore({ clock: clock.now });
    const [one, other] = [createLimiter({ policy, store }), createLimiter({ policy, store })];
    const decision = one.consume("alice", 3);
    one.consume("alice", 4);
    one.refund("alice", decision);
    other.refund("alice", decision);
    expect(one.peek("alice").remaining).toBe(6);
  });

  test("never fills beyond full", () => {
    const limiter = createLimiter({ policy, clock: clock.now });
    const decision = limiter.consume("alice", 6);
    clock.advance(2_500);
    limiter.refund("alice", decision);
    expect(limiter.consume("alice", 10).allowed).toBe(true);
    expect(limiter.consume("alice").allowed).toBe(false);
  });

  test("a number is the administrator's form: as often as it is called, and never beyond full", () => {
    const limiter = createLimiter({ policy, clock: clock.now });
    limiter.consume("alice", 10);
    limiter.refund("alice", 3);
    limiter.refund("alice", 3);
    expect(limiter.peek("alice").remaining).toBe(6);
    limiter.refund("alice", Number.MAX_SAFE_INTEGER);
    expect(limiter.peek("alice")).toMatchObject({ remaining: 10, resetMs: 0 });
  });

  test("goes to every limit that was charged", () => {
    const refill = perSecond(1);
    const limits = [{ name: "a", capacity: 5, refill }, { name: "b", capacity: 9, refill }] as const;
    const limiter = createLimiter({ policy: { name: "api", limits }, clock: clock.now });
    limiter.refund("alice", limiter.consume("alice", 4));
    expect(limiter.peek("alice").limits?.map(({ resetMs }) => resetMs)).toEqual([0, 0]);
  });

  test("refuses a decision under another policy name, and takes one under a tier to that tier", () => {
    const store = new MemoryStore({ clock: clock.now });
    const limiter = createLimiter({ policy, store });
    const bulk = definePolicy({ name: "bulk", capacity: 5, refill: perSecond(1) });
    const decision = limiter.consume("alice", { policy: bulk, cost: 5 });
    expect(() => limiter.refund("alice", decision)).toThrow(new TypeError('Expected `decision.policy` to be "api", got "bulk"'));
    limiter.refund("alice", decision, { policy: bulk });
    expect(limiter.peek("alice", { policy: bulk }).remaining).toBe(5);
  });

  test("over an asynchronous store, too: also when the two are asked for at once", async () => {
    const limiter = createLimiter({ policy, store: new LaterStore(clock.now) });
    await limiter.consume("alice", 5);
    const decision = await limiter.consume("alice", 3);
    await Promise.all([limiter.refund("alice", decision), limiter.refund("alice", decision)]);
    expect((await limiter.peek("alice")).remaining).toBe(5);
  });
});
