// The walk of src/README.md that needs Redis.
import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import type { createLimiter } from "sluice";
import type { RedisStore } from "sluice/redis";
import { expect, test } from "vitest";
import { describeWith, redisUrl } from "../../helpers/services.js";
import { stopsUnder, taken } from "../../tour/tour.js";
import { walked } from "../../tour/walk.js";

describeWith("redis", "the tour", () => {
  test("a decision in Redis", async () => {
    const sluice = await walked<{ createLimiter: typeof createLimiter; RedisStore: typeof RedisStore }>(
      "limiter/create-limiter.ts", "stores/redis/redis.ts",
    );
    const client = new Redis(redisUrl());
    const store = new sluice.RedisStore(client, { prefix: `tour-${randomUUID()}` });
    const limiter = sluice.createLimiter({ store, policy: { name: "api", refill: { tokens: 10, everyMs: 1_000 } } });
    await limiter.consume("40");
    const ran = sluice.walk();
    await Promise.all([limiter.consume("41"), limiter.consume("42")]);
    client.disconnect();
    const stops = stopsUnder("A decision in Redis");
    expect(taken(stops, ran)).toEqual(stops);
  });
});
