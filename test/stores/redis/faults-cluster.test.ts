// A cluster whose slot moves under load, as `redis-cli --cluster reshard` moves it.
import { Redis } from "ioredis";
import { definePolicy, perHour } from "sluice";
import { RedisStore } from "sluice/redis";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { slotOf } from "../../../src/stores/redis/slot.js";
import { variants } from "../../helpers/load.js";
import { flush, startCluster, type OwnCluster } from "../../helpers/own-redis.js";
import { onCluster, type Connected } from "../../helpers/redis-clients.js";
import { describeWith } from "../../helpers/services.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const wide = definePolicy({ name: "tier", capacity: 3_000, refill: perHour(1) });
const keys = ["ann", "bob", "eve"];

describeWith("redis-server", "Redis Cluster under load", () => {
  let cluster: OwnCluster;
  beforeAll(async () => void (cluster = await startCluster()));
  beforeEach(() => flush(...cluster.masters)); // full buckets also when a test is tried again
  afterAll(() => cluster.stop());

  test.each(variants)("L1 · a slot moves to and fro: every token is granted once, and nothing hangs; $name", async ({ name, options }) => {
    const prefix = `{move ${name}}`;
    const names = Object.keys(onCluster).filter((client) => !client.includes("prefix"));
    const all = await Promise.all(names.map((client) => (onCluster[client] as (ports: readonly number[]) => Promise<Connected>)(cluster.ports)));
    const stores = all.map(({ client }) => new RedisStore(client, { ...options, prefix }));
    const outcomes = { granted: 0, unknown: new Map<string, number>() };
    await callsOf((stores[0] as RedisStore)).consume(wide, "empty", 3_000);
    let moves = 0;
    let over = false;
    const mover = move(cluster.ports, slotOf(prefix), () => over).then((count) => (moves = count));
    await Promise.all(
      stores.flatMap((store) =>
        Array.from({ length: 12 }, async (_, i) => {
          // Each caller goes on until its key is empty, and looks now and then at one that was empty before.
          for (let round = 0, granted = true; granted; round++) {
            try {
              if (round % 10 === 0) expect.soft(await callsOf(store).consume(wide, "empty", 1)).toMatchObject({ allowed: false });
              granted = (await callsOf(store).consume(wide, keys[i % keys.length] as string, 1)).allowed;
              if (granted) outcomes.granted += 1;
            } catch (error) {
              const { message } = error as Error;
              outcomes.unknown.set(message, (outcomes.unknown.get(message) ?? 0) + 1);
            }
          }
        }),
      ),
    );
    over = true;
    await mover;
    const unknown = [...outcomes.unknown.values()].reduce((a, b) => a + b, 0);
    console.log(`Redis Cluster, ${name}: ${outcomes.granted} granted, ${unknown} unknown while the slot moved ${moves} times`, outcomes.unknown);
    expect(moves).toBeGreaterThan(1);
    expect(outcomes.granted).toBeLessThanOrEqual(9_000);
    expect(outcomes.granted + unknown).toBeGreaterThanOrEqual(9_000);
    expect(unknown).toBeLessThan(90);
    for (const { close } of all) await close();
  });
});

/** Moves a slot around the cluster until told to stop. Resolves with the number of moves. */
async function move(ports: readonly number[], slot: number, over: () => boolean): Promise<number> {
  const nodes = await Promise.all(
    ports.map(async (port) => {
      const client = new Redis(port);
      return { client, port, id: String(await client.cluster("MYID")) };
    }),
  );
  // Whoever has the slot counts keys in it; the bucket that was emptied first is one.
  const counts = await Promise.all(nodes.map(({ client }) => client.cluster("COUNTKEYSINSLOT", slot)));
  let from = counts.findIndex((count) => Number(count) > 0);
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
