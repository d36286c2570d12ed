import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { RedisStore } from "sluice/redis";
import { ManualClock } from "sluice/testing";
import { afterAll } from "vitest";
import { describeWith, redisUrl } from "../../helpers/services.js";
import { testPriority } from "../../limiter/priority.js";

describeWith("redis", "Redis", () => {
  const client = new Redis(redisUrl());
  afterAll(() => client.disconnect());
  const clock = new ManualClock(Date.now());
  testPriority(() => new RedisStore(client, { prefix: `priority-${randomUUID()}`, clock: clock.now }), (ms) => clock.advance(ms));
});
