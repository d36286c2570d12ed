// Tiers: numbers chosen for each request under one policy name. However they are changed about, nobody gains by it.
import fc from "fast-check";
import { combine, createLimiter, createWaiter, definePolicy, MemoryStore, perSecond, unlimited, type Decision, type Policy } from "sluice";
import { createGate } from "sluice/http";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import type { RateNumbers } from "../helpers/arbitraries.js";

const limit: fc.Arbitrary<RateNumbers> = fc.record({
  capacity: fc.integer({ min: 1, max: 30 }),
  refill: fc.record({ tokens: fc.integer({ min: 1, max: 40 }), everyMs: fc.integer({ min: 1, max: 2_000 }) }),
});
const tiers = fc.array(limit, { minLength: 2, maxLength: 4 });
const steps = fc.array(
  fc.record({
    ms: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 3, arbitrary: fc.nat(400) }, { weight: 1, arbitrary: fc.nat(20_000) }),
    tier: fc.nat(3),
    what: fc.oneof({ weight: 8, arbitrary: fc.constant("consume" as const) }, { weight: 1, arbitrary: fc.constantFrom("peek" as const, "refund" as const) }),
    cost: fc.nat(32),
  }),
  { minLength: 1, maxLength: 60, size: "max" },
);

interface Move {
  readonly at: number;
  readonly tokens: number;
}

/** Plays a history over tiers and tells which tokens were granted, and which given back, when. */
function play(policies: readonly Policy[], history: typeof steps extends fc.Arbitrary<infer T> ? T : never): Move[] {
  const clock = new ManualClock();
  const limiter = createLimiter({ policy: policies[0] as Policy, store: new MemoryStore({ clock: clock.now }) });
  const moves: Move[] = [];
  const taken: { decision: Decision; policy: Policy }[] = [];
  for (const { ms, tier, what, cost } of history) {
    clock.advance(ms);
    const policy = policies[tier % policies.length] as Policy;
    if (what === "peek") {
      limiter.peek("alice", { policy, cost });
    } else if (what === "consume") {
      const decision = limiter.consume("alice", { policy, cost });
      if (!decision.allowed) continue;
      taken.push({ decision, policy });
      moves.push({ at: clock.now(), tokens: cost });
    } else {
      const last = taken.pop();
      if (last === undefined) continue;
      const before = limiter.peek("alice", { policy: last.policy, cost: 0 }).remaining;
      limiter.refund("alice", last.decision, { policy: last.policy });
      // What it brought, parts of a token included; what came back by itself is not counted twice.
      const brought = limiter.peek("alice", { policy: last.policy, cost: 0 }).remaining - before;
      if (brought > 0) moves.push({ at: clock.now(), tokens: -Math.min(last.decision.cost, brought + 1) });
    }
  }
  return moves;
}

describe("L14 · tiers under one name", () => {
  test("L14 · over every stretch of time, no sequence of changes gets more than the largest capacity and the fastest rate", () => {
    fc.assert(
      fc.property(tiers, steps, (options, history) => {
        const moves = play(options.map((one) => definePolicy({ name: "tier", limits: [{ name: "only", ...one }] })), history);
        const capacity = Math.max(...options.map((one) => one.capacity));
        const rate = Math.max(...options.map(({ refill }) => refill.tokens / refill.everyMs));
        for (let from = 0; from < moves.length; from++) {
          let granted = 0;
          for (let to = from; to < moves.length; to++) {
            granted += (moves[to] as Move).tokens;
            const ms = (moves[to] as Move).at - (moves[from] as Move).at;
            expect(granted).toBeLessThanOrEqual(capacity + rate * ms + 1e-6);
          }
        }
      }),
      { numRuns: 400 },
    );
  });

  test("L14 · at one instant, going up and down again and again leaves what is left where it was", () => {
    const [free, pro] = [definePolicy({ name: "tier", capacity: 10, refill: { tokens: 3, everyMs: 7_000 } }), definePolicy({ name: "tier", capacity: 50, refill: { tokens: 11, everyMs: 1_300 } })];
    const limiter = createLimiter({ policy: free, store: new MemoryStore({ clock: () => 0 }) });
    limiter.consume("alice", 4);
    for (let turn = 0; turn < 1_000; turn++) {
      expect(limiter.consume("alice", { policy: pro, cost: 51 }).remaining).toBe(46);
      expect(limiter.consume("alice", { policy: free, cost: 11 }).remaining).toBe(6);
    }
  });

  test("L14 · going up is worth the larger capacity at once, and nothing more; going down keeps what was spent", () => {
    const clock = new ManualClock();
    const [free, pro] = [definePolicy({ name: "tier", capacity: 10, refill: perSecond(1) }), definePolicy({ name: "tier", capacity: 100, refill: perSecond(20) })];
    const limiter = createLimiter({ policy: free, store: new MemoryStore({ clock: clock.now }) });
    expect(limiter.consume("alice", 10).remaining).toBe(0);
    expect(limiter.consume("alice", { policy: pro, cost: 60 }).remaining).toBe(30);
    // 70 are spent. At one a second, 61 have to come back before one of ten is there.
    expect(limiter.consume("alice")).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 61_000 });
    clock.advance(61_000);
    expect(limiter.consume("alice")).toMatchObject({ allowed: true, remaining: 0 });
  });

  test("L14 · a tier of one limiter changes nothing for the others that are charged with it", () => {
    const store = new MemoryStore({ clock: () => 0 });
    const pro = definePolicy({ name: "user", capacity: 40, refill: perSecond(1) });
    const both = combine({
      user: createLimiter({ policy: { name: "user", capacity: 4, refill: perSecond(1) }, store }),
      tenant: createLimiter({ policy: { name: "tenant", capacity: 30, refill: perSecond(1) }, store }),
    });
    const left: number[] = [];
    for (const policy of [undefined, pro, undefined, pro]) {
      const asked = policy === undefined ? { cost: 4 } : { policy: { user: policy }, cost: { user: 10, tenant: 4 } };
      const decision = both.consume({ user: "alice", tenant: "acme" }, asked);
      left.push(decision.decisions.tenant?.remaining as number);
    }
    expect(left).toEqual([26, 22, 22, 18]);
  });
});

describe("`peek` after a call that named its policy", () => {
  const free = definePolicy({ name: "api", capacity: 5, refill: perSecond(1) });
  const paid = definePolicy({ name: "api", capacity: 50, refill: perSecond(10) });
  const error = new TypeError(
    "Expected `policy` in `peek`, because calls of this limiter name theirs, got none. Write peek(key, { policy })",
  );
  const frozen = () => new MemoryStore({ clock: () => 0 });

  test("throws without a policy, where it would show other numbers than the caller's", () => {
    const limiter = createLimiter({ policy: free, store: frozen() });
    for (let i = 0; i < 6; i++) limiter.consume("ann", { policy: paid });
    for (const asked of [undefined, 1, {}, { cost: 1 }, { policy: undefined }]) expect(() => limiter.peek("ann", asked)).toThrow(error);
    expect(limiter.peek("ann", { policy: paid }).remaining).toBe(44);
    expect(limiter.peek("bob", { policy: free }).remaining).toBe(5);
  });

  test("throws where a gate or a waiter named it, and rejects over an asynchronous limiter", async () => {
    const limiter = createLimiter({ policy: free, store: frozen() });
    const gate = createGate<string>({ limiter, key: (user) => user, policy: () => paid }, { method: () => "GET", header: () => null });
    void gate("ann");
    expect(() => limiter.peek("ann")).toThrow(error);
    const other = createLimiter({ policy: free, store: frozen() });
    const waiter = createWaiter(other);
    await waiter.consume("ann", { policy: paid });
    await expect(waiter.peek("ann")).rejects.toThrow(error);
    expect(() => other.peek("ann")).toThrow(error);
  });

  test("throws over a combination, one of whose members is charged by another policy", () => {
    const user = createLimiter({ policy: free, store: frozen() });
    const both = combine({ user, tenant: createLimiter({ policy: { ...paid, name: "tenant" }, store: frozen() }) });
    const keys = { user: "ann", tenant: "acme" };
    expect(both.peek(keys).allowed).toBe(true);
    both.consume(keys, { policy: { user: paid } });
    expect(() => both.peek(keys)).toThrow(error);
    expect(both.peek(keys, { policy: { user: paid } }).decisions.user?.remaining).toBe(49);
  });

  test("answers without a policy while all calls charge the limiter's own, or none", () => {
    const limiter = createLimiter({ policy: free, store: frozen() });
    limiter.consume("ann");
    limiter.consume("ann", { policy: free });
    limiter.consume("ann", { policy: unlimited });
    limiter.peek("ann", { policy: paid });
    expect(limiter.peek("ann").remaining).toBe(3);
  });
});
