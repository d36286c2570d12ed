// L6 · A process that is suspended, while the time of its Redis goes on: what it remembers of refusals.
import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { createLimiter, perMinute } from "sluice";
import { RedisStore } from "sluice/redis";
import { ManualClock } from "sluice/testing";
import { afterAll, expect, test } from "vitest";
import { describeWith, redisUrl } from "../../helpers/services.js";

describeWith("redis", "Redis", () => {
  const client = new Redis(redisUrl());
  afterAll(() => client.disconnect());

  test.each([1_000, 600_000])("L2, L6 · who waited as told is allowed, with `denyCacheMs: %i`", async (denyCacheMs) => {
    const clock = new ManualClock(1_700_000_000_000);
    const store = new RedisStore(client, { prefix: `suspended-${randomUUID()}`, denyCacheMs, timeoutMs: Infinity, clock });
    const limiter = createLimiter({ policy: { name: "api", capacity: 1, refill: perMinute(1) }, store });
    expect((await limiter.consume("ann")).allowed).toBe(true);
    const refused = await limiter.consume("ann");
    expect(refused).toMatchObject({ allowed: false, degraded: false, retryAfterMs: 60_000 });

    clock.suspend(30_000);
    expect(await limiter.consume("ann")).toMatchObject({ allowed: false, retryAfterMs: 30_000 });
    clock.suspend(30_000);
    expect([await limiter.consume("ann"), await limiter.consume("ann")]).toMatchObject([{ allowed: true, degraded: false }, { allowed: false }]);
  });
});
