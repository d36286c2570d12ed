// Reservations over Redis, as it comes: by the server's clock.
import { Redis } from "ioredis";
import { RedisStore } from "sluice/redis";
import { afterAll, beforeAll } from "vitest";
import { removeKeys } from "../helpers/lanes.js";
import { reservesTogether } from "../helpers/reserving.js";
import { describeWith, redisUrl } from "../helpers/services.js";

const prefix = `reservations-${process.pid}-${Date.now()}`;

describeWith("redis", "reservations over Redis", () => {
  let client: Redis;
  beforeAll(() => void (client = new Redis(redisUrl())));
  afterAll(async () => {
    await removeKeys(client, prefix);
    client.disconnect();
  });
  reservesTogether((options) => new RedisStore(client, { prefix, ...options }));
});
