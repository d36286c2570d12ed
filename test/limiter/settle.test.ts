// `settle`: what a decision's work really cost, once for each decision.
import fc from "fast-check";
import { createLimiter, definePolicy, MemoryStore, perSecond, unlimited, type BreakerOptions, type Decision, type LimiterOptions } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test, vi } from "vitest";
import { limits, onwardSteps, refillMs, resolve, starts } from "../helpers/arbitraries.js";
import { Charges, type Charge } from "../helpers/charges.js";
import { LaterStore } from "../helpers/stores.js";
import { UnsteadyStore } from "../helpers/unsteady-store.js";
import { expectWarnings } from "../setup/warnings.js";
import { spyOnVerb } from "../helpers/spy-on-verb.js";

const policy = { name: "llm", capacity: 10, refill: perSecond(2) };

function world() {
  const clock = new ManualClock();
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
  const take = (cost: number) => limiter.consume("alice", cost);
  const settle = (decision: Decision, actual: number) => limiter.settle("alice", decision, actual);
  const refund = (decision: Decision) => limiter.refund("alice", decision);
  return { clock, limiter, take, settle, refund, left: () => limiter.peek("alice").remaining, waitMs: () => limiter.peek("alice").retryAfterMs };
}

describe("settle", () => {
  test("gives back what was not used of the estimate", () => {
    const { take, settle, left } = world();
    const decision = take(7);
    expect([decision.allowed, decision.remaining, left()]).toEqual([true, 3, 3]);
    expect(settle(decision, 5)).toBe(true);
    expect(left()).toBe(5);
  });

  test("of an exact estimate is done without a move", () => {
    const { take, settle, left } = world();
    expect(settle(take(7), 7)).toBe(true);
    expect(left()).toBe(3);
  });

  test("of an estimate that was too small leaves a debt, which later calls wait for", () => {
    const { clock, limiter, take, settle, left, waitMs } = world();
    expect(settle(take(8), 14)).toBe(true);
    expect([left(), waitMs()]).toEqual([0, 2_500]);
    expect(limiter.consume("alice")).toMatchObject({ allowed: false, reason: "limited", retryAfterMs: 2_500, resetMs: 7_000 });
    clock.advance(2_499);
    expect(limiter.consume("alice").allowed).toBe(false);
    clock.advance(1);
    expect(limiter.consume("alice").allowed).toBe(true);
  });

  test("takes at most one capacity beyond the estimate; what passes that is charged to nobody", () => {
    const { take, settle, waitMs } = world();
    for (const decision of [take(4), take(4)]) settle(decision, 1_000);
    expect(waitMs()).toBe(9_500); // 28 of 10 are spent
    const other = world();
    other.settle(other.take(4), 14);
    expect(other.limiter.peek("alice").resetMs).toBe(7_000);
  });

  test("takes without asking, at most one capacity each: ten reservations of 100 that cost 1,100 charge 11,000 at once", () => {
    const limiter = createLimiter({ policy: { name: "llm", capacity: 1_000, refill: perSecond(1) }, store: new MemoryStore({ clock: () => 0 }) });
    const works = Array.from({ length: 10 }, () => limiter.consume("alice", 100));
    for (const work of works) limiter.settle("alice", work, 1_100);
    expect(limiter.peek("alice")).toMatchObject({ remaining: 0, resetMs: 11_000_000, retryAfterMs: 10_001_000 });
  });

  test("to nothing is a refund, and so is a refund", () => {
    const { take, settle, refund, left } = world();
    expect([settle(take(7), 0), left(), refund(take(7)), left()]).toEqual([true, 10, true, 10]);
  });

  test("L1 · acts once for each decision: what comes later moves nothing, and says so", () => {
    const { take, settle, refund, left } = world();
    const decision = take(7);
    expect([settle(decision, 5), settle(decision, 5), settle(decision, 9), refund(decision)]).toEqual([true, false, false, false]);
    expect(left()).toBe(5);
  });

  test("has nothing to do for a refusal, which took nothing", () => {
    const { limiter, take, settle, refund, left } = world();
    limiter.consume("alice", 5);
    const refused = take(6);
    expect([refused.allowed, refused.reason, refused.retryAfterMs]).toEqual([false, "limited", 500]);
    expect([settle(refused, 20), refund(refused), settle(take(11), 1), left()]).toEqual([false, false, false, 5]);
  });

  test("has nothing to do for a peek, a copy, another limiter's decision and one without a limit", () => {
    const { limiter, take, settle, left } = world();
    const decision = take(4);
    const elsewhere = world();
    const bulk = createLimiter({ policy: { ...policy, name: "bulk" }, store: limiter.store });
    const others = [limiter.peek("alice"), { ...decision }, structuredClone(decision), JSON.parse(JSON.stringify(decision)) as Decision, elsewhere.take(1), bulk.consume("alice"), limiter.consume("alice", { policy: unlimited })];
    expect(others.map((other) => settle(other, 0))).toEqual(others.map(() => false));
    expect([limiter.settle("alice", decision, { cost: 0, policy: unlimited }), left(), settle(decision, 0), left()]).toEqual([true, 10, false, 10]);
  });

  test("acts for the limiters of one store and policy alike, whichever is asked", () => {
    const { limiter, take, left } = world();
    const other = createLimiter({ policy, store: limiter.store });
    expect([other.settle("alice", take(4), 1), left()]).toEqual([true, 9]);
  });

  test("gives back only what has not come back by itself", () => {
    const { clock, limiter, take, refund, left } = world();
    const [first, second] = [take(10), limiter.consume("bob", 10)];
    clock.advance(3_000);
    limiter.consume("alice", 6);
    expect(left()).toBe(0);
    refund(first);
    expect(left()).toBe(4); // of ten tokens six came back in 3 s, and were spent again
    clock.advance(2_000);
    limiter.consume("bob", 10);
    limiter.refund("bob", second);
    expect(limiter.peek("bob").remaining).toBe(0);
  });

  test("gives back the last token too, while a part of it is out", () => {
    for (const ageMs of [0, 1, 499, 500]) {
      const { clock, limiter, take, refund, left } = world();
      const decision = take(1);
      clock.advance(ageMs);
      limiter.consume("alice", ageMs < 500 ? 9 : 10);
      expect(left()).toBe(0);
      refund(decision);
      expect(left()).toBe(ageMs < 500 ? 1 : 0);
    }
  });

  test("gives back to each limit what is still out of it", () => {
    const clock = new ManualClock();
    const both = [{ name: "second", capacity: 100, refill: perSecond(50) }, { name: "day", capacity: 500, refill: { tokens: 500, everyMs: 86_400_000 } }] as const;
    const limiter = createLimiter({ policy: { name: "llm", limits: both }, store: new MemoryStore({ clock: clock.now }) });
    const left = () => limiter.peek("alice").limits?.map(({ remaining }) => remaining);
    const decision = limiter.consume("alice", 100);
    clock.advance(1_500);
    limiter.consume("alice", 75);
    expect(left()).toEqual([0, 325]);
    expect(() => limiter.settle("alice", decision, 40)).toThrow(new TypeError('Expected `cost` to be an object with the names of limits, got 40. Policy "llm" has 2 limits: write cost: { second: 40, day: 40 }'));
    expect(left()).toEqual([0, 325]);
    expect(limiter.settle("alice", decision, { cost: { second: 40, day: 40 } })).toBe(true);
    expect(left()).toEqual([25, 385]);
  });

  test("acts under the decision's tier, which it is told", () => {
    const { limiter } = world();
    const pro = definePolicy({ ...policy, capacity: 100 });
    const decision = limiter.consume("alice", { policy: pro, cost: 60 });
    expect(limiter.settle("alice", decision, { cost: 250, policy: pro })).toBe(true);
    expect(limiter.peek("alice", { policy: pro }).resetMs).toBe(80_000);
  });

  test("is over for good when the store fails, because it may have made the change", () => {
    expectWarnings("SLUICE_SETTLEMENT_FAILED");
    const { limiter, take, settle } = world();
    const decision = take(8);
    const spy = spyOnVerb(limiter.store, "adjust").mockImplementation(() => {
      throw new Error("disk full");
    });
    expect(() => settle(decision, 2)).toThrow(new Error("disk full"));
    spy.mockRestore();
    expect([settle(decision, 2), limiter.peek("alice").remaining]).toEqual([false, 2]);
  });
});

describe("over a store that answers later", () => {
  const clock = new ManualClock();

  test("answers with promises, and settles once however often at one instant", async () => {
    const limiter = createLimiter({ policy, store: new LaterStore(clock.now) });
    const decision = await limiter.consume("alice", 8);
    const answers = [limiter.settle("alice", decision, 3), limiter.settle("alice", decision, 3), limiter.refund("alice", decision)];
    expect(await Promise.all(answers)).toEqual([true, false, false]);
    expect((await limiter.peek("alice")).remaining).toBe(7);
    await limiter.settle("alice", await limiter.consume("alice", 7), 13);
    expect((await limiter.peek("alice")).retryAfterMs).toBe(3_500);
  });

  test("rejects on misuse, and once when the store fails", async () => {
    expectWarnings("SLUICE_SETTLEMENT_FAILED");
    const store = new LaterStore(clock.now);
    const limiter = createLimiter({ policy, store });
    const decision = await limiter.consume("alice", 8);
    await expect(limiter.settle("", decision, 1)).rejects.toThrow(TypeError);
    await expect(limiter.settle("alice", decision, -1)).rejects.toThrow(RangeError);
    store.adjust = () => Promise.reject(new Error("gone"));
    const answers = [limiter.settle("alice", decision, 9), limiter.settle("alice", decision, 9)] as const;
    await expect(answers[0]).rejects.toThrow("gone");
    expect(await answers[1]).toBe(false);
  });
});

describe("while the store is unavailable", () => {
  function away({ probeEveryMs, ...options }: Partial<LimiterOptions<LaterStore>> & BreakerOptions = {}) {
    const store = new LaterStore(() => 0, { breaker: { failures: 1, probeEveryMs } });
    const consume = store.consume.bind(store);
    store.consume = () => Promise.reject(new Error("gone"));
    const limiter = createLimiter({ policy, store, ...options });
    return { store, consume, limiter };
  }

  test("a decision is settled in this process, where it was taken", async () => {
    const clock = new ManualClock();
    const store = new UnsteadyStore(clock.now, { breaker: { failures: 1 } });
    store.health = "down";
    const limiter = createLimiter({ policy, store });
    const ask = async (cost: number) => (await limiter.consume("alice", cost)).allowed;
    const [first, second] = [await limiter.consume("alice", 4), await limiter.consume("alice", 1)];
    expect([first.degraded, first.allowed, second.allowed, await ask(1)]).toEqual([true, true, true, false]);
    expect([await limiter.settle("alice", first, 2), await limiter.settle("alice", first, 2)]).toEqual([true, false]);
    expect([await ask(2), await ask(1)]).toEqual([true, false]);
    expect(await limiter.settle("alice", second, 3)).toBe(true);
    clock.advance(2_999); // two tokens are owed, at one a second
    expect(await ask(1)).toBe(false);
    clock.advance(1);
    expect(await ask(1)).toBe(true);
    expect(store.inner.stats().buckets).toBe(0);
  });

  test.each(["allow", "unavailable"] as const)("%s takes nothing, and so there is nothing to settle", async (onStoreError) => {
    const { limiter, store } = away({ onStoreError });
    const decision = await limiter.consume("alice", 4);
    expect([decision.allowed, decision.degraded]).toEqual([onStoreError === "allow", true]);
    expect([await limiter.settle("alice", decision, 9), await limiter.refund("alice", decision)]).toEqual([false, false]);
    expect(store.inner.stats().buckets).toBe(0);
  });

  test("a store that is not asked any more can be asked to settle later, and only then", async () => {
    expectWarnings("SLUICE_STORE_UNAVAILABLE", "SLUICE_SETTLEMENT_FAILED");
    vi.useFakeTimers({ toFake: ["performance", "Date", "setTimeout", "setImmediate"] });
    try {
      const { limiter, store, consume } = away();
      const fails = store.consume;
      store.consume = consume;
      const decision = await limiter.consume("alice", 8);
      store.consume = fails;
      for (const key of ["bob", "carl"]) await limiter.consume(key);
      for (let again = 0; again < 2; again++) await expect(limiter.settle("alice", decision, 2)).rejects.toMatchObject({ code: "ERR_STORE_OPEN" });
      vi.advanceTimersByTime(1_000); // the breaker lets one call ask
      expect([await limiter.settle("alice", decision, 2), await limiter.settle("alice", decision, 2)]).toEqual([true, false]);
      expect((await limiter.peek("alice")).remaining).toBe(8);
    } finally {
      vi.useRealTimers();
    }
  });

  test("an exact estimate asks nothing of the store, and so finds out nothing about it", async () => {
    expectWarnings("SLUICE_STORE_UNAVAILABLE");
    const { limiter, store, consume } = away({ probeEveryMs: 3_600_000 });
    const fails = store.consume;
    store.consume = consume;
    const decision = await limiter.consume("alice", 8);
    store.consume = fails;
    for (const key of ["bob", "carl"]) await limiter.consume(key);
    expect(await limiter.settle("alice", decision, 8)).toBe(true);
    await expect(limiter.peek("alice")).rejects.toMatchObject({ code: "ERR_STORE_OPEN" });
  });

  test("what shadow mode allowed although it was refused took nothing; what it allowed by itself is settled", () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: new ManualClock().now }), shadow: true });
    const taken = limiter.consume("alice", 8);
    const shadowed = limiter.consume("alice", 8);
    expect([shadowed.allowed, limiter.settle("alice", shadowed, 1), limiter.refund("alice", shadowed)]).toEqual([true, false, false]);
    expect([limiter.peek("alice", 0).remaining, limiter.settle("alice", taken, 3), limiter.peek("alice", 0).remaining]).toEqual([2, true, 7]);
  });
});

describe("misuse", () => {
  test.each([-1, 1.5, NaN, Infinity, "7", undefined, null])("an actual cost of %s settles nothing, so it can be said again", (actual) => {
    const { take, settle, left } = world();
    const decision = take(7);
    expect(() => settle(decision, actual as number)).toThrow(/^Expected `cost` to be a whole number of at least 0, got /);
    expect(() => settle({ ...decision }, actual as number)).toThrow(/^Expected `cost` to be a whole number of at least 0, got /);
    expect(settle(decision, 2)).toBe(true);
    expect(left()).toBe(8);
  });

  test("an unknown option or limit, and a policy that is none, settle nothing", () => {
    const { limiter, take, settle, left } = world();
    const decision = take(7);
    expect(() => limiter.settle("alice", decision, { cost: 1, costs: 2 } as never)).toThrow(new TypeError("Unknown option `costs`. Did you mean `cost`?"));
    for (const options of [{}, { policy: undefined }, new Map([["cost", 5]])]) expect(() => limiter.settle("alice", decision, options as never)).toThrow("Expected `cost` to be a whole number of at least 0, got undefined");
    expect(() => limiter.settle("alice", decision, { cost: { token: 1 } })).toThrow('Unknown limit `token` in `cost`. The limits of policy "llm": llm');
    expect(() => limiter.settle("alice", decision, { cost: 1, policy: policy as never })).toThrow(/^Expected `policy` to be made by definePolicy/);
    expect([left(), settle(decision, 1)]).toEqual([3, true]);
  });
});

describe("the laws", () => {
  const shares = fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true }));
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  const works = fc.array(fc.record({ what: fc.constantFrom("use", "drain", "reserve", "settle"), pause: fc.oneof(fc.constant(0), share), share }), { maxLength: 30, size: "max" });

  test("L1 · bound: no window holds more than the capacity, what was refilled in it and what older works gave back in it, when work stays within its estimate", () => {
    fc.assert(
      fc.property(limits, works, (limit, list) => {
        const clock = new ManualClock();
        const store = new MemoryStore({ clock: clock.now });
        const adjusted = spyOnVerb(store, "adjust");
        const limiter = createLimiter({ policy: limit, store });
        const charges = new Charges();
        const open: { decision: Decision; charge: Charge }[] = [];
        for (const { what, pause, share: part } of list) {
          clock.advance(Math.min(Math.round(pause * refillMs(limit)), 2 ** 47));
          const left = limiter.peek("alice").remaining;
          const tokens = what === "drain" ? left : Math.ceil(part * limit.capacity);
          if (what === "settle" && open.length > 0) {
            const [{ decision, charge }] = open.splice(Math.floor(part * open.length * 0.999), 1) as [(typeof open)[number]];
            adjusted.mockClear();
            expect(limiter.settle("alice", decision, Math.floor(part * charge.tokens))).toBe(true);
            charges.giveBack(charge, -(adjusted.mock.lastCall?.[2] as number | undefined ?? 0));
            continue;
          }
          const decision = limiter.consume("alice", tokens);
          if (!decision.allowed || tokens === 0) continue;
          const charge = charges.add(clock.now(), tokens);
          if (what === "reserve") open.push({ decision, charge });
        }
        charges.check(limit);
      }),
      { numRuns: 600 },
    );
  });

  test("L2 · the promise: nobody waits longer than a refill and one more for each settlement, and each wait is exact", () => {
    fc.assert(
      fc.property(limits, starts, onwardSteps, shares, (limit, start, steps, share) => {
        const clock = new ManualClock();
        const limiter = createLimiter({ policy: limit, store: new MemoryStore({ clock: clock.now }) });
        const open: Decision[] = [];
        let settled = 0;
        for (const { call, now, cost, choice } of resolve(start, steps, limit)) {
          clock.set(now);
          if (call === "consume" && cost > 0) {
            open.unshift(limiter.consume("alice", cost));
            continue;
          }
          const actual = Math.min(Number.MAX_SAFE_INTEGER, Math.round((share.next().value as number) * 3 * limit.capacity));
          if (open[choice] !== undefined && limiter.settle("alice", open[choice], actual)) settled += 1;
        }
        const { retryAfterMs } = limiter.peek("alice", limit.capacity);
        expect(retryAfterMs).toBeLessThanOrEqual((1 + settled) * refillMs(limit));
        const now = Math.floor(clock.now());
        if (retryAfterMs === 0 || now + retryAfterMs > Number.MAX_SAFE_INTEGER) return;
        clock.set(now + retryAfterMs - 1);
        expect(limiter.peek("alice", limit.capacity).allowed).toBe(false);
        clock.set(now + retryAfterMs);
        expect(limiter.consume("alice", limit.capacity).allowed).toBe(true);
      }),
      { numRuns: 400 },
    );
  });
});
