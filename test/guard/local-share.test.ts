import fc from "fast-check";
import { createLimiter, definePolicy, perSecond, type Decision, type GuardOptions, type LimiterOptions, type Policy } from "sluice";
import { guard } from "sluice/store";
import { RedisStore, type RedisClient } from "sluice/redis";
import { ManualClock } from "sluice/testing";
import { describe, expect, test, vi } from "vitest";
import { shareOf } from "../../src/guard/fallback.js";
import { limits, type RateNumbers } from "../helpers/arbitraries.js";
import { outage, UnsteadyStore } from "../helpers/unsteady-store.js";
import { expectWarnings } from "../setup/warnings.js";

const policy = { name: "api", capacity: 10, refill: perSecond(2) };

function open(guarded: GuardOptions = {}, options: Partial<LimiterOptions<UnsteadyStore>> = {}) {
  const clock = new ManualClock(1_000);
  const store = new UnsteadyStore(clock.now, guarded);
  store.health = "down";
  return { clock, store, limiter: createLimiter({ policy, store, ...options }) };
}

/** A client whose server is gone, and that says so at once. */
function goneClient(): RedisClient {
  const fail = (): Promise<never> => Promise.reject(outage);
  return { evalsha: fail, eval: fail };
}

const told = ({ allowed, reason, retryAfterMs, degraded }: Decision): unknown[] => [allowed, reason, retryAfterMs, degraded];
const yes = [true, null, 0, true];
const no = (wait: number): unknown[] => [false, "store_unavailable", wait, true];

describe("L11 · a store that fails, decided locally", () => {
  test.each([[1, 10], [2, 5], [3, 3], [6, 1], [1_000_000, 1]])("`sharedBy: %i` grants each process its part of 10: %i", async (sharedBy, granted) => {
    const { limiter } = open({ sharedBy });
    const decisions = [];
    for (let i = 0; i < 12; i++) decisions.push(await limiter.consume("ann"));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(granted);
  });

  test("L11 · by default half of each limit, then the exact wait, and never a reason that would be a 429", async () => {
    const { clock, limiter } = open();
    expect(told(await limiter.consume("ann", 5))).toEqual(yes);
    // At one token a second.
    expect(told(await limiter.consume("ann", 2))).toEqual(no(2_000));
    clock.advance(1_999);
    expect(told(await limiter.consume("ann", 2))).toEqual(no(1));
    clock.advance(1);
    expect(told(await limiter.consume("ann", 2))).toEqual(yes);
    expect((await limiter.consume("ann")).error).toBe(outage);
  });

  test("each caller has a share of their own, and so has each policy of a request", async () => {
    const { limiter } = open();
    const pro = definePolicy({ name: "pro", capacity: 100, refill: perSecond(1) });
    expect(told(await limiter.consume("ann", 5))).toEqual(yes);
    expect(told(await limiter.consume("bob", 5))).toEqual(yes);
    expect(told(await limiter.consume("ann", { cost: 50, policy: pro }))).toEqual(yes);
    expect(told(await limiter.consume("ann", { cost: 1, policy: pro }))).toEqual(no(2_000));
  });

  test("L11 · the share is that of a store object: three limiters on one have one, and two objects have two, if over one client", async () => {
    const client = goneClient();
    const make = () => new RedisStore(client, { clock: () => 0 });
    const [one, other] = [make(), make()];
    for (const [stores, most] of [[[one, one, one], 5], [[make(), other], 10]] as const) {
      const limiters = stores.map((store) => createLimiter({ policy, store }));
      let granted = 0;
      for (const limiter of limiters) {
        for (let i = 0; i < 10; i++) if ((await limiter.consume("ann")).allowed) granted++;
      }
      expect(granted).toBe(most);
    }
  });

  test("the share can be another, is rounded down, and is never nothing", async () => {
    for (const [sharedBy, capacity] of [[1, 10], [4, 2], [10, 1], [1_000_000, 1]] as const) {
      const { limiter } = open({ sharedBy });
      expect(told(await limiter.consume("ann", capacity))).toEqual(yes);
      expect((await limiter.consume("ann")).allowed).toBe(false);
    }
  });

  test("what costs more than the share waits for a full bucket, and is owed in full", async () => {
    const { clock, limiter } = open();
    expect(told(await limiter.consume("ann", 8))).toEqual(yes);
    // Eight are spent; five fit, one comes back a second.
    expect(told(await limiter.consume("ann", 1))).toEqual(no(4_000));
    expect(told(await limiter.consume("ann", 10))).toEqual(no(8_000));
    clock.advance(7_999);
    expect(told(await limiter.consume("ann", 10))).toEqual(no(1));
    clock.advance(1);
    expect(told(await limiter.consume("ann", 10))).toEqual(yes);
    expect(told(await limiter.consume("ann", 11))).toEqual([false, "cost_above_capacity", Infinity, true]);
  });

  test("several limits are shared alike, and hold together", async () => {
    const both = { name: "api", limits: [{ name: "burst", capacity: 4, refill: perSecond(2) }, { name: "day", capacity: 6, refill: perSecond(1) }] } as const;
    const { clock, limiter } = open({}, { policy: both });
    expect(told(await limiter.consume("ann", 2))).toEqual(yes);
    clock.advance(1_000);
    expect(told(await limiter.consume("ann", 1))).toEqual(yes);
    expect(told(await limiter.consume("ann", 2))).toEqual(no(3_000));
  });

  test("what was spent locally stays spent through one outage and the next; the store never hears of it", async () => {
    const { store, limiter } = open({ breaker: false });
    await limiter.consume("ann", 5);
    store.health = "up";
    expect((await limiter.consume("ann", 10)).degraded).toBe(false);
    store.health = "down";
    expect(told(await limiter.consume("ann", 1))).toEqual(no(1_000));
  });

  test("limiters that share buckets in a store share them locally too, and a refund may go through either", async () => {
    const { store, limiter, clock } = open();
    const other = createLimiter({ policy, store });
    const decision = await limiter.consume("ann", 5);
    expect(told(await other.consume("ann", 1))).toEqual(no(1_000));
    await other.refund("ann", decision);
    expect(told(await limiter.consume("ann", 5))).toEqual(yes);
    const elsewhere = new UnsteadyStore(clock.now);
    elsewhere.health = "down";
    expect(told(await createLimiter({ policy, store: elsewhere }).consume("ann", 5))).toEqual(yes);
  });

  test("a store in this process that fails has the same choices", () => {
    const clock = new ManualClock();
    const store = { sync: true, guard: guard(), clock: clock.now, ask: () => { throw outage; } } as const;
    const limiter = createLimiter({ policy, store });
    expect([limiter.consume("ann", 5), limiter.consume("ann")].map(told)).toEqual([yes, no(1_000)]);
  });

  test("in the place of a store by its server's clock, the monotonic clock decides", async () => {
    vi.useFakeTimers({ toFake: ["performance", "Date"] });
    try {
      const store = new UnsteadyStore(() => 0, {}, "server");
      store.health = "down";
      const limiter = createLimiter({ policy, store });
      await limiter.consume("ann", 5);
      vi.advanceTimersByTime(3_000);
      expect([told(await limiter.consume("ann", 3)), told(await limiter.consume("ann", 1))]).toEqual([yes, no(1_000)]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a share of a limit", () => {
  const shares = fc.oneof(fc.constantFrom(1, 2, 3, 999_999, 1_000_000), fc.integer({ min: 1, max: 1_000_000 }));
  const share = (limit: RateNumbers, sharedBy: number, cost = 1): Policy => shareOf(definePolicy(limit), sharedBy, cost);

  test("of any limit is a limit, and all processes together have no more and are no faster than the limit", () => {
    fc.assert(
      fc.property(limits, shares, (limit, sharedBy) => {
        const { name: _, ...numbers } = limit;
        const [own] = share(numbers, sharedBy).limits;
        expect(own.capacity).toBe(Math.max(1, Number(BigInt(limit.capacity) / BigInt(sharedBy))));
        const [tokens, everyMs] = [BigInt(limit.refill.tokens), BigInt(limit.refill.everyMs) * BigInt(sharedBy)];
        const faster = BigInt(own.unitsPerMs) * everyMs > BigInt(own.unitsPerToken) * tokens;
        // Only a rate that whole units cannot say is rounded, and only one that would be nothing is rounded up.
        if (faster) expect([own.unitsPerMs, own.unitsPerToken >= Math.floor(Number.MAX_SAFE_INTEGER / limit.capacity / 2)]).toEqual([1, true]);
        if (everyMs * BigInt(limit.capacity) <= 2n ** 53n) {
          expect(BigInt(own.unitsPerMs) * everyMs).toBe(BigInt(own.unitsPerToken) * tokens);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test("counts in the same units whatever the cost, so that no cost loses what another has spent", () => {
    fc.assert(
      fc.property(limits, shares, fc.integer({ min: 1, max: 1_000_000 }), (limit, sharedBy, cost) => {
        const { name: _, ...numbers } = limit;
        const [[small], [large]] = [share(numbers, sharedBy).limits, share(numbers, sharedBy, Math.min(cost, limit.capacity)).limits];
        expect([large.unitsPerMs, large.unitsPerToken]).toEqual([small.unitsPerMs, small.unitsPerToken]);
      }),
    );
  });
});

/** What happens next: a while passes, the store's health changes, somebody asks. */
const moves = fc.array(
  fc.record({ waitMs: fc.integer({ min: 0, max: 5_000 }), health: fc.constantFrom("up", "down"), cost: fc.integer({ min: 1, max: 12 }), key: fc.constantFrom("ann", "bob") }),
  { minLength: 1, maxLength: 60 },
);

describe("what an outage lets through", () => {
  // The formula of docs/guides/outages.md, in units of a millionth of a token and a millisecond so that nothing is rounded.
  test("local: in no window more than the share's capacity, or its largest cost, and the share's rate; on top of what the store gave", async () => {
    expectWarnings("SLUICE_STORE_UNAVAILABLE");
    await fc.assert(
      fc.asyncProperty(moves, fc.constantFrom(1, 2, 4, 10), async (history, sharedBy) => {
        const { clock, store, limiter } = open({ sharedBy, breaker: false });
        const [share] = shareOf(definePolicy(policy), sharedBy, 1).limits;
        const granted: Array<{ at: number; cost: number; key: string; local: boolean }> = [];
        for (const { waitMs, health, cost, key } of history) {
          clock.advance(waitMs);
          store.health = health as "up" | "down";
          const decision = await limiter.consume(key, cost);
          if (decision.allowed) granted.push({ at: clock.now(), cost, key, local: decision.degraded });
        }
        for (const key of ["ann", "bob"]) {
          checkWindows(granted.filter((grant) => grant.local && grant.key === key), (largest) => Math.max(share.capacity, largest), share.unitsPerMs, share.unitsPerToken);
          checkWindows(granted.filter((grant) => !grant.local && grant.key === key), () => policy.capacity, 2, 1_000);
        }
      }),
    );
  });

  test("unavailable: nothing; allow: everything that fits the policy at all", async () => {
    expectWarnings("SLUICE_STORE_UNAVAILABLE");
    await fc.assert(
      fc.asyncProperty(moves, async (history) => {
        const [closed, open_] = [open({}, { onStoreError: "unavailable" }), open({}, { onStoreError: "allow" })];
        for (const { key, cost } of history) {
          expect((await closed.limiter.consume(key, cost)).allowed).toBe(false);
          expect((await open_.limiter.consume(key, cost)).allowed).toBe(cost <= policy.capacity);
        }
      }),
    );
  });
});

/** Throws unless every window holds at most what a bucket gives: `size` of its largest grant, and `p / q` tokens a millisecond. */
function checkWindows(granted: readonly { at: number; cost: number }[], size: (largest: number) => number, p: number, q: number): void {
  for (let from = 0; from < granted.length; from++) {
    let tokens = 0;
    let largest = 0;
    for (let to = from; to < granted.length; to++) {
      const { at, cost } = granted[to] as { at: number; cost: number };
      tokens += cost;
      largest = Math.max(largest, cost);
      expect(tokens * q).toBeLessThanOrEqual(size(largest) * q + p * (at - (granted[from] as { at: number }).at));
    }
  }
}
