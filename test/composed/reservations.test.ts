import fc from "fast-check";
import { createLimiter, definePolicy, MemoryStore, perSecond, createReservations, type Limiter, type LimiterOptions, type LimitOptions, type Reservation } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test, vi } from "vitest";
import { limits, onwardSteps, refillMs, resolve, starts } from "../helpers/arbitraries.js";
import { bareStore, LaterStore } from "../helpers/stores.js";

const policy = { name: "llm", capacity: 10, refill: perSecond(2) };

function budgetOf(expiresMs?: number) {
  const clock = new ManualClock();
  const limiter = createLimiter({ policy, clock: clock.now });
  const budget = createReservations(limiter, expiresMs === undefined ? {} : { expiresMs });
  return { clock, limiter, ...budget, left: () => limiter.peek("alice").remaining, waitMs: () => limiter.peek("alice").retryAfterMs };
}

describe("a reservation", () => {
  test("takes the estimate, and gives back what was not used", () => {
    const { reserve, left } = budgetOf();
    const reservation = reserve("alice", 7);
    expect([reservation.allowed, reservation.decision.remaining, left()]).toEqual([true, 3, 3]);
    expect(reservation.settle(5)).toBe(true);
    expect(left()).toBe(5);
  });

  test("that was exact is settled without a move", () => {
    const { reserve, left } = budgetOf();
    expect(reserve("alice", 7).settle(7)).toBe(true);
    expect(left()).toBe(3);
  });

  test("that was too small leaves a debt, which later calls wait for", () => {
    const { clock, limiter, reserve, left, waitMs } = budgetOf();
    expect(reserve("alice", 8).settle(14)).toBe(true);
    expect([left(), waitMs()]).toEqual([0, 2_500]);
    expect(limiter.consume("alice")).toMatchObject({ allowed: false, reason: "limited", retryAfterMs: 2_500, resetMs: 7_000 });
    clock.advance(2_499);
    expect(limiter.consume("alice").allowed).toBe(false);
    clock.advance(1);
    expect(limiter.consume("alice").allowed).toBe(true);
  });

  test("takes at most one capacity beyond its estimate; what passes that is charged to nobody", () => {
    const { reserve, waitMs } = budgetOf();
    for (const reservation of [reserve("alice", 4), reserve("alice", 4)]) reservation.settle(1_000);
    expect(waitMs()).toBe(9_500); // 28 of 10 are spent
    const { limiter, reserve: other } = budgetOf();
    other("alice", 4).settle(14);
    expect(limiter.peek("alice").resetMs).toBe(7_000);
  });

  test("that is cancelled gives all of it back", () => {
    const { reserve, left } = budgetOf();
    expect(reserve("alice", 7).cancel()).toBe(true);
    expect(left()).toBe(10);
  });

  test("is settled once: what comes later moves nothing, and is told what the first did", () => {
    const { reserve, left } = budgetOf();
    const reservation = reserve("alice", 7);
    expect([reservation.settle(5), reservation.settle(5), reservation.settle(9), reservation.cancel()]).toEqual([true, true, true, true]);
    expect(left()).toBe(5);
  });

  test("that is refused takes nothing, and has nothing to settle", () => {
    const { limiter, reserve, left } = budgetOf();
    limiter.consume("alice", 5);
    const reservation = reserve("alice", 6);
    expect([reservation.allowed, reservation.decision.reason, reservation.decision.retryAfterMs]).toEqual([false, "limited", 500]);
    expect([reservation.settle(20), reservation.cancel(), left()]).toEqual([false, false, 5]);
    expect(reserve("alice", 11).decision.reason).toBe("cost_above_capacity");
  });

  test("is not given back a second time by a refund of its decision", () => {
    const { limiter, reserve, left } = budgetOf();
    const reservation = reserve("alice", 7);
    limiter.refund("alice", reservation.decision);
    expect(left()).toBe(3);
    reservation.cancel();
    limiter.refund("alice", reservation.decision);
    limiter.consume("alice", 7);
    expect(left()).toBe(3);
  });

  test("that was abandoned keeps its estimate: after `expiresMs` it is over", () => {
    const { clock, reserve, left } = budgetOf(1_000);
    const [first, second, third] = [reserve("alice", 4), reserve("alice", 2), reserve("alice", 4)];
    clock.advance(999);
    expect([first.settle(2), left()]).toEqual([true, 3]);
    clock.advance(1);
    expect([second.cancel(), third.settle(9), left()]).toEqual([false, false, 4]);
    clock.advance(-500);
    expect([second.cancel(), third.settle(9)]).toEqual([false, false]);
  });

  test("gives back only what has not come back by itself", () => {
    const { clock, limiter, reserve, left } = budgetOf();
    const [first, second] = [reserve("alice", 10), reserve("bob", 10)];
    clock.advance(3_000);
    limiter.consume("alice", 6);
    expect(left()).toBe(0);
    first.cancel();
    expect(left()).toBe(4); // of ten tokens six came back in 3 s, and were spent again
    clock.advance(2_000);
    limiter.consume("bob", 10);
    second.cancel();
    expect(limiter.peek("bob").remaining).toBe(0);
  });

  test("gives back the last token too, while a part of it is out", () => {
    for (const ageMs of [0, 1, 499, 500]) {
      const { clock, limiter, reserve, left } = budgetOf();
      const reservation = reserve("alice", 1);
      clock.advance(ageMs);
      limiter.consume("alice", ageMs < 500 ? 9 : 10);
      expect(left()).toBe(0);
      reservation.cancel();
      expect(left()).toBe(ageMs < 500 ? 1 : 0);
    }
  });

  test("gives back to each limit what is still out of it", () => {
    const clock = new ManualClock();
    const limits = [{ name: "second", capacity: 100, refill: perSecond(50) }, { name: "day", capacity: 500, refill: { tokens: 500, everyMs: 86_400_000 } }] as const;
    const limiter = createLimiter({ policy: { name: "llm", limits }, clock: clock.now });
    const left = () => limiter.peek("alice").limits?.map(({ remaining }) => remaining);
    const reservation = createReservations(limiter).reserve("alice", 100);
    clock.advance(1_500);
    limiter.consume("alice", 75);
    expect(left()).toEqual([0, 325]);
    reservation.settle(40);
    expect(left()).toEqual([25, 385]);
  });

  test("takes other numbers than the limiter's, and settles by them", () => {
    const { limiter, reserve } = budgetOf();
    const pro = definePolicy({ ...policy, capacity: 100 });
    const reservation = reserve("alice", 60, { policy: pro });
    expect(reservation.allowed).toBe(true);
    reservation.settle(250);
    expect(limiter.peek("alice", { policy: pro }).resetMs).toBe(80_000);
  });

  test("is over for good when the store fails to settle it", () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock: clock.now });
    const limiter = createLimiter({ policy, store });
    const reservation = createReservations(limiter).reserve("alice", 8);
    const { adjust } = store;
    store.adjust = () => {
      throw new Error("disk full");
    };
    expect(() => reservation.settle(2)).toThrow(new Error("disk full"));
    store.adjust = adjust;
    expect([reservation.settle(2), limiter.peek("alice").remaining]).toEqual([false, 2]);
  });
});

describe("over a store that answers later", () => {
  const clock = new ManualClock();

  test("answers with promises, and settles once however often at one instant", async () => {
    const limiter = createLimiter({ policy, store: new LaterStore(clock.now) });
    const reservation = await createReservations(limiter).reserve("alice", 8);
    const answers = [reservation.settle(3), reservation.settle(3), reservation.cancel()];
    expect(await Promise.all(answers)).toEqual([true, true, true]);
    expect((await limiter.peek("alice")).remaining).toBe(7);
    const second = await createReservations(limiter).reserve("alice", 7);
    await second.settle(13);
    expect((await limiter.peek("alice")).retryAfterMs).toBe(3_500);
  });

  test("rejects on misuse and when the store fails, each time alike", async () => {
    const store = new LaterStore(clock.now);
    const budget = createReservations(createLimiter({ policy, store }));
    await expect(budget.reserve("", 1)).rejects.toThrow(TypeError);
    const reservation = await budget.reserve("alice", 8);
    await expect(reservation.settle(-1)).rejects.toThrow(RangeError);
    store.adjust = () => Promise.reject(new Error("gone"));
    const answers = [reservation.settle(9), reservation.settle(9)];
    for (const answer of answers) await expect(answer).rejects.toThrow("gone");
  });
});

describe("while the store is away", () => {
  function awayBudget(options: Partial<LimiterOptions<LaterStore>> = {}) {
    const clock = new ManualClock();
    const store = new LaterStore(clock.now);
    const consume = store.consume.bind(store);
    store.consume = () => Promise.reject(new Error("gone"));
    const limiter = createLimiter({ policy, store, clock: clock.now, breaker: { failures: 1 }, ...options });
    return { clock, store, consume, limiter, budget: createReservations(limiter) };
  }
  const ask = async ({ limiter }: { readonly limiter: Limiter<LaterStore> }, cost: number) => (await limiter.consume("alice", cost)).allowed;

  test("a reservation is settled in this process, where it was taken", async () => {
    const away = awayBudget();
    const [first, second] = [await away.budget.reserve("alice", 4), await away.budget.reserve("alice", 1)];
    expect([first.decision.degraded, first.allowed, second.allowed, await ask(away, 1)]).toEqual([true, true, true, false]);
    expect(await first.settle(2)).toBe(true);
    expect([await ask(away, 2), await ask(away, 1)]).toEqual([true, false]);
    expect(await second.settle(3)).toBe(true);
    away.clock.advance(2_999); // two tokens are owed, at one a second
    expect(await ask(away, 1)).toBe(false);
    away.clock.advance(1);
    expect(await ask(away, 1)).toBe(true);
    expect(away.store.inner.stats().buckets).toBe(0);
  });

  test.each(["allow", "unavailable"] as const)("%s takes nothing, and so there is nothing to settle", async (onStoreError) => {
    const { budget, store } = awayBudget({ onStoreError });
    const reservation = await budget.reserve("alice", 4);
    expect([reservation.allowed, reservation.decision.degraded]).toEqual([onStoreError === "allow", true]);
    expect([await reservation.settle(9), await reservation.cancel()]).toEqual([false, false]);
    expect(store.inner.stats().buckets).toBe(0);
  });

  test("a store that is not asked any more can be asked to settle later", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "setImmediate"] });
    try {
      const { budget, store, consume, limiter } = awayBudget();
      const fails = store.consume;
      store.consume = consume;
      const reservation = await budget.reserve("alice", 8);
      store.consume = fails;
      for (const key of ["bob", "carl"]) await limiter.consume(key);
      for (let again = 0; again < 2; again++) await expect(reservation.settle(2)).rejects.toMatchObject({ code: "ERR_STORE_OPEN" });
      vi.advanceTimersByTime(1_000); // the breaker lets one call ask
      expect([await reservation.settle(2), await reservation.settle(2)]).toEqual([true, true]);
      expect((await limiter.peek("alice")).remaining).toBe(8);
    } finally {
      vi.useRealTimers();
    }
  });

  test("an exact estimate asks nothing of the store, and so finds out nothing about it", async () => {
    const { budget, store, consume, limiter } = awayBudget({ breaker: { failures: 1, probeEveryMs: 3_600_000 } });
    const fails = store.consume;
    store.consume = consume;
    const reservation = await budget.reserve("alice", 8);
    store.consume = fails;
    for (const key of ["bob", "carl"]) await limiter.consume(key);
    expect(await reservation.settle(8)).toBe(true);
    await expect(limiter.peek("alice")).rejects.toMatchObject({ code: "ERR_STORE_OPEN" });
  });

  test("nothing was taken for a refusal that was kept in the shadow", () => {
    const limiter = createLimiter({ policy, clock: new ManualClock().now, shadow: true });
    const budget = createReservations(limiter);
    expect(budget.reserve("alice", 8).allowed).toBe(true);
    const shadowed = budget.reserve("alice", 8);
    expect([shadowed.allowed, shadowed.settle(1), shadowed.cancel()]).toEqual([true, false, false]);
    expect(limiter.peek("alice", 0).remaining).toBe(2);
  });
});

describe("misuse", () => {
  test.each<[estimate: unknown, wanted: string]>([
    [0, "at least 1 token, got 0"], [{ llm: 0 }, "at least 1 token, got an object"], [undefined, "tokens, got undefined"],
    ...[-1, 1.5, NaN, Infinity, "7", null, [7]].map((wrong) => [wrong, "a whole number of at least 0, got "] as [unknown, string]),
  ])("an estimate of %j is refused, and takes nothing", (estimate, wanted) => {
    const { reserve, left } = budgetOf();
    expect(() => reserve("alice", estimate as number)).toThrow(`Expected \`estimate\` to be ${wanted}`);
    expect(left()).toBe(10);
  });

  test.each([-1, 1.5, NaN, Infinity, "7", undefined])("an actual cost of %s settles nothing, so it can be said again", (actual) => {
    const { reserve, left } = budgetOf();
    const reservation = reserve("alice", 7);
    expect(() => reservation.settle(actual as number)).toThrow(/^Expected `actual` to be a whole number of at least 0, got /);
    expect(reservation.settle(2)).toBe(true);
    expect(left()).toBe(8);
  });

  test("a store without the powers is refused at once", () => {
    const clock = new ManualClock();
    const limiter = createLimiter({ policy, store: bareStore(clock.now) });
    expect(() => createReservations(limiter)).toThrow(new TypeError("Expected the store to have `adjust`, got one without it"));
  });

  test("options and limiters are checked", () => {
    const limiter = createLimiter({ policy });
    expect(() => createReservations(limiter, { expireMs: 1 } as object)).toThrow(new TypeError("Unknown option `expireMs`. Did you mean `expiresMs`?"));
    expect(() => createReservations(limiter, { expiresMs: 0 })).toThrow(new RangeError("Expected `expiresMs` to be a positive integer, got 0"));
    expect(() => createReservations({ ...limiter })).toThrow(TypeError);
    expect(() => createReservations(limiter).reserve("alice", 1, 5 as never)).toThrow(new TypeError("Expected `options` to be an object, got 5"));
    expect(() => createReservations(limiter).reserve("alice", 1, { cost: 2 } as object)).toThrow(new TypeError("Unknown option `cost`. Known options: `policy`"));
    expect(() => createReservations(limiter).reserve("alice", 1, { policy: policy as never })).toThrow(/^Expected `policy` to be made by definePolicy/);
  });
});

/** What was used of one key, from which instant on it counted. */
interface Used {
  readonly at: number;
  tokens: number;
}

describe("the laws", () => {
  const shares = fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true }));
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  const works = fc.array(fc.record({ what: fc.constantFrom("use", "drain", "reserve", "settle"), pause: fc.oneof(fc.constant(0), share), share }), { maxLength: 30, size: "max" });

  // Only whole tokens can be given back, so what came back of the last one is there twice: less than a token for each settlement.
  test("L1 · bound: no window uses more than the capacity, what was refilled in it and a token for each settlement, when work stays within its estimate", () => {
    fc.assert(
      fc.property(limits, works, (limit, list) => {
        const clock = new ManualClock();
        const limiter = createLimiter({ policy: limit, clock: clock.now });
        const budget = createReservations(limiter, { expiresMs: Number.MAX_SAFE_INTEGER });
        const used: Used[] = [];
        const settled: number[] = [];
        let open: { reservation: Reservation<MemoryStore>; use: Used } | null = null;
        for (const { what, pause, share: part } of list) {
          clock.advance(Math.min(Math.round(pause * refillMs(limit)), 2 ** 47));
          const left = limiter.peek("alice").remaining;
          const use = { at: clock.now(), tokens: what === "drain" ? left : Math.ceil(part * limit.capacity) };
          if (what === "settle" && open !== null) {
            open.use.tokens = Math.floor(part * open.use.tokens);
            open.reservation.settle(open.use.tokens);
            settled.push(clock.now());
            open = null;
          } else if (what === "reserve" && open === null && use.tokens > 0) {
            const reservation = budget.reserve("alice", use.tokens);
            if (reservation.allowed) open = { reservation, use };
            if (reservation.allowed) used.push(use);
          } else if (limiter.consume("alice", use.tokens).allowed) used.push(use);
        }
        for (let from = 0; from < used.length; from++) {
          let tokens = 0n;
          for (let to = from; to < used.length; to++) {
            tokens += BigInt((used[to] as Used).tokens);
            const [first, last] = [(used[from] as Used).at, (used[to] as Used).at];
            const twice = BigInt(settled.filter((at) => first <= at && at <= last).length);
            if (!isWithin(tokens - twice, BigInt(last - first), limit)) throw new Error(`uses ${from} to ${to} took ${tokens} tokens in ${last - first} ms`);
          }
        }
      }),
      { numRuns: 600 },
    );
  });

  test("L2 · the promise: nobody waits longer than a refill and one more for each settlement, and each wait is exact", () => {
    fc.assert(
      fc.property(limits, starts, onwardSteps, shares, (limit, start, steps, share) => {
        const clock = new ManualClock();
        const limiter = createLimiter({ policy: limit, clock: clock.now });
        const budget = createReservations(limiter, { expiresMs: Number.MAX_SAFE_INTEGER });
        const open: Reservation<MemoryStore>[] = [];
        let settled = 0;
        for (const { call, now, cost, choice } of resolve(start, steps, limit)) {
          clock.set(now);
          if (call === "consume" && cost > 0) open.unshift(budget.reserve("alice", cost));
          else if (open[choice]?.settle(Math.min(Number.MAX_SAFE_INTEGER, Math.round((share.next().value as number) * 3 * limit.capacity)))) settled += 1;
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

/** `tokens <= capacity + refill.tokens * ms / everyMs`, without a division. */
function isWithin(tokens: bigint, ms: bigint, { capacity, refill }: LimitOptions): boolean {
  return tokens * BigInt(refill.everyMs) <= BigInt(capacity) * BigInt(refill.everyMs) + BigInt(refill.tokens) * ms;
}
