import { createLimiter, definePolicy, MemoryStore, perSecond, type AsyncStore, type Decision, type SyncStore } from "sluice";
import { guard } from "sluice/store";
import { ManualClock } from "sluice/testing";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Charges, type Charge } from "../helpers/charges.js";
import { LaterStore } from "../helpers/stores.js";
import { UnsteadyStore } from "../helpers/unsteady-store.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";
import { spyOnVerb } from "../helpers/spy-on-verb.js";

const policy = { name: "api", capacity: 10, refill: perSecond(2) };
const clock = new ManualClock();

describe("refund", () => {
  test("gives back what a decision took, once", () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
    const first = limiter.consume("alice", 3);
    limiter.consume("alice", 4);
    for (let again = 0; again < 3; again++) {
      limiter.refund("alice", first);
      expect(limiter.peek("alice").remaining).toBe(6);
    }
  });

  test("each decision for itself, also when they say the same", () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
    const decisions = Array.from({ length: 5 }, () => limiter.consume("alice"));
    for (const decision of decisions) limiter.refund("alice", decision);
    expect(limiter.peek("alice")).toMatchObject({ remaining: 10, resetMs: 0 });
  });

  test("gives nothing for a refusal, or for a decision that took nothing", () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
    limiter.consume("alice", 8);
    const taken: Decision[] = [limiter.consume("alice", 3), limiter.consume("alice", 11), limiter.consume("alice", 0)];
    for (const decision of taken) limiter.refund("alice", decision);
    expect(limiter.peek("alice").remaining).toBe(2);
  });

  test("gives nothing for what was peeked, at once or later", async () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
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

  test("L1 · given back late, a decision mints nothing: what came back by itself is not there twice", () => {
    const own = new ManualClock();
    const limiter = createLimiter({ policy: { name: "api", capacity: 10, refill: perSecond(1) }, store: new MemoryStore({ clock: own.now }) });
    const first = limiter.consume("alice", 10);
    own.advance(9_900);
    expect(limiter.consume("alice", 9).allowed).toBe(true);
    limiter.refund("alice", first);
    // Nine came back by themselves and are out again; of the tenth a part had come, and the whole was given back.
    expect(limiter.consume("alice", 10).allowed).toBe(false);
    expect(limiter.peek("alice").remaining).toBe(1);
  });

  test("never fills beyond full", () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
    const decision = limiter.consume("alice", 6);
    clock.advance(2_500);
    limiter.refund("alice", decision);
    expect(limiter.consume("alice", 10).allowed).toBe(true);
    expect(limiter.consume("alice").allowed).toBe(false);
  });

  test("a credit is the administrator's form: as often as it is called, and never beyond full", () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
    limiter.consume("alice", 10);
    limiter.credit("alice", 3);
    limiter.credit("alice", 3);
    expect(limiter.peek("alice").remaining).toBe(6);
    limiter.credit("alice", Number.MAX_SAFE_INTEGER);
    expect(limiter.peek("alice")).toMatchObject({ remaining: 10, resetMs: 0 });
  });

  test("goes to every limit that was charged", () => {
    const refill = perSecond(1);
    const limits = [{ name: "a", capacity: 5, refill }, { name: "b", capacity: 9, refill }] as const;
    const limiter = createLimiter({ policy: { name: "api", limits }, store: new MemoryStore({ clock: clock.now }) });
    limiter.refund("alice", limiter.consume("alice", 4));
    expect(limiter.peek("alice").limits?.map(({ resetMs }) => resetMs)).toEqual([0, 0]);
  });

  test("takes a decision under a tier to that tier, whichever policy is named", () => {
    const store = new MemoryStore({ clock: clock.now });
    const limiter = createLimiter({ policy, store });
    const bulk = definePolicy({ name: "bulk", capacity: 5, refill: perSecond(1) });
    const decision = limiter.consume("alice", { policy: bulk, cost: 5 });
    expect(limiter.refund("alice", decision, { policy: definePolicy(policy) })).toBe(true);
    expect(limiter.peek("alice", { policy: bulk }).remaining).toBe(5);
    expect(limiter.refund("alice", decision, { policy: bulk })).toBe(false);
  });

  test("over an asynchronous store, too: also when the two are asked for at once", async () => {
    const limiter = createLimiter({ policy, store: new LaterStore(clock.now) });
    await limiter.consume("alice", 5);
    const decision = await limiter.consume("alice", 3);
    await Promise.all([limiter.refund("alice", decision), limiter.refund("alice", decision)]);
    expect((await limiter.peek("alice")).remaining).toBe(5);
  });
});

describe("a refund that comes late, or from elsewhere", () => {
  test("L1 · does nothing once the decision's tokens have come back by themselves", () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
    const early = limiter.consume("alice", 6);
    clock.advance(2_999);
    const other = limiter.consume("alice", 1);
    limiter.refund("alice", other);
    clock.advance(1);
    limiter.consume("alice", 10);
    limiter.refund("alice", early);
    expect(limiter.peek("alice").remaining).toBe(0);
  });

  test("goes to each limit as far as that has not got it back", () => {
    const limits = [{ name: "burst", capacity: 5, refill: perSecond(5) }, { name: "day", capacity: 9, refill: perSecond(1) }] as const;
    const store = new MemoryStore({ clock: clock.now });
    const limiter = createLimiter({ policy: { name: "api", limits }, store });
    const early = limiter.consume("alice", 4);
    clock.advance(1_000);
    limiter.consume("alice", 5);
    limiter.refund("alice", early);
    expect(limiter.peek("alice").limits?.map(({ remaining }) => remaining)).toEqual([0, 4]);
  });

  test("L1 · half late, gives back half: the rest has come back, and may have been taken again", () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
    const early = limiter.consume("alice", 10);
    clock.advance(2_500);
    expect(limiter.consume("alice", 5).allowed).toBe(true);
    limiter.refund("alice", early);
    // As if the first had never asked: 10, less the 5.
    expect(limiter.peek("alice").remaining).toBe(5);
  });

  test("L1 · half late, a local decision's gives back half as well", async () => {
    const store = new UnsteadyStore(clock.now, { sharedBy: 1 });
    store.health = "down";
    const limiter = createLimiter({ policy, store });
    const early = await limiter.consume("alice", 10);
    clock.advance(2_500);
    expect((await limiter.consume("alice", 5)).allowed).toBe(true);
    await limiter.refund("alice", early);
    expect([(await limiter.consume("alice", 5)).allowed, (await limiter.consume("alice", 1)).allowed]).toEqual([true, false]);
  });

  test("gives back the last token too, while a part of it is out", () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
    const early = limiter.consume("alice");
    clock.advance(499);
    limiter.consume("alice", 9);
    limiter.refund("alice", early);
    expect(limiter.peek("alice").remaining).toBe(1);
  });

  test("L1 · gives nothing to a limit that the decision did not know", () => {
    const store = new MemoryStore({ clock: clock.now });
    const limiter = createLimiter({ policy, store });
    const refill = perSecond(1);
    const both = definePolicy({ name: "api", limits: [{ name: "api", capacity: 10, refill: perSecond(2) }, { name: "day", capacity: 9, refill }] });
    const decision = limiter.consume("alice", 4);
    limiter.consume("alice", { policy: both, cost: 5 });
    limiter.refund("alice", decision, { policy: both });
    expect(limiter.peek("alice", { policy: both }).limits?.map(({ remaining }) => remaining)).toEqual([5, 4]);
  });

  test("by a server's clock, as well: an answer's age counts from when it was asked for", async () => {
    vi.useFakeTimers({ toFake: ["performance", "Date"] });
    try {
      const server = new ManualClock(1_700_000_000_000);
      const pass = (ms: number): void => (vi.advanceTimersByTime(ms), server.advance(ms), undefined);
      const limiter = createLimiter({ policy, store: new UnsteadyStore(server.now, {}, "server") });
      const [old, young] = [await limiter.consume("alice", 6), await limiter.consume("bob", 6)];
      pass(2_999);
      await limiter.refund("bob", young);
      expect((await limiter.peek("bob")).remaining).toBe(10);
      pass(1);
      await limiter.consume("alice", 10);
      await limiter.refund("alice", old);
      expect((await limiter.peek("alice")).remaining).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test("goes to where it was taken: a local decision's to this process, and the store hears nothing", async () => {
    const store = new UnsteadyStore(clock.now, { breaker: false });
    const limiter = createLimiter({ policy, store });
    await limiter.consume("alice", 10);
    store.health = "down";
    const local = await limiter.consume("alice", 5);
    expect([local.allowed, local.degraded]).toEqual([true, true]);
    store.health = "up";
    await limiter.refund("alice", local);
    await limiter.refund("alice", local);
    expect((await limiter.peek("alice")).remaining).toBe(0);
    store.health = "down";
    expect([(await limiter.consume("alice", 5)).allowed, (await limiter.consume("alice")).allowed]).toEqual([true, false]);
  });

  test("a local decision's does nothing either, once its tokens have come back", async () => {
    const store = new UnsteadyStore(clock.now);
    store.health = "down";
    const limiter = createLimiter({ policy, store });
    const early = await limiter.consume("alice", 5);
    clock.advance(5_000);
    await limiter.consume("alice", 5);
    await limiter.refund("alice", early);
    expect((await limiter.consume("alice")).allowed).toBe(false);
  });

  test("gives nothing for what nobody was charged for: let through, refused locally, or given up on", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "setImmediate", "performance", "Date"] });
    try {
      const store = new UnsteadyStore(clock.now, { breaker: false });
      for (const onStoreError of ["allow", "local", "unavailable"] as const) {
        const limiter = createLimiter({ policy, store, onStoreError });
        store.health = "hangs";
        const [given] = await Promise.all([limiter.consume("alice", 8), vi.advanceTimersByTimeAsync(101)]);
        store.health = "up";
        const before = (await limiter.peek("alice")).remaining;
        await limiter.refund("alice", given);
        expect((await limiter.peek("alice")).remaining).toBe(before);
      }
    } finally {
      vi.useRealTimers();
    }
  });

  // Two buckets: that of the store, and the local share.
  test("L1 · no sequence of decisions, outages and refunds at any time mints a token", async () => {
    const step = fc.record({
      waitMs: fc.integer({ min: 0, max: 3_000 }),
      health: fc.constantFrom("up" as const, "up" as const, "down" as const),
      cost: fc.integer({ min: 1, max: 10 }),
      refunds: fc.option(fc.nat(5)),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const store = new UnsteadyStore(clock.now, { breaker: false });
        const adjusted = spyOnVerb(MemoryStore.prototype, "adjust");
        const limiter = createLimiter({ policy, store });
        const [byStore, locally] = [new Charges(), new Charges()];
        const given: { decision: Decision; charge: Charge; local: Charge }[] = [];
        for (const { waitMs, health, cost, refunds: place } of steps) {
          clock.advance(waitMs);
          store.health = health;
          const back = place === null ? undefined : given[place];
          if (back !== undefined && health === "up" && (adjusted.mockClear(), await limiter.refund("alice", back.decision))) {
            // The first change is that of the decision's own bucket, and the second that of the local share.
            const [own = 0, inShare = 0] = adjusted.mock.calls.map(([, , changes]) => -(changes as number));
            (back.decision.degraded ? locally : byStore).giveBack(back.charge, own);
            if (!back.decision.degraded) {
              // At least so much had been taken from it.
              back.local.tokens = inShare;
              locally.giveBack(back.local, inShare);
            }
          }
          const decision = await limiter.consume("alice", cost);
          if (!decision.allowed) continue;
          const local = locally.add(decision.at, decision.degraded ? cost : 0);
          given.unshift({ decision, local, charge: decision.degraded ? local : byStore.add(decision.at, cost) });
        }
        adjusted.mockRestore();
        byStore.check(policy);
        locally.check({ capacity: 5, refill: { tokens: 1, everyMs: 1_000 } }, (largest) => Math.max(5, largest));
      }),
      { numRuns: 400 },
    );
  });
});

describe("a credit of 20 has no earlier instant than its call", () => {
  const slow = definePolicy({ name: "slow", capacity: 1_000, refill: perSecond(1) });
  afterEach(() => void vi.useRealTimers());

  /** Tokens that come back by a credit. The server's time goes on for 30 s while the process stands still, and in a queue. */
  async function credited(queueMs: { readonly peek?: number; readonly adjust?: number }, has: "peek" | "no peek"): Promise<number> {
    vi.useFakeTimers({ toFake: ["performance", "Date", "setTimeout", "setImmediate"] });
    const server = new ManualClock(1_000_000);
    const inner = new MemoryStore({ clock: server.now });
    const queued = async <T>(ms: number | undefined, make: () => T): Promise<T> => {
      await Promise.resolve();
      server.advance(ms ?? 0);
      vi.advanceTimersByTime(ms ?? 0);
      return make();
    };
    const store: AsyncStore = storeOf({
      sync: false, clock: "server", guard: guard({ timeoutMs: Infinity }),
      consume: async (...asked) => callsOf(inner).consume(...asked),
      ...(has === "peek" && { peek: (...asked) => queued(queueMs.peek, () => callsOf(inner).peek(...asked)) }),
      adjust: (...asked) => queued(queueMs.adjust, () => callsOf(inner).adjust(...asked)),
    });
    const limiter = createLimiter({ policy: slow, store });
    await limiter.consume("ann", 500);
    server.advance(30_000);
    const before = callsOf(inner).peek(slow, "ann", 0).remaining;
    await limiter.credit("ann", 20);
    return callsOf(inner).peek(slow, "ann", 0).remaining - before;
  }

  const rows = [
    ["the process stood still before", {}, "peek", 20],
    ["a network of 100 ms", { peek: 100, adjust: 100 }, "peek", 20],
    ["it waits 10 s in a queue", { adjust: 10_000 }, "peek", 20],
    ["its question waits 10.1 s in a queue", { peek: 10_100 }, "peek", 20],
    ["both wait", { peek: 8_100, adjust: 8_000 }, "peek", 20],
    ["a store that cannot be asked for its time", {}, "no peek", 20],
  ] as const;
  test.each(rows)("L1 · %s", async (_, queueMs, has, tokens) => {
    // What refills while it waits comes back by itself, and is taken off.
    expect(await credited(queueMs, has)).toBe(tokens);
  });

  test("L1 · also over a store that answers at once by its server's clock", () => {
    const inner = new MemoryStore({ clock: clock.now });
    const store: SyncStore = storeOf({
      sync: true, clock: "server",
      consume: (...asked) => callsOf(inner).consume(...asked), peek: (...asked) => callsOf(inner).peek(...asked), adjust: (...asked) => callsOf(inner).adjust(...asked),
    });
    const limiter = createLimiter({ policy: slow, store });
    limiter.consume("ann", 500);
    clock.advance(30_000);
    expect([limiter.credit("ann", 20), limiter.peek("ann").remaining]).toEqual([undefined, 550]);
  });
});
