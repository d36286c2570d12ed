import { Redis } from "ioredis";
import { RedisStore } from "sluice/redis";
import { storeSuite } from "sluice/testing";
import { afterAll, describe, test } from "vitest";
import { describeWith, redisUrl } from "../helpers/services.js";

const lacks = { close: "the client is the caller's", bound: "a key expires when it is full, and the server's own memory bounds the rest" };
const stale = { freshDenials: "a refusal is answered from memory for up to `denyCacheMs`" };

describeWith("redis", "Redis", () => {
  const client = new Redis(redisUrl());
  // Nobody listens on port 1.
  const nowhere = new Redis({ port: 1, retryStrategy: null, enableOfflineQueue: false, lazyConnect: true });
  nowhere.on("error", () => undefined);
  afterAll(() => (client.disconnect(), nowhere.disconnect()));

  const switches = [
    { name: "as it comes", options: {}, lacks: { ...lacks, ...stale } },
    { name: "without batches", options: { batch: false }, lacks: { ...lacks, ...stale } },
    { name: "without the deny cache", options: { denyCacheMs: 0 }, lacks },
    { name: "without either", options: { batch: false, denyCacheMs: 0 }, lacks },
  ];
  describe.each(switches)("$name", ({ options, lacks: all }) => {
    storeSuite({
      test,
      factory: ({ clock, unreachable }) =>
        new RedisStore(unreachable ? nowhere : client, { ...options, prefix: "kit", ...(clock && { clock }) }),
      lacks: all,
    });
  });
});
