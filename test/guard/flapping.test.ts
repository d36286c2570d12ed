// A store that flaps: what a process grants without it in many outages, by told clocks. docs/guides/outages.md has the bounds.
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { combine, createLimiter, createObserver, definePolicy, MemoryStore, perHour, perSecond, whenDone, type Clock, type Costs, type Decision, type Policy } from "sluice";
import { leased } from "sluice/lease";
import { guard, type AsyncStore } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { describe, expect, test, vi } from "vitest";
import { Fallback } from "../../src/guard/fallback.js";
import { outage, UnsteadyStore } from "../helpers/unsteady-store.js";
import { expectWarnings } from "../setup/warnings.js";
import { callsOf, type StoreCalls } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";
import { spyOnVerb } from "../helpers/spy-on-verb.js";

// The local share of one of two processes: 10 at once, 5 a second.
const policy = { name: "api", capacity: 20, refill: perSecond(10) };
const PAGE = readFileSync(new URL("../../docs/guides/outages.md", import.meta.url), "utf8");
const BREAKER_OFF = { breaker: false } as const;

/** A process with a store that a test switches off and on. `inner` is what several processes share. */
function open(clock = new ManualClock(1_000), inner?: MemoryStore, wrap = (store: AsyncStore): AsyncStore => store) {
  const store = new UnsteadyStore(clock.now, BREAKER_OFF);
  if (inner !== undefined) Object.assign(store, { inner });
  // Without an observer a warning comes a quarter of a second later, and only if the test still runs then.
  const limiter = createLimiter({ policy, store: wrap(store), observe: createObserver(() => undefined) });
  const granted = { local: 0, byStore: 0 };
  const ask = async (cost = 1): Promise<Decision> => {
    const decision = await limiter.consume("ann", cost);
    if (decision.allowed) granted[decision.degraded ? "local" : "byStore"] += cost;
    return decision;
  };
  /** Takes all that is there. */
  const drain = async (): Promise<void> => {
    while ((await ask()).allowed);
  };
  const switchTo = (health: "up" | "down"): void => void (store.health = health);
  return { clock, store, limiter, granted, ask, drain, switchTo };
}

type Process = ReturnType<typeof open>;

interface Flaps {
  readonly outages: number;
  readonly lastMs: number;
  readonly betweenMs: number;
  /** How often the caller asks. Undefined: in outages alone. */
  readonly everyMs?: number;
}

/** A caller takes all that it gets in each outage, at all processes, and asks the store through one after another in between. */
async function flap(processes: readonly Process[], { outages, lastMs, betweenMs, everyMs }: Flaps): Promise<void> {
  const [{ clock }] = processes as [Process];
  let turn = 0;
  for (let i = 0; i < outages; i++) {
    for (const { switchTo } of processes) switchTo("down");
    for (const { drain } of processes) await drain();
    for (let left = lastMs; left > 0; left -= 10) {
      clock.advance(Math.min(10, left));
      for (const { drain } of processes) await drain();
    }
    for (const { switchTo } of processes) switchTo("up");
    for (let passed = 0; i + 1 < outages && passed < betweenMs; passed += everyMs ?? betweenMs) {
      clock.advance(everyMs ?? betweenMs);
      if (everyMs !== undefined) await processes[turn++ % processes.length]?.ask();
    }
  }
}

describe("a store that flaps", () => {
  // The share, and 5 a second of the time since the first outage, or of the time without the store.
  test.each([
    ["| of no length | never | 120 | 10 + 5 × 22 |", { outages: 12, lastMs: 0, betweenMs: 2_000 }, 10 + 5 * 22],
    ["| of 200 ms | never | 132 | 10 + 5 × 24.4 |", { outages: 12, lastMs: 200, betweenMs: 2_000 }, 10 + 5 * 24.4],
    ["| of no length | 5 times a second, or more | 10 | 10 + 5 × 0 |", { outages: 12, lastMs: 0, betweenMs: 2_000, everyMs: 200 }, 10],
    ["| of no length | 5 times a second, or more | 10 | 10 + 5 × 0 |", { outages: 12, lastMs: 0, betweenMs: 2_000, everyMs: 100 }, 10],
    ["| of 200 ms | 10 times a second | 22 | 10 + 5 × 2.4 |", { outages: 12, lastMs: 200, betweenMs: 2_000, everyMs: 100 }, 10 + 5 * 2.4],
  ] as const)("L11 · grants without the store what the page says: %s", async (row, flaps, most) => {
    const one = open();
    await flap([one], flaps);
    expect(one.granted.local).toBe(most);
    expect(PAGE).toContain(row);
  });

  test("L11 · grants of a lease count as the store's: the page holds for a leased key, too", async () => {
    const clock = new ManualClock(1_000);
    const one = open(clock, undefined, (store) => leased(store, { leaseMs: 500, time: { now: clock.now, wallNow: clock.now } }));
    const consume = vi.spyOn(one.store, "consume");
    await flap([one], { outages: 12, lastMs: 0, betweenMs: 2_000, everyMs: 100 });
    expect(one.granted.local).toBe(10);
    expect(consume.mock.calls.length).toBeLessThan(one.granted.byStore);
  });

  test("L11 · a caller that asks half as often gets the rest of what refills", async () => {
    const one = open();
    await flap([one], { outages: 12, lastMs: 0, betweenMs: 2_000, everyMs: 400 });
    expect(one.granted.local).toBe(10 + 11 * 5);
  });

  test("L11 · two processes beside their store: each its own bound, and the store its own", async () => {
    const clock = new ManualClock(1_000);
    const inner = new MemoryStore({ clock: clock.now });
    const both = [open(clock, inner), open(clock, inner)];
    await flap(both, { outages: 12, lastMs: 200, betweenMs: 2_000 });
    for (const { granted } of both) expect(granted.local).toBe(10 + 5 * 24.4);
    expect(PAGE).toContain("| of 200 ms, seen by two processes | never | 264 | 2 × 132 |");
    const busy = [open(clock, inner), open(clock, inner)];
    await flap(busy, { outages: 12, lastMs: 200, betweenMs: 2_000, everyMs: 100 });
    // Each gets half of what the store grants, so its share stays empty.
    expect(busy.map(({ granted }) => granted)).toEqual([{ local: 22, byStore: 110 }, { local: 22, byStore: 110 }]);
  });

  test.each([10, 20, 7])("L11 · after an hour at %i a second an outage serves at the local rate from its first second, and no later", async (perS) => {
    const { clock, granted, ask, drain, switchTo } = open();
    switchTo("down");
    await drain();
    switchTo("up");
    for (let i = 0; i < 3_600 * perS; i++) {
      clock.advance(1_000 / perS);
      await ask();
    }
    const before = granted.local;
    switchTo("down");
    for (let second = 1; second <= 10; second++) {
      for (let i = 0; i < 20; i++) {
        clock.advance(50);
        await drain();
      }
      expect(granted.local - before).toBe(5 * second);
    }
  });

  test("L11 · a caller that pauses until its share is full has all of it again", async () => {
    const { clock, granted, ask, drain, switchTo } = open();
    switchTo("down");
    await drain();
    switchTo("up");
    clock.advance(2_000);
    await ask(20);
    switchTo("down");
    await drain();
    expect(granted.local).toBe(20);
  });

  test("L11 · takes nothing from the share of a caller that used none of its own", async () => {
    const { limiter, drain, switchTo } = open();
    switchTo("down");
    await drain();
    switchTo("up");
    for (let i = 0; i < 20; i++) await limiter.consume("bob");
    switchTo("down");
    expect((await limiter.consume("bob", 10)).allowed).toBe(true);
  });
});

describe("what the store grants", () => {
  /** A process whose caller has `left` tokens of its share, and whose store is up. */
  async function used(left: number) {
    const world = open();
    world.switchTo("down");
    await world.ask(10 - left);
    world.switchTo("up");
    const localLeft = async (): Promise<number> => {
      world.switchTo("down");
      const { allowed, remaining } = await world.limiter.consume("ann", 10);
      world.switchTo("up");
      return allowed ? 10 : remaining;
    };
    return { ...world, localLeft };
  }

  test.each([
    [9, 1, 8],
    [9, 9, 0],
    [9, 15, 0], // never below empty
    [0, 5, 0],
  ])("L11 · of %i tokens of a share that is in use, a grant of %i leaves %i", async (left, cost, after) => {
    const { clock, ask, localLeft } = await used(left);
    await ask(cost);
    expect(await localLeft()).toBe(after);
    clock.advance(200);
    expect(await localLeft()).toBe(after + 1);
  });

  test("L11 · is taken to the last unit: no part of a token stays", async () => {
    const { clock, ask, localLeft } = await used(0);
    clock.advance(199);
    await ask();
    clock.advance(199);
    expect(await localLeft()).toBe(0);
    clock.advance(1);
    expect(await localLeft()).toBe(1);
  });

  test("L11 · a refusal of the store takes nothing", async () => {
    const { ask, localLeft } = await used(9);
    await ask(20);
    await ask(1);
    expect(await localLeft()).toBe(0);
    const other = await used(9);
    expect((await other.ask(21)).allowed).toBe(false);
    expect(await other.localLeft()).toBe(9);
  });

  test.each([
    ["all of it was there", 9, 6, 2, 7],
    ["a part of it was there", 4, 6, 1, 3],
    ["more was used than was there", 4, 6, 5, 0],
    ["more was used than was taken", 9, 6, 9, 3],
    ["nothing was there", 0, 6, 0, 0],
  ])("L11 · comes back to the share as far as it was taken from it: %s", async (_, left, cost, actual, after) => {
    const { limiter, ask, localLeft } = await used(left);
    const decision = await ask(cost);
    expect([await limiter.settle("ann", decision, actual), await limiter.settle("ann", decision, 0)]).toEqual([true, false]);
    expect(await localLeft()).toBe(after);
  });

  test("L11 · and comes back late: what has refilled of the share since does not come back", async () => {
    const { clock, limiter, ask, localLeft } = await used(9);
    const decision = await ask(9);
    clock.advance(400);
    await ask(2);
    await limiter.refund("ann", decision);
    // Of ten tokens two have refilled, and were taken again.
    expect(await localLeft()).toBe(8);
  });

  test("L11 · does not come back while the store fails: the settlement is not made", async () => {
    expectWarnings("SLUICE_SETTLEMENT_FAILED");
    const { limiter, ask, localLeft, switchTo } = await used(9);
    const decision = await ask(9);
    switchTo("down");
    await expect(limiter.refund("ann", decision)).rejects.toBe(outage);
    expect(await localLeft()).toBe(0);
  });

  test("L11 · through works that use nothing mints no local token", async () => {
    const { clock, limiter, granted, ask, drain, switchTo } = open();
    for (let i = 0; i < 12; i++) {
      switchTo("down");
      await drain();
      switchTo("up");
      for (let j = 0; j < 20; j++) {
        const works = [await ask(4), await ask(4)];
        clock.advance(1);
        for (const work of works) await limiter.refund("ann", work);
      }
    }
    expect(granted.local).toBeLessThanOrEqual(10 + 5 * 0.24);
  });

  test("L11 · is taken from all rates of a policy in one step, from a quota's share too, and from no limit in flight", async () => {
    const clock = new ManualClock(1_000);
    const several = definePolicy({
      name: "chat",
      limits: [
        { name: "burst", capacity: 20, refill: perSecond(10) },
        { name: "hour", capacity: 40, refill: perHour(40) },
        { name: "parallel", capacity: 8, returns: whenDone() },
      ],
    });
    const local = new MemoryStore({ clock: clock.now });
    const fallback = new Fallback(2, clock.now, () => local);
    const steps = spyOnVerb(local, "adjust");
    const taken = fallback.decide(several, "ann", [4, 4, 1], outage, "local");
    const left = (): number[] => {
      const decision = fallback.decide(several, "ann", [10, 20, 4], outage, "local");
      return (decision.limits ?? []).map(({ remaining }) => remaining);
    };
    expect([taken.allowed, left()]).toEqual([true, [6, 16, 3]]);
    const byStore = { ...taken, degraded: false } as Decision;
    fallback.granted(several, "ann", [5, 18, 1], byStore);
    expect(left()).toEqual([1, 0, 3]);
    expect(steps).toHaveBeenCalledTimes(1);
    // The readings of what was taken here, for the settlement.
    expect(fallback.chargeOf(byStore)?.decision.limits?.map(({ cost }) => cost)).toEqual([5, 16, 0]);
    // The burst is full again and the hour is not: the next grant takes from both.
    clock.advance(2_000);
    expect(left()[0]).toBe(10);
    fallback.granted(several, "ann", [3, 0, 1], byStore);
    expect(left()[0]).toBe(7);
  });

  test("L11 · is taken for each member of a combination, and by a store that answers at once", async () => {
    const { store, limiter, drain, switchTo } = open();
    const other = createLimiter({ policy: { ...policy, name: "team" }, store });
    const consumeTogether = (charges: ReadonlyArray<{ policy: Policy; key: string; cost: Costs }>): Promise<readonly Decision[]> => Promise.resolve(callsOf(store.inner).together(charges));
    const both = combine({ user: limiter, team: other });
    Object.assign(store, { consumeTogether });
    switchTo("down");
    await drain();
    expect((await other.consume("reds", 4)).allowed).toBe(true);
    switchTo("up");
    const decision = await both.consume({ user: "ann", team: "reds" }, 3);
    switchTo("down");
    expect([(await limiter.consume("ann", 1)).remaining, (await other.consume("reds", 10)).remaining]).toEqual([0, 3]);
    switchTo("up");
    await both.refund({ user: "ann", team: "reds" }, decision);
    switchTo("down");
    expect([(await limiter.consume("ann", 1)).allowed, (await other.consume("reds", 10)).remaining]).toEqual([false, 6]);
  });

  test("L11 · is taken also where the store answers at once", () => {
    const clock = new ManualClock(1_000);
    const inner = new MemoryStore({ clock: clock.now });
    let isDown = true;
    const consume = (...call: Parameters<StoreCalls<true>["consume"]>): Decision => {
      if (isDown) throw outage;
      return callsOf(inner).consume(...call);
    };
    const limiter = createLimiter({ policy, store: storeOf({ sync: true, clock: clock.now, guard: guard(BREAKER_OFF), consume }) });
    limiter.consume("ann", 4);
    isDown = false;
    limiter.consume("ann", 4);
    isDown = true;
    expect(limiter.consume("ann", 10).remaining).toBe(2);
  });
});

describe("the local shares", () => {
  const one = definePolicy(policy);

  /** A fallback, and how often its buckets are asked. */
  function counted() {
    const clock = new ManualClock(1_000);
    const tables: MemoryStore[] = [];
    const calls = vi.fn();
    const makeLocal = (own: Clock): MemoryStore => {
      const store = new MemoryStore({ clock: own });
      vi.spyOn(store, "ask").mockImplementation((call) => (calls(), MemoryStore.prototype.ask.call(store, call)));
      tables.push(store);
      return store;
    };
    const fallback = new Fallback(2, clock.now, makeLocal);
    const storeGrants = (key = "ann"): void => fallback.granted(one, key, 1, callsOf(new MemoryStore({ clock: clock.now })).consume(one, key, 1));
    const decide = (cost: number, key = "ann"): Decision => fallback.decide(one, key, cost, outage, "local");
    return { clock, tables, calls, fallback, storeGrants, decide };
  }

  test("L11 · cost a healthy store nothing: before an outage there are none", () => {
    const { tables, storeGrants } = counted();
    for (let i = 0; i < 100; i++) storeGrants();
    expect(tables).toHaveLength(0);
  });

  test("L11 · are forgotten when all of them are full again, and then cost nothing either", () => {
    const { clock, tables, calls, storeGrants, decide } = counted();
    decide(10);
    clock.advance(1_000);
    decide(5, "bob");
    clock.advance(999); // ann has all of hers in a millisecond
    storeGrants("cid");
    expect(calls).toHaveBeenCalled();
    calls.mockClear();
    clock.advance(1);
    storeGrants("cid");
    expect(calls).not.toHaveBeenCalled();
    decide(10);
    expect(tables).toHaveLength(2);
  });

  test("L11 · stay while a grant, a debt or a work in flight is in them", () => {
    const { clock, tables, fallback, storeGrants, decide } = counted();
    const decision = decide(10);
    clock.advance(1_900);
    storeGrants(); // takes one of nine
    clock.advance(199);
    const { store, policy: share } = fallback.chargeOf(decision) as NonNullable<ReturnType<Fallback["chargeOf"]>>;
    callsOf(store).adjust(share, "ann", 20);
    clock.advance(2_000);
    storeGrants();
    expect(tables).toHaveLength(1);
    expect(decide(1).allowed).toBe(false);
    const held = definePolicy({ name: "held", limits: [{ name: "parallel", capacity: 2, returns: whenDone({ staleAfterMs: 1_600 }) }] });
    const work = fallback.decide(held, "ann", 1, outage, "local");
    clock.advance(1_500);
    const taken = fallback.chargeOf(work) as NonNullable<ReturnType<Fallback["chargeOf"]>>;
    callsOf(taken.store).renew(taken.policy, "ann", 1, { from: work.at, to: clock.now() });
    clock.advance(1_500);
    storeGrants("bob");
    expect(fallback.decide(held, "ann", 1, outage, "local").allowed).toBe(false);
  });

  test("L11 · a settlement that comes after that counts in the next ones", () => {
    const { clock, fallback, storeGrants, decide } = counted();
    const decision = decide(10);
    clock.advance(2_000);
    storeGrants();
    const { store, policy: share } = fallback.chargeOf(decision) as NonNullable<ReturnType<Fallback["chargeOf"]>>;
    callsOf(store).adjust(share, "ann", 10);
    expect(decide(1).allowed).toBe(false);
  });

  test("L11 · by a clock that fails are forgotten: the store has decided", () => {
    const { clock, fallback, storeGrants, decide } = counted();
    decide(10);
    const decision = callsOf(new MemoryStore({ clock: clock.now })).consume(one, "ann", 1);
    clock.set(Number.NaN);
    expect(() => fallback.granted(one, "ann", 1, decision)).not.toThrow();
    clock.set(2_000);
    storeGrants();
    expect(decide(10).allowed).toBe(true);
  });
});

/** What happens next: a while passes, the store's health changes, a call is made or an earlier one is settled. */
const moves = fc.array(
  fc.record({ waitMs: fc.integer({ min: 0, max: 1_500 }), isUp: fc.boolean(), cost: fc.integer({ min: 1, max: 20 }), settles: fc.option(fc.nat(100)), used: fc.integer({ min: 0, max: 20 }) }),
  { minLength: 1, maxLength: 60 },
);

describe("in any history", () => {
  test("L11 · the local grants since the first outage are within the bound of the page, whatever is given back", async () => {
    expectWarnings("SLUICE_STORE_UNAVAILABLE", "SLUICE_SETTLEMENT_FAILED");
    await fc.assert(
      fc.asyncProperty(moves, async (history) => {
        const { clock, limiter, ask, switchTo } = open();
        const open_: Decision[] = [];
        let [first, local, largest] = [Number.NaN, 0, 10];
        for (const { waitMs, isUp, cost, settles, used } of history) {
          clock.advance(waitMs);
          switchTo(isUp ? "up" : "down");
          const decision = await ask(cost);
          if (decision.allowed && decision.degraded) {
            if (Number.isNaN(first)) first = clock.now();
            largest = Math.max(largest, cost);
            local += cost;
            expect(local).toBeLessThanOrEqual(largest + (5 * (clock.now() - first)) / 1_000);
          } else if (decision.allowed) open_.push(decision);
          const work = settles === null ? undefined : open_.splice(settles % Math.max(1, open_.length), 1)[0];
          if (work !== undefined) await limiter.settle("ann", work, used).catch(() => undefined);
        }
      }),
    );
  });

  test("L11 · a caller that never pauses longer than a local token takes gets the share, and the local rate in the time without the store", async () => {
    const flaps = fc.array(fc.record({ lastMs: fc.integer({ min: 0, max: 1_500 }), grants: fc.integer({ min: 1, max: 20 }), everyMs: fc.integer({ min: 1, max: 200 }), cost: fc.integer({ min: 1, max: 3 }) }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(flaps, async (history) => {
        const { clock, store, granted, ask, drain, switchTo } = open();
        let withoutMs = 0;
        for (const { lastMs, grants, everyMs, cost } of history) {
          switchTo("down");
          await drain();
          for (let left = lastMs; left > 0; left -= 100) {
            clock.advance(Math.min(100, left));
            await drain();
          }
          withoutMs += lastMs;
          switchTo("up");
          for (let i = 0; i < grants; i++) {
            clock.advance(everyMs);
            callsOf(store.inner).reset(definePolicy(policy), "ann"); // so that the store grants each
            await ask(cost);
          }
          // Until its next token the caller has taken nothing of what refilled.
          expect(granted.local * 1_000).toBeLessThanOrEqual(10_000 + 5 * withoutMs);
        }
      }),
      { numRuns: 60 },
    );
  });
});
