// rate-limiter-flexible and sluice on a real Redis, and what a switch does to callers.
import { Redis } from "ioredis";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { createLimiter } from "sluice";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { describeWith, redisUrl } from "../../../test/helpers/services.js";
import { createApp as createAfter } from "../moving/rate-limiter-flexible/after.js";
import { createApp as createBefore } from "../moving/rate-limiter-flexible/before.js";
import { limitFields, start, stopTime } from "./moving.js";

describeWith("redis", "rate-limiter-flexible on Redis", () => {
  const redis = new Redis(redisUrl());
  const prefix = `moving-${process.pid}`;
  const keys = (): Promise<string[]> => redis.keys(`${prefix}*`);
  afterEach(async () => void (await redis.del("none", ...(await keys()))));
  afterAll(() => redis.quit());

  const before = () => start("express", createBefore(redis, prefix));
  const after = () => start("express", createAfter(redis, prefix));

  test("before: 100 requests, then its refusal", async () => {
    const app = await before();
    const { served, last } = await app.send(101);
    expect(served).toBe(100);
    expect([last.status, last.headers["content-type"], last.body]).toEqual([429, "text/html; charset=utf-8", "Too Many Requests"]);
    expect(Object.keys(limitFields(last.headers))).toEqual(["retry-after"]);
    expect(Number(last.headers["retry-after"])).toBeGreaterThan(800);
    expect(await app.get("/", "127.0.0.2")).toMatchObject({ status: 200 });
    expect((await keys()).sort()).toEqual([`${prefix}:127.0.0.1`, `${prefix}:127.0.0.2`]);
  });

  test("after: 100 requests, then a problem document", async () => {
    const app = await after();
    const { served, last } = await app.send(101);
    expect(served).toBe(100);
    expect([last.status, last.headers["content-type"]]).toEqual([429, "application/problem+json"]);
    expect(limitFields(last.headers)).toMatchObject({ "ratelimit-limit": "100", "ratelimit-remaining": "0", "ratelimit-policy": '"api";q=100;w=900' });
    const wait = Number(last.headers["retry-after"]);
    expect(wait).toBeGreaterThanOrEqual(1);
    expect(wait).toBeLessThanOrEqual(9);
    expect(await app.get("/", "127.0.0.2")).toMatchObject({ status: 200 });
    expect((await keys()).every((key) => key.startsWith(`${prefix}:`))).toBe(true);
  });

  test("a switch reads no old key: a caller that was refused has a full bucket", async () => {
    expect(await (await before()).send(101)).toMatchObject({ served: 100 });
    expect(await (await after()).send(101)).toMatchObject({ served: 100 });
    // Both ways: the old keys are left as they were.
    expect(await (await before()).get()).toMatchObject({ status: 429 });
  });
});

/** How many of `count` calls a limiter of rate-limiter-flexible grants. */
async function granted(limiter: RateLimiterMemory, count: number, points = 1): Promise<number> {
  let all = 0;
  for (let i = 0; i < count; i++) await limiter.consume("ann", points).then(() => all++, () => 0);
  return all;
}

test("the edge of a window: rate-limiter-flexible grants 200 in 100 ms, sluice 100", async () => {
  stopTime();
  const old = new RateLimiterMemory({ points: 100, duration: 900 });
  const limiter = createLimiter({ policy: { name: "api", capacity: 100, refill: { tokens: 100, everyMs: 900_000 } } });
  const allowed = (count: number) => Array.from({ length: count }, () => limiter.consume("ann")).filter((decision) => decision.allowed).length;
  expect([await granted(old, 1), allowed(1)]).toEqual([1, 1]);
  vi.advanceTimersByTime(899_900);
  expect([await granted(old, 100), allowed(100)]).toEqual([99, 100]);
  vi.advanceTimersByTime(100);
  expect([await granted(old, 100), allowed(100)]).toEqual([100, 0]);
});

test("a refusal counts in rate-limiter-flexible, and takes nothing in sluice", async () => {
  stopTime();
  const old = new RateLimiterMemory({ points: 10, duration: 60 });
  const limiter = createLimiter({ policy: { capacity: 10, refill: { tokens: 10, everyMs: 60_000 } } });
  await granted(old, 1, 3);
  limiter.consume("ann", 3);
  expect([await granted(old, 1, 9), limiter.consume("ann", 9).allowed]).toEqual([0, false]);
  expect([await granted(old, 1, 7), limiter.consume("ann", 7).allowed]).toEqual([0, true]);
});
