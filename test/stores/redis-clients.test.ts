// Every client that the store is made for, on one node and on a cluster of three masters, with a slot that moves under load.
import * as ioredis from "ioredis";
import * as iovalkey from "iovalkey";
import { createClient, createClientPool, createCluster } from "redis";
import { definePolicy, perHour, type Decision } from "sluice";
import { RedisStore, type RedisClient, type RedisStoreOptions } from "sluice/redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { slotOf } from "../../src/stores/redis-slot.js";
import { describeWith, startCluster, startRedis, type OwnCluster, type OwnRedis } from "../helpers/services.js";

interface Connected {
  readonly client: RedisClient;
  close(): unknown;
}

const policy = definePolicy({ name: "tier", capacity: 40, refill: perHour(1) });
const quiet = (): undefined => undefined;

const onOneNode: Record<string, (port: number) => Promise<Connected>> = {
  async ioredis(port) {
    const client = new ioredis.Redis(port);
    return { client, close: () => client.disconnect() };
  },
  async "ioredis with strings for numbers"(port) {
    const client = new ioredis.Redis(port, { stringNumbers: true, keyPrefix: "app:", enableAutoPipelining: true });
    return { client, close: () => client.disconnect() };
  },
  async iovalkey(port) {
    const client = new iovalkey.Redis(port);
    return { client, close: () => client.disconnect() };
  },
  async "node-redis"(port) {
    const client = createClient({ url: `redis://127.0.0.1:${port}` }).on("error", quiet);
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  async "node-redis in RESP 3"(port) {
    const client = createClient({ url: `redis://127.0.0.1:${port}`, RESP: 3 }).on("error", quiet);
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  async "a pool of node-redis"(port) {
    const client = createClientPool({ url: `redis://127.0.0.1:${port}` }).on("error", quiet);
    await client.connect();
    return { client, close: () => client.destroy() };
  },
};

const onCluster: Record<string, (ports: readonly number[]) => Promise<Connected>> = {
  async ioredis(ports) {
    const client = new ioredis.Cluster(ports.map((port) => ({ host: "127.0.0.1", port })));
    return { client, close: () => client.disconnect() };
  },
  async "ioredis with a prefix of its own"(ports) {
    const client = new ioredis.Cluster([...ports], { redisOptions: { keyPrefix: "app:" } });
    return { client, close: () => client.disconnect() };
  },
  async iovalkey(ports) {
    const client = new iovalkey.Cluster(ports.map((port) => ({ host: "127.0.0.1", port })));
    return { client, close: () => client.disconnect() };
  },
  async "node-redis"(ports) {
    const client = createCluster({ rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })) }).on("error", quiet);
    await client.connect();
    return { client, close: () => client.destroy() };
  },
};

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
  const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => store.consumeTogether(i % 2 === 0 ? charges : charges.toReversed())));
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
      const admin = new ioredis.Redis(server.port);
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
      const store = new RedisStore(client, { prefix: name });
      const apart = [{ policy, key: "ann", cost: 1 }, { policy, key: "bob", cost: 1 }];
      await expect(store.consumeTogether(apart)).rejects.toMatchObject({ name: "StoreError", code: "ERR_STORE_CROSS_SLOT" });
      expect((await store.peek(policy, "ann", 0)).remaining).toBe(40);
      await worksTogether(client, { prefix: `{${name}}` });
      await close();
    });

    test("a slot moves to and fro under load: every token is granted once, and nothing hangs", async () => {
      const wide = definePolicy({ name: "tier", capacity: 3_000, refill: perHour(1) });
      const keys = ["ann", "bob", "eve"];
      const slot = slotOf("{move}");
      const names = Object.keys(onCluster).filter((name) => !name.includes("prefix"));
      const all = await Promise.all(names.map((name) => (onCluster[name] as (ports: readonly number[]) => Promise<Connected>)(cluster.ports)));
      const outcomes = { granted: 0, unknown: new Map<string, number>() };
      let moves = 0;
      let over = false;
      const mover = move(cluster.ports, slot, () => over).then((count) => (moves = count));
      await Promise.all(
        all.flatMap(({ client }) => {
          const store = new RedisStore(client, { prefix: "{move}", denyCacheMs: 0 });
          return Array.from({ length: 12 }, async (_, i) => {
            // Each caller goes on until its key is empty.
            for (let granted = true; granted; ) {
              try {
                granted = (await store.consume(wide, keys[i % keys.length] as string, 1)).allowed;
                if (granted) outcomes.granted += 1;
              } catch (error) {
                const { message } = error as Error;
                outcomes.unknown.set(message, (outcomes.unknown.get(message) ?? 0) + 1);
              }
            }
          });
        }),
      );
      over = true;
      await mover;
      const unknown = [...outcomes.unknown.values()].reduce((a, b) => a + b, 0);
      console.log(`Redis Cluster: ${outcomes.granted} granted, ${unknown} unknown while the slot moved ${moves} times`, outcomes.unknown);
      expect(moves).toBeGreaterThan(1);
      expect(outcomes.granted).toBeLessThanOrEqual(9_000);
      expect(outcomes.granted + unknown).toBeGreaterThanOrEqual(9_000);
      expect(unknown).toBeLessThan(90);
      for (const { close } of all) await close();
    }, 30_000);
  });
});

/** Moves a slot around the cluster until told to stop, the way that `redis-cli --cluster reshard` does. Resolves with the number of moves. */
async function move(ports: readonly number[], slot: number, over: () => boolean): Promise<number> {
  const nodes = await Promise.all(
    ports.map(async (port) => {
      const client = new ioredis.Redis(port);
      return { client, port, id: String(await client.cluster("MYID")) };
    }),
  );
  const owns = await Promise.all(nodes.map(({ client }) => client.cluster("COUNTKEYSINSLOT", slot).then(() => client.set("{move}", "x", "PX", 1)).then(() => true, () => false)));
  let from = owns.indexOf(true);
  let moves = 0;
  for (; !over(); moves++) {
    const to = (from + 1) % nodes.length;
    const [source, target] = [nodes[from], nodes[to]] as [(typeof nodes)[number], (typeof nodes)[number]];
    await target.client.cluster("SETSLOT", slot, "IMPORTING", source.id);
    await source.client.cluster("SETSLOT", slot, "MIGRATING", target.id);
    for (;;) {
      // One at a time and not in haste, so that calls find keys on both sides.
      const [key] = (await source.client.cluster("GETKEYSINSLOT", slot, 1)) as string[];
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (key === undefined) break;
      await source.client.migrate("127.0.0.1", target.port, key, 0, 5_000);
    }
    for (const { client } of [target, source, ...nodes]) await client.cluster("SETSLOT", slot, "NODE", target.id);
    from = to;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  for (const { client } of nodes) client.disconnect();
  return moves;
}
