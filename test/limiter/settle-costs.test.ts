// Settlements whose estimate and actual cost differ from limit to limit.
import fc from "fast-check";
import { createLimiter, definePolicy, MemoryStore, perMinute, type Cost, type Decision, type Rate } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test, vi } from "vitest";
import { readings } from "../../src/core/decision.js";
import { LaterStore } from "../helpers/stores.js";
import { spyOnVerb } from "../helpers/spy-on-verb.js";

const chat = definePolicy({
  name: "chat",
  limits: [
    { name: "requests", capacity: 60, refill: perMinute(60) },
    { name: "tokens", capacity: 30_000, refill: perMinute(30_000) },
  ],
});

function world() {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock: clock.now });
  const limiter = createLimiter({ policy: chat, store });
  const left = () => readings(limiter.peek("ann", 0)).map(({ remaining }) => remaining);
  const take = (cost: Cost) => limiter.consume("ann", { cost });
  const settle = (decision: Decision, actual: Cost) => limiter.settle("ann", decision, { cost: actual });
  const refund = (decision: Decision) => limiter.refund("ann", decision);
  return { clock, store, limiter, left, take, settle, refund };
}

describe("L19 · a settlement over several limits", () => {
  test("L19 · settles each limit by its own cost", () => {
    const { take, settle, refund, left } = world();
    const decision = take({ tokens: 2_000 });
    expect([decision.allowed, left()]).toEqual([true, [59, 28_000]]);
    expect(settle(decision, { tokens: 1_417 })).toBe(true);
    expect(left()).toEqual([59, 28_583]);
    expect(refund(take({ tokens: 500, requests: 2 }))).toBe(true);
    expect(left()).toEqual([59, 28_583]);
  });

  test("L19 · gives back one limit and takes from another in one atomic step", async () => {
    const store = new LaterStore(() => 0);
    const limiter = createLimiter({ policy: chat, store });
    const decision = await limiter.consume("ann", { cost: { requests: 10, tokens: 2_000 } });
    const calls = (["consume", "peek", "adjust", "block", "reset"] as const).map((method) => vi.spyOn(store, method));
    expect(await limiter.settle("ann", decision, { cost: { requests: 3, tokens: 2_500 } })).toBe(true);
    expect(calls.map(({ mock }) => mock.calls.length)).toEqual([0, 0, 1, 0, 0]);
    // With the instant of the decision: a store of quotas gives back to the period that was charged. After 4 seconds 6
    // of the 10 requests are still spent, and so all 7 cannot be given back.
    const from = { at: decision.at, heldAt: decision.at, since: [3_999, expect.any(Number) as number] };
    expect(calls[2]?.mock.calls[0]).toEqual([chat, "ann", [-7, 500], from]);
    expect(readings(await limiter.peek("ann", 0)).map(({ remaining }) => remaining)).toEqual([57, 27_500]);
  });

  test("L19 · leaves a limit that the actual cost does not name as it was estimated, and asks nothing for an exact one", () => {
    const { take, settle, left, store } = world();
    const adjust = spyOnVerb(store, "adjust");
    expect(settle(take({ tokens: 2_000, requests: 3 }), { tokens: 2_000 })).toBe(true);
    expect(settle(take({ tokens: 100 }), {})).toBe(true);
    expect([adjust.mock.calls.length, left()]).toEqual([0, [56, 27_900]]);
  });

  test("L19 · a bare number above 0 is a TypeError with the names, and settles nothing; 0 is for every limit", () => {
    const { take, settle, left } = world();
    const decision = take({ tokens: 100 });
    expect(() => settle(decision, 5)).toThrow(new TypeError('Expected `cost` to be an object with the names of limits, got 5. Policy "chat" has 2 limits: write cost: { requests: 5, tokens: 5 }'));
    expect(() => settle(decision, { token: 5 })).toThrow("Unknown limit `token` in `cost`");
    expect(left()).toEqual([59, 29_900]);
    expect([settle(decision, 0), left()]).toEqual([true, [60, 30_000]]);
  });

  test("L19 · an estimate above one limit's capacity can never succeed and takes nothing", () => {
    const { take, left } = world();
    expect(take({ tokens: 30_001 })).toMatchObject({ allowed: false, reason: "cost_above_capacity", limit: "tokens" });
    expect(left()).toEqual([60, 30_000]);
  });

  test("L19 · takes at most one capacity of each limit beyond its estimate", () => {
    const { clock, limiter, take, settle } = world();
    settle(take({ tokens: 1_000 }), { tokens: 1_000_000, requests: 1_000 });
    expect(limiter.peek("ann")).toMatchObject({ limits: [{ resetMs: 61_000 }, { resetMs: 62_000 }] });
    clock.advance(61_999);
    expect(limiter.peek("ann", { cost: { tokens: 30_000 } }).allowed).toBe(false);
    clock.advance(1);
    expect(limiter.peek("ann", { cost: { tokens: 30_000 } }).allowed).toBe(true);
  });

  test("L1, L19 · a bucket of 30,000 tokens cannot be used for 59,000: what came back by itself is not given back", () => {
    const { clock, take, settle, left } = world();
    const first = take({ tokens: 30_000 });
    clock.advance(60_000);
    const second = take({ tokens: 30_000 });
    expect([first.allowed, second.allowed]).toEqual([true, true]);
    // The first used 1,000 of its 30,000 tokens; the other 29,000 came back in this minute and are taken again.
    expect(settle(first, { tokens: 1_000 })).toBe(true);
    expect([left(), take({ tokens: 1 }).allowed]).toEqual([[59, 0], false]);
    settle(second, { tokens: 20_000 });
    expect(left()).toEqual([59, 10_000]);
  });

  test("L1, L19 · half a minute later only the tokens that are still out come back", () => {
    const { clock, take, refund, left } = world();
    const first = take({ requests: 60, tokens: 30_000 });
    clock.advance(30_000);
    take({ requests: 30, tokens: 15_000 });
    refund(first);
    expect(left()).toEqual([30, 15_000]);
  });

  test("a decision that is never settled keeps its estimate of each limit until that has refilled", () => {
    const { clock, take, left } = world();
    take({ tokens: 9_000, requests: 5 });
    clock.advance(1_000);
    expect(left()).toEqual([56, 21_500]);
  });

  test("L1, L19 · work within its estimates uses of each limit at most its capacity and what was refilled, and a token for each settlement", () => {
    const steps = fc.array(fc.record({ pauseMs: fc.oneof(fc.constant(0), fc.nat(90_000)), requests: fc.nat(60), tokens: fc.nat(30_000), share: fc.double({ min: 0, max: 1, noNaN: true }) }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(steps, (list) => {
        const { clock, take, settle } = world();
        const used: { readonly at: number; costs: readonly [number, number] }[] = [];
        const settled: number[] = [];
        let open: { decision: Decision; place: number; share: number } | null = null;
        for (const { pauseMs, requests, tokens, share } of list) {
          clock.advance(pauseMs);
          // One at a time: settlements that overlap may give back more (law L1).
          if (open !== null) {
            const [most, mostTokens] = (used[open.place] as (typeof used)[number]).costs;
            const actual = { requests: Math.floor(most * open.share), tokens: Math.floor(mostTokens * (1 - open.share)) };
            expect(settle(open.decision, actual)).toBe(true);
            settled.push(clock.now());
            used[open.place] = { ...(used[open.place] as (typeof used)[number]), costs: [actual.requests, actual.tokens] };
            open = null;
          }
          if (requests + tokens === 0) continue;
          const decision = take({ requests, tokens });
          if (decision.allowed) open = { decision, place: used.push({ at: clock.now(), costs: [requests, tokens] }) - 1, share };
        }
        (chat.limits as readonly Rate[]).forEach(({ capacity, refill }, limit) => {
          used.forEach(({ at: from }, first) => {
            let sum = 0;
            for (const { at, costs } of used.slice(first)) {
              sum += costs[limit] as number;
              const twice = settled.filter((instant) => from <= instant && instant <= at).length;
              expect((sum - twice) * refill.everyMs).toBeLessThanOrEqual(capacity * refill.everyMs + refill.tokens * (at - from));
            }
          });
        });
      }),
      { numRuns: 300 },
    );
  });
});
