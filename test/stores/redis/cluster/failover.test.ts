// Replicas that take over from masters while callers ask for keys of every node.
import { definePolicy, perHour } from "sluice";
import { Redis } from "ioredis";
import { RedisStore } from "sluice/redis";
import { expect, test } from "vitest";
import { pause, variants } from "../../../helpers/load.js";
import { startCluster } from "../../../helpers/own-redis.js";
import { onCluster, type Connected } from "../../../helpers/redis-clients.js";
import { describeWith } from "../../../helpers/services.js";
import { callsOf } from "../../../../src/testing/store-calls.js";

const policy = definePolicy({ name: "tier", capacity: 400, refill: perHour(1) });
const keys = Array.from({ length: 60 }, (_, i) => `key ${i}`);

describeWith("redis-server", "Redis Cluster whose masters change", () => {
  test.each(variants)("L1 · three failovers that were asked for, $name: each bucket grants its capacity and no more", { timeout: 90_000 }, async ({ name, options }) => {
    const cluster = await startCluster(true);
    const all = await Promise.all(["ioredis 5", "node-redis 5"].map((each) => (onCluster[each] as (ports: readonly number[]) => Promise<Connected>)(cluster.ports)));
    const stores = all.map(({ client }) => new RedisStore(client, options));
    const granted = new Map(keys.map((key) => [key, 0]));
    const unknown = new Map(keys.map((key) => [key, 0]));
    let failovers = 0;
    let asked = 0;
    const total = keys.length * policy.maxCost;
    const call = async (store: RedisStore, own: number): Promise<void> => {
      for (let i = own, refusals = 0; refusals < keys.length; i += 7) {
        const key = keys[i % keys.length] as string;
        // The tokens last for all of the failovers.
        while (failovers < 3 && asked > (total * (failovers + 1)) / 4) await pause(5);
        asked += 1;
        try {
          const { allowed } = await callsOf(store).consume(policy, key, 1);
          if (allowed) granted.set(key, (granted.get(key) as number) + 1);
          refusals = allowed ? 0 : refusals + 1;
        } catch {
          unknown.set(key, (unknown.get(key) as number) + 1);
          await pause(5);
        }
      }
    };
    const failOver = async (): Promise<void> => {
      for (const { port } of cluster.replicas) {
        const admin = new Redis(port);
        while (asked < (total * failovers) / 4 + 500) await pause(2);
        for (let askedAt = -Infinity; (await admin.role())[0] !== "master"; await pause(20)) {
          // Redis drops a failover that was not done within five seconds, without a word.
          if (performance.now() - askedAt < 6_000) continue;
          askedAt = performance.now();
          await admin.cluster("FAILOVER");
        }
        failovers += 1;
        admin.disconnect();
      }
    };
    await Promise.all([failOver(), ...Array.from({ length: 48 }, (_, i) => call(stores[i % 2] as RedisStore, i))]);
    const sum = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((a, b) => a + b);
    console.log(`Redis Cluster, three failovers, ${name}: ${sum(granted)} granted of ${total} in ${asked} decisions, ${sum(unknown)} unknown`);
    for (const key of keys) {
      expect(granted.get(key)).toBeLessThanOrEqual(policy.maxCost);
      expect((granted.get(key) as number) + (unknown.get(key) as number)).toBeGreaterThanOrEqual(policy.maxCost);
    }
    for (const { close } of all) await close();
    await cluster.stop();
  });
});
