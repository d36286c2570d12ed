// What `adaptive` returns, without HTTP.
import { combine, createLimiter, createObserver, createWaiter, definePolicy, granted, perSecond, run, unlimited, type LimiterEvent } from "sluice";
import { adaptive, type AdaptiveOptions } from "sluice/adaptive";
import { createGate, trackWork } from "sluice/http";
import { RedisStore } from "sluice/redis";
import { ManualClock } from "sluice/testing";
import { expect, test, vi } from "vitest";
import { LoadLimit } from "../../src/adaptive/load.js";

const KEY = "service";
const made = (options: AdaptiveOptions = {}) => adaptive({ least: 1, most: 10, clock: new ManualClock().now, random: () => 0.5, ...options });

test("takes a place for each request, up to the number", () => {
  const load = made();
  expect([load.number, load.inFlight]).toEqual([10, 0]);
  const all = Array.from({ length: 10 }, () => granted(load.limiter.consume(KEY)));
  expect(load.inFlight).toBe(10);
  expect(load.limiter.consume(KEY)).toMatchObject({ allowed: false, reason: "limited", policy: "service", capacity: 10, retryAfterMs: 2_500 });
  expect(load.limiter.settle(KEY, all[0] as (typeof all)[0], 0)).toBe(true);
  expect(load.inFlight).toBe(9);
  expect(load.limiter.consume(KEY).allowed).toBe(true);
});

test("a key for each caller charges the one number", () => {
  const load = made({ most: 2 });
  const [ann] = ["ann", "bob"].map((key) => granted(load.limiter.consume(key)));
  expect([load.limiter.consume("cid").allowed, load.inFlight]).toEqual([false, 2]);
  expect(load.limiter.settle("ann", ann as NonNullable<typeof ann>, 0)).toBe(true);
  expect([load.limiter.peek("dan").remaining, load.inFlight]).toEqual([1, 1]);
});

test("begins with 20, or what is allowed", () => {
  const first = (least: number, most: number): number => adaptive({ least, most }).number;
  expect([first(1, 500), first(1, 3), first(40, 500)]).toEqual([20, 3, 40]);
  expect(adaptive().number).toBe(20);
  expect(adaptive({ least: 100_000, most: 100_000 }).inFlight).toBe(0);
});

test("batch at full load leaves 30 %, and what matters takes all", () => {
  const { limiter, policyFor } = made();
  const taken = (share: number): number => {
    let count = 0;
    while (limiter.consume(KEY, { policy: policyFor(share) }).allowed) count += 1;
    return count;
  };
  expect([taken(0.7), taken(1), taken(0.7)]).toEqual([7, 3, 0]);
});

test("the time of batch work says how full its own places were", async () => {
  const sample = vi.spyOn(LoadLimit.prototype, "sample");
  const { limiter, policyFor } = made();
  const policy = (request: { share: number }) => policyFor(request.share);
  const gate = createGate<{ share: number }>({ limiter, key: () => KEY, policy }, { method: () => "GET", header: () => null });
  for (const share of [0.75, 1]) {
    const passed = await gate({ share });
    if (passed.outcome === "pass") await trackWork(passed)({ status: 200, aborted: false });
  }
  expect(sample.mock.calls).toEqual([[0, 0, { inFlight: 1, order: 1 }, false, 0.7], [0, 0, { inFlight: 1, order: 2 }, false, 1]]);
  sample.mockRestore();
});

test("a share is at least one request, and a policy that is kept follows the number", () => {
  const { limiter, policyFor } = made({ most: 1 });
  const kept = policyFor(0.01);
  expect(policyFor(0.01)).toBe(kept);
  expect(limiter.consume(KEY, { policy: kept })).toMatchObject({ allowed: true, capacity: 1 });
});

test("many shares are many policies of one bucket", () => {
  const { limiter, policyFor } = made();
  const kept = policyFor(0.5);
  for (let i = 1; i <= 1_100; i++) policyFor(i / 1_100);
  expect(limiter.consume(KEY, { policy: kept })).toMatchObject({ allowed: true, capacity: 5 });
  expect(limiter.consume(KEY, { policy: policyFor(0.5) }).remaining).toBe(3);
});

test("Retry-After is spread from 1 to 4 seconds", () => {
  const waitsOf = (random: number): number => {
    const { limiter } = made({ most: 1, random: () => random });
    limiter.consume(KEY);
    return limiter.consume(KEY).retryAfterMs;
  };
  expect([waitsOf(0), waitsOf(0.5), waitsOf(0.999_999)]).toEqual([1_000, 2_500, 3_999]);
  for (const wrong of [1, -1, 50, NaN, Infinity, "x" as never]) {
    const waitMs = waitsOf(wrong);
    expect(waitMs >= 1_000 && waitMs < 4_000 && Number.isInteger(waitMs), String(wrong)).toBe(true);
  }
});

test("a cost above the number of now may fit later. One above `most` never does", () => {
  const { limiter } = made({ most: 500 });
  expect(limiter.consume(KEY, 30)).toMatchObject({ allowed: false, reason: "limited", cost: 30, capacity: 20, retryAfterMs: 2_500 });
  expect(limiter.consume(KEY, 501)).toMatchObject({ allowed: false, reason: "cost_above_capacity" });
});

test("a block lasts as long as it says", () => {
  const { limiter } = made();
  limiter.block(KEY, 60_000);
  expect(limiter.consume(KEY)).toMatchObject({ allowed: false, blocked: true, retryAfterMs: 60_000 });
});

test("`run` takes a place while its work lasts", async () => {
  const load = made();
  const seen = await run(load.limiter, KEY, () => load.inFlight);
  expect([seen, load.inFlight]).toEqual([1, 0]);
});

test("observers count it apart", () => {
  const events: LimiterEvent[] = [];
  const { limiter } = made({ most: 1, observe: createObserver((event) => void events.push(event)) });
  limiter.consume(KEY);
  limiter.consume(KEY);
  expect(events).toMatchObject([
    { policy: "service", outcome: "allowed", reason: null, limiter },
    { policy: "service", outcome: "overloaded", reason: "limited", limiter },
  ]);
});

test("`unlimited` takes nothing, and `peek` looks", () => {
  const load = made();
  expect(load.limiter.consume(KEY, { policy: unlimited }).allowed).toBe(true);
  expect([load.limiter.peek(KEY).remaining, load.limiter.peek(KEY, { policy: load.policyFor(0.5) }).remaining, load.inFlight]).toEqual([10, 5, 0]);
});

const per = { name: "api", refill: perSecond(5) };
const wrong: [what: string, make: () => unknown, message: RegExp][] = [
  ["a shared store", () => adaptive({ store: new RedisStore(() => Promise.resolve(null)) } as never), /^Expected no `store`, because the number is what this process can do/],
  ["no object", () => adaptive(null as never), /^Expected `options` to be an object, got null$/],
  ["an unknown option", () => adaptive({ max: 5 } as never), /^Unknown option `max`/],
  ["a least of 0", () => made({ least: 0 }), /^Expected `least` to be a positive integer, got 0/],
  ["a fraction", () => made({ most: 2.5 }), /^Expected `most` to be a positive integer, got 2\.5/],
  ["a most without end", () => made({ most: 1_000_000 }), /^Expected `most` to be at most 100000, got 1000000$/],
  ["a least above the most", () => made({ least: 20 }), /^Expected `least` to be at most `most`, 10, got 20$/],
  ["a wrong name", () => made({ name: "my service" }), /^Expected `name`/],
  ["a wrong clock", () => made({ clock: 5 as never }), /^Expected `clock` to be a function/],
  ["a wrong random", () => made({ random: 0.5 as never }), /^Expected `random` to be a function that returns a number, got 0\.5$/],
  ["a share of 0", () => made().policyFor(0), /^Expected `share` to be above 0 and at most 1, got 0$/],
  ["a percentage", () => made().policyFor(70), /^Expected `share` to be above 0 and at most 1, got 70\. For 70 % write 0\.7$/],
  ["a share that is no number", () => made().policyFor(NaN), /got NaN$/],
  ["another policy", () => made().limiter.consume(KEY, { policy: definePolicy(per) }), /^Expected `policy` to be made by `policyFor`, got an object\. Write `load\.policyFor\(1\)`$/],
  ["a block of one caller", () => made().limiter.block("ann", 1_000), /^Expected `key` to be "service", which all callers share, got "ann"$/],
  ["no key", () => made().limiter.consume(null as never), /^Expected `key`/],
  ["a combination", () => combine({ user: createLimiter({ policy: per }), service: made().limiter }), /got "service" of `adaptive`: it measures the answers of its own gate\. Mount it in a gate of its own/],
  ["a waiter", () => createWaiter(made().limiter), /^Expected a limiter that can be combined or waited for, got "service"/],
  ["null as the cost", () => made().limiter.consume(KEY, null as never), /^Expected `cost`/],
];
test.each(wrong)("%s is refused in one line", (_, make, message) => {
  expect(make).toThrow(message);
  expect(make).toThrow(/^[^\n]*$/);
});
