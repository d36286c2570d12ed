import { execFileSync } from "node:child_process";
import { createLimiter, definePolicy, MemoryStore, perHour, perSecond, type Policy } from "sluice";
import { ManualClock, storeSuite } from "sluice/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectSame } from "../../core/subjects.js";
import { bundledCode } from "../../helpers/bundled.js";
import { expectWarnings } from "../../setup/warnings.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({ capacity: 10, refill: perSecond(2) });

/** A store and its clock, asked under `policy`. */
interface Subject {
  readonly store: MemoryStore;
  readonly clock: ManualClock;
  /** What is left after taking `cost` (1), or null when it was refused. */
  take(key: string, cost?: number): number | null;
  left(key: string): number;
}

function storeOf(maxKeys?: number): Subject {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock: clock.now, ...(maxKeys === undefined ? {} : { maxKeys }) });
  return {
    store,
    clock,
    take: (key, cost = 1) => {
      const { allowed, remaining } = callsOf(store).consume(policy, key, cost);
      return allowed ? remaining : null;
    },
    left: (key) => callsOf(store).peek(policy, key, 0).remaining,
  };
}

describe("who has a bucket", () => {
  test("keys, policies and limits share nothing, whatever separators their names hold", () => {
    const { store } = storeOf();
    const names: [policy: string, limit: string][] = [["a", "b"], ["b", "a"], ["a", "a"], ["A", "a"]];
    for (const joint of [".", "-", "_"]) names.push([`a${joint}b`, "c"], ["a", `b${joint}c`]);
    const policies = names.map(([name, limit]) => definePolicy({ name, limits: [{ name: limit, capacity: 1, refill: perSecond(1) }] }));
    const keys = ["x", "x ", " x", "a x", "b", "x:b", "x/b", "{x}", "", "\0", "X"];
    for (const one of policies) for (const key of keys) expect(callsOf(store).consume(one, key, 1).allowed, `${one.name} ${key}`).toBe(true);
    for (const one of policies) for (const key of keys) expect(callsOf(store).consume(one, key, 1).allowed, `${one.name} ${key}`).toBe(false);
    expect(store.stats()).toEqual({ buckets: policies.length * keys.length, evictedBusy: 0 });
  });

  test("callers who come once, or again and again, are never taken for one another", () => {
    const turns = fc.array(fc.constantFrom("a", "b", "ab", ""), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(turns, (callers) => {
        const { take } = storeOf();
        const spent = new Map<string, number>();
        for (const caller of callers) {
          const before = spent.get(caller) ?? 0;
          expect(take(caller)).toBe(before < 10 ? 9 - before : null);
          spent.set(caller, before + 1);
        }
      }),
    );
  });

  test("two stores share nothing, and a policy defined twice is one", () => {
    const [a, b] = [storeOf(), storeOf()];
    expect([a.take("alice", 10), b.take("alice", 10)]).toEqual([0, 0]);
    const again: Policy = definePolicy({ capacity: 10, refill: perSecond(2) });
    expect(callsOf(a.store).consume(again, "alice", 1).allowed).toBe(false);
  });

  test("nothing is kept of who only asks, is refused, costs nothing, gives back or is full again", () => {
    const { store, clock, take, left } = storeOf();
    left("asks");
    take("refused", 11);
    take("free", 0);
    callsOf(store).adjust(policy, "gives", -5);
    callsOf(store).reset(policy, "forgotten");
    expect(store.stats().buckets).toBe(0);
    take("alice", 4);
    callsOf(store).adjust(policy, "alice", -4);
    take("bob", 4);
    clock.advance(2_000);
    take("bob", 0);
    expect(store.stats().buckets).toBe(0);
  });

  test("a month-long window lasts a month, to the millisecond", () => {
    const month = 30 * 86_400_000;
    const { store, clock } = storeOf();
    const monthly = definePolicy({ name: "monthly", capacity: 1, refill: { tokens: 1, everyMs: month } });
    expect(callsOf(store).consume(monthly, "alice", 1)).toMatchObject({ allowed: true, resetMs: month });
    for (let i = 0; i < 6_000; i++) callsOf(store).consume(monthly, `other-${i}`, 1);
    clock.set(month - 1);
    for (let i = 0; i < 6_000; i++) callsOf(store).consume(monthly, `late-${i}`, 1);
    expect(callsOf(store).consume(monthly, "alice", 1)).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.set(month);
    expect(callsOf(store).consume(monthly, "alice", 1).allowed).toBe(true);
  });

  test("keeps no process alive: no timer, no handle", async () => {
    const program = `
      import { createLimiter, MemoryStore, perSecond } from "./src/index.ts";
      const limiter = createLimiter({ policy: { capacity: 1, refill: perSecond(1) }, store: new MemoryStore({ maxKeys: 2 }) });
      const told = ["a", "a", "b", "c", "d"].map((key) => limiter.consume(key).allowed);
      console.log(told.join(" "), process.getActiveResourcesInfo().filter((kind) => /Timeout|Immediate/.test(kind)).length);
    `;
    // Returns when the child has ended by itself; it would hang otherwise.
    const told = execFileSync(process.execPath, ["--input-type=module"], { encoding: "utf8", input: await bundledCode(program) });
    expect(told.trim()).toBe("true false true true true 0");
  });
});

describe("L13 · memory is bounded", () => {
  test("L13 · bounded: the cap is never passed, however many come", () => {
    for (const maxKeys of [1, 2, 7, 100, 5_001]) {
      const { store, clock, take } = storeOf(maxKeys);
      let most = 0;
      for (let i = 0; i < 2 * maxKeys + 50; i++) {
        if (i % 97 === 0) clock.advance(1);
        take(`key-${i}`, 10);
        if (i % 50 === 0 || i > 2 * maxKeys) most = Math.max(most, store.stats().buckets);
      }
      expect(most, `maxKeys ${maxKeys}`).toBeLessThanOrEqual(maxKeys);
      expect(store.stats().buckets).toBeGreaterThan(0.9 * Math.min(maxKeys, 5_000));
    }
  });

  test("L13 · bounded: the cap is of the whole store, over all limits of all policies", () => {
    expectWarnings("SLUICE_POLICY_NAMES");
    const { store } = storeOf(3);
    const both = definePolicy({ name: "both", limits: [{ capacity: 5, refill: perSecond(1) }, { capacity: 5, refill: perHour(1) }] });
    for (let i = 0; i < 10; i++) callsOf(store).consume(both, `key-${i}`, 1);
    for (let i = 0; i < 10; i++) callsOf(store).consume(policy, `key-${i}`, 1);
    expect(store.stats()).toEqual({ buckets: 3, evictedBusy: 27 });
    for (let i = 0; i < 5_000; i++) callsOf(store).consume(definePolicy({ name: `tenant-${i}`, capacity: 5, refill: perHour(1) }), "alice", 1);
    expect(store.stats()).toEqual({ buckets: 3, evictedBusy: 5_027 });
  });

  test("L13 · bounded: spraying under another policy locks no caller out and frees a debtor only with 255 later debts", () => {
    const slow = definePolicy({ name: "slow", capacity: 10, refill: perHour(1) });
    for (const others of [254, 255]) {
      const { store, take } = storeOf(256);
      take("debtor", 10);
      if (others === 254) take("cheap", 1);
      for (let i = 0; i < others; i++) callsOf(store).consume(slow, `sprayed-${i}`, 1);
      expect(callsOf(store).consume(slow, "one too many", 10).allowed).toBe(true);
      expect(take("debtor"), `${others} others`).toBe(others === 255 ? 9 : null);
    }
    const { store, take } = storeOf(256);
    callsOf(store).consume(slow, "debtor", 10);
    for (let i = 0; i < 10_000; i++) expect([take(`sprayed-${i}`, 10), take(`sprayed-${i}`)]).toEqual([0, null]);
    expect(callsOf(store).consume(slow, "debtor", 1).allowed).toBe(false);
  });

  test("L13 · bounded: idle buckets go first; no busy one goes while there is an idle one, among up to 256", () => {
    const { store, clock, take, left } = storeOf(256);
    for (let i = 0; i < 255; i++) take(`busy-${i}`, 10);
    for (let i = 0; i < 300; i++) {
      // 500 ms of one token each: the last spray is idle by now, and the only one that is.
      clock.advance(i === 0 ? 0 : 500);
      for (let j = 0; j < 255; j++) if (left(`busy-${j}`) === 9) take(`busy-${j}`, 9);
      take(`spray-${i}`, 1);
    }
    expect(store.stats().evictedBusy).toBe(0);
    for (let i = 0; i < 255; i++) expect(left(`busy-${i}`)).toBeLessThan(10);
  });

  test("L13 · bounded: when all are busy, the one soonest full goes, and each that goes is counted", () => {
    const { store, take, left } = storeOf(9);
    // Debts of 1 to 9, not in order.
    for (const debt of [5, 1, 8, 3, 9, 2, 7, 4, 6]) take(`owes-${debt}`, debt);
    for (let gone = 1; gone <= 9; gone++) {
      take(`new-${gone}`, 10);
      expect(store.stats()).toEqual({ buckets: 9, evictedBusy: gone });
      for (let debt = 1; debt <= 9; debt++) expect(left(`owes-${debt}`)).toBe(debt <= gone ? 10 : 10 - debt);
    }
  });

  test("L13 · bounded: no caller is locked out: each newcomer gets a bucket", () => {
    const { store, take } = storeOf(300);
    for (let i = 0; i < 300; i++) take(`debtor-${i}`, 10);
    for (let i = 0; i < 1_000; i++) {
      // Full at first, and still theirs at the next call.
      expect([take(`new-${i}`, 4), take(`new-${i}`, 4), take(`new-${i}`, 4)]).toEqual([6, 2, null]);
    }
    expect(store.stats()).toEqual({ buckets: 300, evictedBusy: 1_000 });
  });

  test("L13 · bounded: spraying cheap keys wipes out no debt while fewer than 255 others owe more", () => {
    const { store, take } = storeOf(2_000);
    take("attacker", 9);
    for (let i = 0; i < 200; i++) take(`owes-more-${i}`, 10);
    for (let i = 0; i < 15_000; i++) take(`spray-${i}`, 1);
    expect(take("attacker", 2)).toBeNull();
    expect(store.stats().evictedBusy).toBe(15_000 + 201 - 2_000);
  });

  test("L13 · bounded: other callers are looked at each time, so that no part of the table pays for the rest", () => {
    const { take, left } = storeOf(1_600);
    for (let i = 0; i < 400; i++) take(`owes-more-${i}`, 10);
    for (let i = 0; i < 10_000; i++) take(`spray-${i}`, 1);
    const forgotten = Array.from({ length: 400 }, (_, i) => left(`owes-more-${i}`)).filter((tokens) => tokens > 0);
    expect(forgotten).toEqual([]);
  });

  test("L13 · bounded: it takes just 255 others that each owe more, and not one fewer", () => {
    for (const others of [254, 255]) {
      const { take, left } = storeOf(256);
      take("attacker", 9);
      if (others === 254) take("cheap", 1);
      for (let i = 0; i < others; i++) take(`owes-more-${i}`, 10);
      take("one too many", 10);
      expect(left("attacker"), `${others} others`).toBe(others === 255 ? 10 : 1);
    }
  });

  test("L6 · records that a step back of the clock left behind crowd nobody out: they go first, and are counted", () => {
    const { store, clock, take } = storeOf(2);
    clock.set(10 * 31_557_600_000);
    take("ghost-1", 10);
    take("ghost-2", 10);
    clock.set(0);
    // Else the two would forever push each other out, each finding a full bucket every time.
    expect([take("alice", 10), take("bob", 10), take("alice", 1), take("bob", 1)]).toEqual([0, 0, null, null]);
    // They kept what was spent.
    expect(store.stats().evictedBusy).toBe(2);
  });

  test("L4 · forgetting the idle changes no answer, through growth and a small cap", () => {
    // A token a millisecond and six calls in each: most buckets are full again at the very next instant, and never 40 busy.
    const quick = definePolicy({ capacity: 3, refill: { tokens: 1, everyMs: 1 } });
    const [small, roomy] = [storeOf(40), storeOf(100_000)];
    for (let i = 0; i < 6_000; i++) {
      for (const { clock } of [small, roomy]) clock.set(Math.floor(i / 6));
      const [key, cost] = [`key-${(i * i) % 61}`, i % 3];
      expectSame(callsOf(small.store).consume(quick, key, cost), callsOf(roomy.store).consume(quick, key, cost));
    }
    expect(small.store.stats().evictedBusy).toBe(0);
  });
});

test("reset forgets all that is kept under a policy's name and a key, in any version of the policy, and nothing else", () => {
  const { store } = storeOf();
  const limitOf = (name: string) => ({ name, capacity: 5, refill: perHour(1) });
  const versionOf = (...limits: string[]) => definePolicy({ name: "api", limits: limits.map(limitOf) });
  const [both, burst, day] = [versionOf("burst", "day"), versionOf("burst"), versionOf("day")];
  const namesake = definePolicy({ name: "other", limits: [limitOf("burst"), limitOf("day")] });
  for (const key of ["alice", "bob"]) for (const each of [both, namesake]) callsOf(store).consume(each, key, 5);
  callsOf(store).reset(burst, "alice");
  expect([both, day, burst].map((each) => callsOf(store).peek(each, "alice", 1).remaining)).toEqual([5, 5, 5]);
  expect([callsOf(store).peek(both, "bob", 1).remaining, callsOf(store).peek(namesake, "alice", 1).remaining, store.stats().buckets]).toEqual([0, 0, 6]);
});

test("a key that spells a policy's name shares no bucket with another key", () => {
  const { store } = storeOf();
  const [a, b] = [definePolicy({ name: "a", capacity: 1, refill: perSecond(1) }), definePolicy({ name: "b", capacity: 1, refill: perSecond(1) })];
  const keys = ["a", "b", "a a", "b b"];
  for (const each of [a, b]) for (const key of keys) expect(callsOf(store).consume(each, key, 1).allowed).toBe(true);
  expect(store.stats().buckets).toBe(8);
});

test("a limiter over it answers at once, and from its own clock", () => {
  const clock = new ManualClock(5);
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
  expect(limiter.consume("alice")).toMatchObject({ allowed: true, remaining: 9 });
  clock.advance(500);
  expect(limiter.peek("alice").remaining).toBe(10);
});

test("charges together what one caller and another spend, each bucket named once", () => {
  const { store, left } = storeOf();
  const charge = (key: string, cost: number) => ({ policy, key, cost });
  expect(callsOf(store).together([charge("alice", 4), charge("bob", 11)]).map(({ reason }) => reason)).toEqual([null, "cost_above_capacity"]);
  expect([left("alice"), left("bob"), store.stats().buckets]).toEqual([10, 10, 0]);
  expect(callsOf(store).together([charge("alice", 4), charge("bob", 1)]).map(({ remaining }) => remaining)).toEqual([6, 9]);
  expect(() => callsOf(store).together([charge("alice", 1), charge("alice", 1)])).toThrow(
    new TypeError("Expected the parts to name each bucket once, got one twice. Add up their costs."),
  );
  expect(left("alice")).toBe(6);
  expect(callsOf(store).together([])).toEqual([]);
});

test("L10 · refused together, a limit of the largest capacity loses no token", () => {
  const { store } = storeOf();
  const [largest, empty] = [definePolicy({ name: "largest", capacity: Number.MAX_SAFE_INTEGER, refill: { tokens: 1, everyMs: 1 } }), definePolicy({ name: "empty", capacity: 1, refill: perHour(1) })];
  callsOf(store).consume(empty, "alice", 1);
  callsOf(store).together([{ policy: largest, key: "alice", cost: 1 }, { policy: empty, key: "alice", cost: 1 }]);
  expect(callsOf(store).peek(largest, "alice", 1).remaining).toBe(Number.MAX_SAFE_INTEGER);
});

test("L14 · refused together, a record in other numbers is settled all the same", () => {
  const { store, clock, left } = storeOf();
  const [slow, empty] = [definePolicy({ capacity: 10, refill: perHour(1) }), definePolicy({ name: "empty", capacity: 1, refill: perHour(1) })];
  callsOf(store).consume(slow, "alice", 10);
  callsOf(store).consume(empty, "alice", 1);
  callsOf(store).together([{ policy, key: "alice", cost: 1 }, { policy: empty, key: "alice", cost: 1 }]);
  // From here on at two a second.
  clock.advance(2_000);
  expect(left("alice")).toBe(4);
});

describe("the suite of every store", () => {
  storeSuite({
    test,
    factory: ({ clock, maxKeys = 10_000 }) => new MemoryStore({ maxKeys, ...(clock && { clock }) }),
    lacks: {
      close: "it opens nothing",
      sharing: "it is this process's own",
      serverClock: "it goes by this process's",
      unreachable: "it is in this process",
    },
  });
});
