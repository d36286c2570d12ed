import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { RedisStore, type RedisClient, type RedisStoreOptions } from "sluice/redis";
import { storeSuite } from "sluice/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import { startRedis, type OwnRedis } from "../../helpers/own-redis.js";
import { onOneNode, type Connected } from "../../helpers/redis-clients.js";
import { lacks, suiteOver } from "../../helpers/redis-suite.js";
import { describeWith, redisUrl } from "../../helpers/services.js";
import { withoutLone } from "../../helpers/without-lone.js";
import { bytesInRedis } from "../../helpers/stored-bytes.js";
import { unshared } from "../../helpers/unshared.js";

const stale = { freshDenials: "a refusal is answered from memory for up to `denyCacheMs`" };

describeWith("redis", "Redis", () => {
  const client = new Redis(redisUrl());
  // Nobody listens on port 1.
  const nowhere = new Redis({ port: 1, retryStrategy: null, enableOfflineQueue: false, lazyConnect: true });
  nowhere.on("error", () => undefined);
  afterAll(() => (client.disconnect(), nowhere.disconnect()));

  const switches: ReadonlyArray<{ name: string; options: RedisStoreOptions; lacks: typeof lacks; over?: RedisClient; made?: typeof unshared<RedisStore> }> = [
    { name: "as it comes", options: {}, lacks: { ...lacks, ...stale } },
    { name: "where requests share no work", options: {}, lacks: { ...lacks, ...stale }, made: unshared },
    { name: "without the deny cache", options: { denyCacheMs: 0 }, lacks },
    { name: "without the script for lone decisions", options: { denyCacheMs: 0 }, lacks, over: withoutLone(client) },
  ];
  describe.each(switches)("$name", ({ options, lacks: all, over = client, made = (make) => make() }) => {
    storeSuite({
      test,
      factory: ({ clock, unreachable, empty, timeoutMs, breaker, sharedBy }) => {
        const prefix = empty ? `kit-${randomUUID()}` : "kit";
        const store = made(() => new RedisStore(unreachable ? nowhere : over, { ...options, prefix, clock, timeoutMs, breaker, sharedBy }));
        return { store, storedBytes: () => bytesInRedis(client, prefix) };
      },
      lacks: all,
    });
  });
});

describeWith("redis-server", "Redis, by way of", () => {
  let server: OwnRedis;
  beforeAll(async () => void (server = await startRedis()));
  afterAll(() => server.stop());

  describe.each(["ioredis 6", "node-redis 5", "node-redis 6", "iovalkey", "Upstash"])("%s", (name) => {
    suiteOver(name, () => (onOneNode[name] as (port: number) => Promise<Connected>)(server.port));
  });
});
