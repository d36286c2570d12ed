// Every client that the store is made for, on one node and on a cluster of three masters.
import { Redis } from "ioredis";
import { definePolicy, perHour, type Decision } from "sluice";
import { RedisStore, type RedisClient, type RedisStoreOptions } from "sluice/redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCluster, startRedis, type OwnCluster, type OwnRedis } from "../helpers/own-redis.js";
import { onCluster, onOneNode, type Connected } from "../helpers/redis-clients.js";
import { describeWith } from "../helpers/services.js";

const policy = definePolicy({ name: "tier", capacity: 40, refill: perHour(1) });
const allowed = (decisions: readonly Decision[]): number => decisions.filter((decision) => decision.allowed).length;

/** What every client must do, wherever it is connected to. */
async function works(client: RedisClient, options: RedisStoreOptions): Promise<void> {
  const store = new RedisStore(client, options);
  const keys = Array.from({ length: 20 }, (_, i) => `key {${i % 3}} ${i} 🦉`);
  const asked = await Promise.all(keys.flatMap((key) => Array.from({ length: 60 }, () => store.consume(policy, key, 1))));
  keys.forEach((_, i) => expect(allowed(asked.slice(i * 60, (i + 1) * 60))).toBe(40));
  const [key] = keys as [string];
  await store.refund(policy, key, 7);
  expect(await store.peek(policy, key, 7)).toMatchObject({ allowed: true, remaining: 7 });
  await store.reset(policy, key);
  expect(await store.consume(policy, key, 1)).toMatchObject({ allowed: true, remaining: 39 });
}

async function worksTogether(client: RedisClient, options: RedisStoreOptions): Promise<void> {
  const store = new RedisStore(client, options);
  const charges = ["ann", "bob", "eve"].map((key, i) => ({ policy, key, cost: i + 1 }));
  const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => store.consumeTogether!(i % 2 === 0 ? charges : charges.toReversed())));
  expect(answers.filter((decisions) => allowed(decisions) === 3)).toHaveLength(13);
  for (const { key, cost } of charges) expect((await store.peek(policy, key, 0)).remaining).toBe(40 - 13 * cost);
}

describeWith("redis-server", "Redis clients", () => {
  describe("on one node", () => {
    let server: OwnRedis;
    beforeAll(async () => void (server = await startRedis()));
    afterAll(() => server.stop());

    test.each(Object.keys(onOneNode))("%s", async (name) => {
      const { client, close } = await (onOneNode[name] as (port: number) => Promise<Connected>)(server.port);
      const admin = new Redis(server.port);
      await admin.script("FLUSH");
      await works(client, { prefix: name });
      await works(client, { prefix: `${name} plain`, batch: false, denyCacheMs: 0 });
      await worksTogether(client, { prefix: name });
      admin.disconnect();
      await close();
    });
  });

  describe("on a cluster", () => {
    let cluster: OwnCluster;
    beforeAll(async () => void (cluster = await startCluster()), 30_000);
    afterAll(() => cluster.stop());

    test.each(Object.keys(onCluster))("%s", async (name) => {
      const { client, close } = await (onCluster[name] as (ports: readonly number[]) => Promise<Connected>)(cluster.ports);
      await works(client, { prefix: name });
      for (const prefix of [name, "", "{}", "{", "}{"]) expect([prefix, new RedisStore(client, { prefix }).consumeTogether]).toEqual([prefix, undefined]);
      await worksTogether(client, { prefix: `{${name}}` });
      await close();
    });
  });
});
