import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  combine, createLimiter, createWaiter, daily, definePolicy, MemoryStore, monotonicClock, monthly, perMinute, StoreError, TokenBucket, weekly, type AsyncStore, type Decision, type Policy,
} from "sluice";
import { createGate, draft11, triple } from "sluice/http";
import { leased } from "sluice/lease";
import { guard, type Records } from "sluice/store";
import { consumeRecords } from "../helpers/records.js";
import { ManualClock } from "sluice/testing";
import { shareOf } from "../../src/guard/fallback.js";
import { createHeaderWriter } from "../../src/http/headers/writer.js";
import { readings } from "../../src/core/decision.js";
import { LaterVerbs } from "../helpers/store-of.js";

const NOON = Date.parse("2026-11-23T12:00Z");
const HOUR = 3_600_000;
const month = definePolicy({ name: "api", limits: [{ name: "requests", capacity: 60, refill: perMinute(60) }, { name: "month", capacity: 100, renews: monthly({ timeZone: "Europe/Berlin" }) }] });

afterEach(() => {
  vi.unstubAllEnvs();
});

/** A store over the records of the core. Its `clock` is the server's. */
class LaterStore extends LaterVerbs implements AsyncStore {
  readonly guard = guard({ breaker: { failures: 1 } });
  readonly kinds?: AsyncStore["kinds"];
  calls = 0;
  readonly #records: Records = new Map();
  constructor(
    readonly clock: () => number,
    kinds?: AsyncStore["kinds"],
    private readonly fault: () => Error | undefined = () => undefined,
  ) {
    super();
    this.kinds = kinds;
  }
  async consume(policy: Policy, _key: string, costs: number | readonly number[]): Promise<Decision> {
    this.calls++;
    const error = this.fault();
    if (error !== undefined) throw error;
    return consumeRecords(this.#records, policy, costs, this.clock()).decision;
  }
  adjust(): Promise<boolean> {
    return Promise.resolve(true);
  }
}

describe("L20 · a limiter with a quota", () => {
  test("L20 · 60 a minute and 100 a month: the right limit refuses, with the right wait", () => {
    const clock = new ManualClock(NOON);
    const limiter = createLimiter({ policy: month, store: new MemoryStore({ clock: clock.now }) });
    const granted = [0, 1].map((minute) => {
      clock.set(NOON + minute * 60_000);
      return Array.from({ length: 70 }, () => limiter.consume("ann")).filter(({ allowed }) => allowed).length;
    });
    expect(granted).toEqual([60, 40]);
    const refusal = limiter.consume("ann");
    expect(refusal).toMatchObject({ allowed: false, limit: "month", retryAfterMs: Date.parse("2026-12-01T00:00+01:00") - clock.now() });
    clock.advance(refusal.retryAfterMs - 1);
    expect(limiter.peek("ann").allowed).toBe(false);
    clock.advance(1);
    expect(limiter.consume("ann")).toMatchObject({ allowed: true, limits: [{ remaining: 59 }, { remaining: 99 }] });
  });

  test("L20 · what a settlement gives back goes to the period of its decision only, and an overrun to the current one", () => {
    const clock = new ManualClock(NOON);
    const limiter = createLimiter({ policy: { capacity: 100, renews: daily() }, store: new MemoryStore({ clock: clock.now }) });
    const left = () => limiter.peek("ann", 0).remaining;
    const [first, second, third] = [limiter.consume("ann", 40), limiter.consume("ann", 20), limiter.consume("ann", 10)];
    clock.advance(11 * HOUR);
    expect([limiter.settle("ann", first, 30), left()]).toEqual([true, 40]);
    clock.advance(2 * HOUR);
    expect([limiter.consume("ann", 50).remaining, limiter.refund("ann", second), left()]).toEqual([50, true, 50]);
    expect([limiter.settle("ann", third, 15), left()]).toEqual([true, 45]);
    limiter.credit("ann", 5);
    limiter.debit("ann", 10);
    expect(left()).toBe(40);
  });

  test("L20 · a store that it makes gets a clock of dates, also for a gate", () => {
    const limiter = createLimiter({ policy: month });
    expect(limiter.store.clock).toBe(Date.now);
    expect(createLimiter({ policy: { capacity: 1, refill: perMinute(1) } }).store.clock).toBe(monotonicClock);
    const { resetMs, at } = limiter.consume("ann");
    expect(readings(limiter.peek("ann"))[1]?.resetMs).toBeGreaterThan(0);
    expect(at + resetMs).toBeGreaterThan(Date.parse("2026-01-01"));
    expect(() => createGate({ policy: { capacity: 5, renews: daily() }, key: () => "ann" }, { method: () => "GET", header: () => undefined } as never)).not.toThrow();
  });

  test.each<[what: string, make: () => unknown, message: string]>([
    ["monotonicClock", () => createLimiter({ policy: month, store: new MemoryStore() }), 'Expected a clock of dates for the quota of policy "api", got monotonicClock. Pass `store: new MemoryStore({ clock: Date.now })`'],
    [
      "a store that names no kinds",
      () => createLimiter({ policy: month, store: new LaterStore(Date.now) }),
      'Expected a store with `kinds` that include "quota" for policy "api", got none. See the guide to stores, or use `refill`',
    ],
    [
      "a store of rates",
      () => createLimiter({ policy: month, store: new LaterStore(Date.now, ["rate"]) }),
      'Expected a store with `kinds` that include "quota" for policy "api", got others. See the guide to stores, or use `refill`',
    ],
    ["a bucket", () => new TokenBucket({ capacity: 5, renews: daily() } as never), "Expected `refill`, got `renews`. A TokenBucket is a rate; for a quota use createLimiter"],
  ])("L20 · refuses %s", (_what, make, message) => {
    expect(make).toThrow(new TypeError(message));
  });

  test("L20 · refuses a quota that a function returned at its first use: alone, in a combination and in a waiter", async () => {
    const limiter = createLimiter({ policy: { name: "api", capacity: 5, refill: perMinute(5) } });
    const quota = definePolicy({ name: "api", capacity: 5, renews: daily() });
    expect(() => limiter.consume("ann", { policy: quota })).toThrow("got monotonicClock");
    expect(() => limiter.peek("ann", { policy: quota })).toThrow("got monotonicClock");
    const [decision, options] = [limiter.peek("ann"), { policy: quota }];
    for (const verb of [() => limiter.debit("ann", { cost: 1, ...options }), () => limiter.credit("ann", { cost: 1, ...options }), () => limiter.settle("ann", decision, { cost: 0, ...options })]) {
      expect(verb).toThrow("got monotonicClock");
    }
    expect(() => combine({ a: limiter }).consume({ a: "ann" }, { policy: { a: quota } } as never)).toThrow("got monotonicClock");
    await expect(createWaiter(limiter).consume("ann", { policy: quota })).rejects.toThrow("got monotonicClock");
    expect(limiter.consume("ann").remaining).toBe(4);
  });

  test("L20 · refuses two limiters of one name on one store whose periods differ, and takes two copies of one", () => {
    const store = new MemoryStore({ clock: Date.now });
    const make = (timeZone: string) => createLimiter({ policy: { name: "api", capacity: 5, renews: daily({ timeZone }) }, store });
    make("Europe/Berlin");
    make("Europe/Berlin");
    expect(() => make("Europe/London")).toThrow(RangeError);
  });

  test("L20 · passes through leases, which take none of its tokens ahead", async () => {
    const store = new LaterStore(() => NOON, ["rate", "quota"]);
    const limiter = createLimiter({ policy: { capacity: 50, renews: daily() }, store: leased(store, { leaseMs: 100 }) });
    for (let i = 0; i < 20; i++) expect((await limiter.consume("ann")).remaining).toBe(49 - i);
    expect(store.calls).toBe(20);
    expect(() => createLimiter({ policy: month, store: leased(new LaterStore(Date.now), { leaseMs: 100 }) })).toThrow("got none");
  });

  test("L20 · ERR_STORE_CLOCK reaches the caller: neither the circuit breaker nor the local share hides it", async () => {
    const fault = new StoreError("ERR_STORE_CLOCK", "the clocks differ");
    const store = new LaterStore(() => NOON, ["rate", "quota"], () => fault);
    const limiter = createLimiter({ policy: { capacity: 5, renews: daily() }, store });
    for (let i = 0; i < 3; i++) await expect(limiter.consume("ann")).rejects.toBe(fault);
    expect(store.calls).toBe(3);
    await expect(combine({ a: limiter, b: createLimiter({ policy: { name: "b", capacity: 5, renews: daily() }, store }) }).consume({ a: "ann", b: "ann" })).rejects.toBe(fault);
  });

  test("L20 · in an outage the share of a quota is a rate: no process grants a second month", () => {
    const share = shareOf(month, 2, 1);
    expect(share.limits.map(({ capacity, refill }) => ({ capacity, refill }))).toEqual([
      { capacity: 30, refill: { tokens: 1, everyMs: 2_000 } },
      { capacity: 1, refill: { tokens: 1, everyMs: 53_568_000 } }, // 50 in 31 days
    ]);
    const large = shareOf(definePolicy({ name: "api", capacity: 1_000_000, renews: daily() }), 4, 1);
    expect(large.limits[0]).toMatchObject({ capacity: 7_812, refill: { tokens: 5, everyMs: 1_728 } }); // 250,000 a day
  });

  test("L20 · a waiter waits for the next period, and not while tokens are left", async () => {
    vi.useFakeTimers({ now: Date.parse("2026-11-23T23:59:59.900Z") });
    onTestFinished(() => void vi.useRealTimers());
    const limiter = createLimiter({ policy: { capacity: 3, renews: daily() }, store: new MemoryStore({ clock: Date.now }) });
    const waiting = createWaiter(limiter, { maxWaitMs: 60_000 });
    for (let i = 0; i < 3; i++) expect((await waiting.consume("ann")).allowed).toBe(true);
    const [next, never] = [waiting.consume("ann", 3), createWaiter(limiter, { maxWaitMs: 50 }).consume("ann")];
    expect(await never).toMatchObject({ allowed: false, retryAfterMs: 100 });
    await vi.advanceTimersByTimeAsync(100);
    expect(await next).toMatchObject({ allowed: true, remaining: 0, resetMs: 24 * HOUR });
  });
});

describe("13 · header fields of a quota", () => {
  test("26 · w is 86,400, 604,800 or 2,678,400; t and RateLimit-Reset are the seconds to its end", () => {
    const clock = new ManualClock(NOON);
    const policy = definePolicy({ name: "api", limits: [{ name: "requests", capacity: 60, refill: perMinute(60) }, { name: "day", capacity: 2, renews: daily({ timeZone: "Europe/Berlin" }) }] });
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
    const writer = createHeaderWriter([triple(), draft11()]);
    const fieldsOf = (decision: Decision): Record<string, string> => {
      const fields = writer.write(policy, decision);
      return Object.fromEntries(fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1] as string]] : [])));
    };
    const toEnd = 11 * 3_600;
    const first = fieldsOf(limiter.consume("ann"));
    expect(first["ratelimit-policy"]).toBe('"api:requests";q=60;w=60, "api:day";q=2;w=86400');
    expect(first["ratelimit"]).toContain(`"api:day";r=1;t=${toEnd}`);
    expect(first["ratelimit-reset"]).toBe(String(toEnd));
    limiter.consume("ann");
    const refused = fieldsOf(limiter.consume("ann"));
    expect([refused["ratelimit"], refused["ratelimit-reset"]]).toEqual([`"api:day";r=0;t=${toEnd}`, String(toEnd)]);
    expect([weekly(), monthly()].map((renews) => writer.write(definePolicy({ capacity: 1, renews }), limiter.peek("bob", 0))[7])).toEqual(['"default";q=1;w=604800', '"default";q=1;w=2678400']);
  });
});

test("L20 · a refund gives back in the first hour of a day of 27 hours", () => {
  const clock = new ManualClock(Date.parse("2012-02-21T13:00:05Z")); // the clock of Casey goes back by 3 hours
  const limiter = createLimiter({ policy: { name: "d", capacity: 10, renews: daily({ timeZone: "Antarctica/Casey" }) }, store: new MemoryStore({ clock: clock.now }) });
  const decision = limiter.consume("k", 8);
  expect([decision.resetMs, limiter.refund("k", decision), limiter.peek("k").remaining]).toEqual([27 * HOUR - 5_000, true, 10]);
});
