// A lone call goes straight to its node: under every kind of key prefix it finds the same buckets as a batch, and a node that no longer has the slot costs one call more.
import { Cluster } from "ioredis";
import { Cluster as Cluster6 } from "ioredis6";
import { Cluster as ValkeyCluster } from "iovalkey";
import { createCluster } from "redis";
import { createCluster as createCluster6 } from "redis6";
import { definePolicy, perHour } from "sluice";
import { RedisStore } from "sluice/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { slotOf } from "../../../../src/stores/redis/slot.js";
import { startCluster, type OwnCluster } from "../../../helpers/own-redis.js";
import { describeWith } from "../../../helpers/services.js";
import { callsOf } from "../../../../src/testing/store-calls.js";

const policy = definePolicy({ name: "tier", capacity: 6, refill: perHour(1) });
const KEYS = Array.from({ length: 12 }, (_, i) => `key ${i}`);
let names = 0;

describeWith("redis-server", "a lone call on a cluster", () => {
  let cluster: OwnCluster;
  let nodes: Redis[];
  beforeAll(async () => {
    cluster = await startCluster();
    nodes = cluster.ports.map((port) => new Redis(port));
  }, 30_000);
  afterAll(async () => {
    for (const node of nodes) node.disconnect();
    await cluster.stop();
  });

  const connect = async (make: typeof Cluster, options: ConstructorParameters<typeof Cluster>[1] = {}): Promise<Cluster> => {
    const client = new make([...cluster.ports], options);
    onTestFinished(() => client.disconnect());
    await client.ping();
    return client;
  };
  const keysWith = async (part: string): Promise<string[]> => (await Promise.all(nodes.map((node) => node.keys(`*${part}*`)))).flat();

  describe.each([["ioredis 5", Cluster], ["ioredis 6", Cluster6 as unknown as typeof Cluster], ["iovalkey", ValkeyCluster as unknown as typeof Cluster]] as const)("%s", (_, make) => {
    test.each([
      { where: "nowhere", options: {}, before: "" },
      { where: "on the cluster", options: { keyPrefix: "a:" }, before: "a:" },
      { where: "on its nodes", options: { redisOptions: { keyPrefix: "a:" } }, before: "a:" },
      { where: "on both", options: { keyPrefix: "a:", redisOptions: { keyPrefix: "a:" } }, before: "a:" },
      { where: "on both, and they differ", options: { keyPrefix: "a:", redisOptions: { keyPrefix: "b:" } }, before: "a:" },
      { where: "as bytes", options: { redisOptions: { keyPrefix: Buffer.from("a:") as unknown as string } }, before: "a:" },
    ])("finds the buckets of batches with a key prefix $where", async ({ options, before }) => {
      const prefix = `lone-${++names}`;
      const store = new RedisStore(await connect(make, options), { prefix, denyCacheMs: 0 });
      const granted = new Map(KEYS.map((key) => [key, 0]));
      const ask = async (key: string): Promise<void> => {
        const { allowed } = await callsOf(store).consume(policy, key, 1);
        if (allowed) granted.set(key, (granted.get(key) as number) + 1);
      };
      for (let round = 0; round < 5; round++) {
        for (const key of KEYS) await ask(key); // alone
        await Promise.all(KEYS.map(ask)); // together
      }
      expect([...granted.values()]).toEqual(KEYS.map(() => 6));
      const kept = await keysWith(prefix);
      expect(kept.toSorted()).toEqual(KEYS.map((key) => `${before}${prefix}:tier ${key}`).toSorted());
    });

    test("a key prefix of bytes that are no text is refused, because it would name other buckets in a batch", async () => {
      const client = await connect(make, { keyPrefix: Buffer.from([0xff, 0x3a]) as unknown as string });
      expect(() => new RedisStore(client)).toThrow(
        new TypeError('Expected the client\'s `keyPrefix` to be text, got bytes that are no UTF-8. Write keyPrefix: "app:"'),
      );
    });

    test("does not pass through the cluster's client, and is one call", async () => {
      const client = await connect(make);
      const store = new RedisStore(client, { prefix: `lone-${++names}`, denyCacheMs: 0 });
      for (const key of KEYS) await callsOf(store).consume(policy, key, 1); // the client connects to each node
      const through = vi.spyOn(client, "evalsha");
      await Promise.all(nodes.map((node) => node.config("RESETSTAT")));
      for (const key of KEYS) expect((await callsOf(store).consume(policy, key, 1)).allowed).toBe(true);
      const infos = await Promise.all(nodes.map((node) => node.info("commandstats")));
      expect(infos.reduce((sum, info) => sum + Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0), 0)).toBe(KEYS.length);
      expect(through).not.toHaveBeenCalled();
    });

    test("follows a slot that its node does not have, exactly", async () => {
      const client = await connect(make);
      const prefix = `lone-${++names}`;
      const store = new RedisStore(client, { prefix, denyCacheMs: 0 });
      let granted = 0;
      for (let i = 0; i < 10; i++) {
        // The client's map is old: it names the next node for this slot.
        const slots = (client as unknown as { slots: string[][] }).slots;
        const slot = slotOf(`${prefix}:tier ann`);
        const [right] = slots[slot] as [string];
        const at = cluster.ports.findIndex((port) => right.endsWith(`:${port}`));
        slots[slot] = [right.replace(/\d+$/, String(cluster.ports[(at + 1) % 3]))];
        if ((await callsOf(store).consume(policy, "ann", 1)).allowed) granted += 1;
        expect((client as unknown as { slots: string[][] }).slots[slot]?.[0]).toBe(right); // the client has learned
      }
      expect(granted).toBe(6);
    });
  });

  describe.each([["node-redis 5", createCluster], ["node-redis 6", createCluster6 as unknown as typeof createCluster]] as const)("%s", (_, create) => {
    const connectNodeRedis = async () => {
      const client = create({ rootNodes: cluster.ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })) });
      await client.connect();
      onTestFinished(() => client.destroy());
      return client;
    };

    test("does not pass through the cluster's client", async () => {
      const client = await connectNodeRedis();
      const store = new RedisStore(client, { prefix: `lone-${++names}`, denyCacheMs: 0 });
      for (const key of KEYS) await callsOf(store).consume(policy, key, 1); // the client connects to each node
      const through = vi.spyOn(client, "evalSha");
      for (const key of KEYS) expect((await callsOf(store).consume(policy, key, 1)).allowed).toBe(true);
      expect(through).not.toHaveBeenCalled();
    });

    test("follows a slot that its node does not have, exactly", async () => {
      const client = await connectNodeRedis();
      const prefix = `lone-${++names}`;
      const store = new RedisStore(client, { prefix, denyCacheMs: 0 });
      let granted = 0;
      for (let i = 0; i < 10; i++) {
        const slots = client.slots as { master: { port: number } }[];
        const slot = slotOf(`${prefix}:tier ann`);
        const right = slots[slot]?.master.port as number;
        slots[slot] = slots.find(({ master }) => master.port !== right) as never;
        if ((await callsOf(store).consume(policy, "ann", 1)).allowed) granted += 1;
      }
      expect(granted).toBe(6);
      expect(await keysWith(prefix)).toHaveLength(1);
    });
  });
});
