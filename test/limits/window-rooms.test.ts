// What the other rooms make of a window: fields, shares, costs, copies, waiters, leases.
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { casStore } from "sluice/store";
import { leased } from "sluice/lease";
import { draft11, triple } from "sluice/http";
import {
  afterMs, combine, createLimiter, createWaiter, definePolicy, MemoryStore, perMinute, TokenBucket, whenDone, type Decision, type LimitOptions, type PolicyOptions,
} from "../../src/index.js";
import { limitsText } from "../../simulate/src/text.js";
import { shareOf } from "../../src/guard/fallback.js";
import { createHeaderWriter } from "../../src/http/headers/writer.js";
import { watchesClient } from "../../src/http/options/watches-client.js";
import { ManualClock } from "../../src/testing/index.js";
import { bareStore } from "../helpers/stores.js";

const policy = definePolicy({ name: "api", capacity: 100, returns: afterMs(60_000) });
const limiterAt = (clock: ManualClock, options: PolicyOptions = policy) => createLimiter({ policy: options, store: new MemoryStore({ clock: clock.now }) });

test("L22 · its fields state the window, the tokens left, and seconds until they are back", () => {
  const clock = new ManualClock(0);
  const limiter = limiterAt(clock);
  const writer = createHeaderWriter([triple(), draft11()]);
  const fieldsOf = (decision: Decision): Record<string, string> => {
    const list = writer.write(policy, decision);
    return Object.fromEntries(list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1] as string]] : [])));
  };
  const always = { "ratelimit-limit": "100", "ratelimit-policy": '"api";q=100;w=60' };
  limiter.consume("k", 40);
  clock.set(30_000);
  expect(fieldsOf(limiter.consume("k", 20))).toEqual({ ...always, "ratelimit-remaining": "40", "ratelimit-reset": "60", ratelimit: '"api";r=40;t=30' });
  const refused = limiter.consume("k", 50);
  expect([refused.retryAfterMs, refused.nextTokenMs, refused.resetMs]).toEqual([30_000, 30_000, 60_000]);
  expect(fieldsOf(refused)).toEqual({ ...always, "ratelimit-remaining": "40", "ratelimit-reset": "30", ratelimit: '"api";r=40;t=30' });
});

describe("L22 · it is no limit in flight", () => {
  test("L22 · a number is its cost, its readings have no `inFlight`, and a gate need not watch its client", () => {
    const limiter = limiterAt(new ManualClock(0), { name: "chat", limits: [
      { name: "requests", capacity: 3, returns: afterMs(60_000) },
      { name: "tokens", capacity: 1_000, returns: afterMs(60_000) },
      { name: "parallel", capacity: 2, returns: whenDone() },
    ] });
    const decision = limiter.consume("k", 2);
    expect(decision.limits?.map(({ limit, remaining, inFlight }) => [limit, remaining, inFlight])).toEqual([["requests", 1, undefined], ["tokens", 998, undefined], ["parallel", 1, true]]);
    expect(limiter.settle("k", decision, { cost: { requests: 1, tokens: 0 } })).toBe(true);
    expect(limiter.peek("k").limits?.map(({ remaining }) => remaining)).toEqual([2, 1_000, 2]);
    expect(() => limiter.debit("k", 5)).toThrow("write cost: { requests: 5, tokens: 5 }");
    expect(watchesClient({ policy: { capacity: 1, returns: afterMs(5) } })).toBe(false);
    expect(watchesClient({ policy: { capacity: 1, returns: whenDone() } })).toBe(true);
    expect(watchesClient({ policy: { limits: [{ capacity: 1, returns: afterMs(5) }, { capacity: 1, returns: whenDone() }] } })).toBe(true);
    expect(policy.inFlight).toBeUndefined();
  });

  test("L22 · a TokenBucket refuses it by name", () => {
    expect(() => new TokenBucket({ capacity: 1, returns: afterMs(5) } as never)).toThrow("A TokenBucket is a rate; for a window use createLimiter");
  });
});

test("L22 · the local share in an outage is a window with a share of the capacity", () => {
  expect(shareOf(policy, 4, 1).limits[0]).toMatchObject({ name: "api", capacity: 25, returns: { afterMs: 60_000 } });
  expect(shareOf(policy, 4, 60).limits[0].capacity).toBe(60);
});

describe("L22 · a window written as data", () => {
  test("L22 · becomes one again by `afterMs`, and an error says so", () => {
    const copy = JSON.parse(JSON.stringify(policy)) as { limits: LimitOptions[] };
    expect(copy).toEqual({ name: "api", limits: [{ name: "api", capacity: 100, returns: { afterMs: 60_000 } }] });
    const [limit] = copy.limits as [{ capacity: number; returns: never }];
    expect(definePolicy({ ...limit, returns: afterMs(limit.returns) }).limits[0].fullMs).toBe(policy.limits[0].fullMs);
    expect(() => definePolicy(limit)).toThrow("Expected `returns` to be made by afterMs(), got an object. For a copy write afterMs(limit.returns)");
    expect(limitsText(policy)).toBe("100 in any 60 s");
  });

  test.each([0, -1, 1.5, NaN, 31_622_400_001, "60000", undefined, {}])("L9 · afterMs(%s) is refused", (ms) => {
    expect(() => afterMs(ms as never)).toThrow(/^Expected `afterMs` to be /);
  });
});

describe("L22 · a store without windows", () => {
  test("L22 · is refused with the cure", () => {
    const store = bareStore(() => 0);
    expect(() => createLimiter({ policy, store })).toThrow('Expected a store with `kinds` that include "window" for policy "api", got none. See the guide to stores, or use `refill`');
  });

  test("L22 · a lease refuses it, and names the store that it wraps", () => {
    const inner = casStore({ read: () => Promise.resolve(null), write: () => Promise.resolve(true) });
    expect(() => createLimiter({ policy, store: leased(inner, { leaseMs: 100 }) })).toThrow('got others. See the guide to stores, or use `refill`. For a store made by `leased`, pass the store that it wraps');
    expect(createLimiter({ policy, store: inner }).policy).toBe(policy);
  });
});

test("L10 · a combination charges a window and a rate, or neither", () => {
  const store = new MemoryStore({ clock: () => 0 });
  const both = combine({
    user: createLimiter({ policy: { name: "user", capacity: 2, returns: afterMs(1_000) }, store }),
    all: createLimiter({ policy: { name: "all", refill: perMinute(60) }, store }),
  });
  expect([1, 2, 3].map(() => both.consume({ user: "a", all: "b" }).allowed)).toEqual([true, true, false]);
  expect(both.peek({ user: "c", all: "b" }).decisions.all?.remaining).toBe(58);
});

test("L22 · a waiter refuses at once who would come too late, and serves the others as tokens come back", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const limiter = createLimiter({ policy: { name: "w", capacity: 2, returns: afterMs(1_200) }, store: new MemoryStore() });
  const waiter = createWaiter(limiter, { maxWaitMs: 2_200 });
  const waiting = Promise.all(Array.from({ length: 7 }, () => waiter.consume("k")));
  await vi.advanceTimersByTimeAsync(1_300);
  const all = await waiting;
  // Two at once, two after 1.2 s, and none after 2.4 s.
  expect(all.map(({ allowed }) => allowed)).toEqual([true, true, true, true, false, false, false]);
});
