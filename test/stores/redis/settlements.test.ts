// Settlements over Redis, as it comes: by the server's clock.
import { Redis } from "ioredis";
import { definePolicy } from "sluice";
import { RedisStore } from "sluice/redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { removeKeys } from "../../helpers/lanes.js";
import { settlesTogether } from "../../helpers/settling.js";
import { describeWith, redisUrl } from "../../helpers/services.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const prefix = `settlements-${process.pid}-${Date.now()}`;

describeWith("redis", "settlements over Redis", () => {
  let client: Redis;
  beforeAll(() => void (client = new Redis(redisUrl())));
  afterAll(async () => {
    await removeKeys(client, prefix);
    client.disconnect();
  });
  settlesTogether((options) => new RedisStore(client, { prefix, ...options }));

  test("L4 · by the server's clock a debt does not expire before it has come back", async () => {
    const day = 86_400_000;
    const policy = definePolicy({ name: "llm", capacity: 10, refill: { tokens: 1, everyMs: day } });
    const store = new RedisStore(client, { prefix });
    await callsOf(store).consume(policy, "ann", 4);
    await callsOf(store).adjust(policy, "ann", 9);
    expect(await client.pttl(`${prefix}:llm ann`)).toBeGreaterThan(13 * day - 60_000);
    await callsOf(store).adjust(policy, "ann", 100);
    expect(await client.pttl(`${prefix}:llm ann`)).toBeGreaterThan(113 * day - 60_000);
  });
});
