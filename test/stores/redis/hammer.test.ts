// Four processes on one key, as the store comes and without the deny cache: not one token too many, not one lost.
import { Redis } from "ioredis";
import { definePolicy } from "sluice";
import { RedisStore } from "sluice/redis";
import { test } from "vitest";
import { hammer } from "../../helpers/hammer.js";
import { variants } from "../../helpers/load.js";
import { describeWith, redisUrl } from "../../helpers/services.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const LIMIT = { capacity: 50, refill: { tokens: 1_237, everyMs: 1_000 } };

describeWith("redis", "Redis under many hands", () => {
  test.each(variants)("L1 · bound: four processes get from one key what it has, in every window, and lose nothing; $name", async ({ name, options }) => {
    const prefix = `hammer-${process.pid}-${Date.now()}`;
    const client = new Redis(redisUrl());
    try {
      await hammer(`Redis, ${name}`, "test/stores/redis/hammer-child.ts", [redisUrl(), JSON.stringify({ ...options, prefix })], LIMIT);
    } finally {
      await callsOf(new RedisStore(client, { prefix })).reset(definePolicy({ name: "hammer", ...LIMIT }), "one");
      client.disconnect();
    }
  });
});
