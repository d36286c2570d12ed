// L8: a sample of the states of `npm run search`, in Lua. A long run takes more: SLUICE_HISTORIES=40 draws 100,000.
import { Redis } from "ioredis";
import { RedisStore } from "sluice/redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { histories } from "../../helpers/histories.js";
import { removeKeys } from "../../helpers/lanes.js";
import { compareStates } from "../../helpers/searched-states.js";
import { describeWith, redisUrl } from "../../helpers/services.js";

const prefix = `states-${process.pid}-${Date.now()}`;

describeWith("redis", "L8 · the states of the searches, in Lua", () => {
  let client: Redis;
  beforeAll(() => void (client = new Redis(redisUrl())));
  afterAll(async () => {
    await removeKeys(client, prefix);
    client.disconnect();
  });

  test("L8 · are the same to the last bit", async () => {
    const { states, calls } = await compareStates((clock) => new RedisStore(client, { prefix, clock, denyCacheMs: 0, timeoutMs: 10_000 }), histories(2_500), Number(process.env["FC_SEED"]));
    console.log(`Redis: ${states} states by ${calls} calls`);
    expect(states).toBeGreaterThan(2_400);
  });
});
