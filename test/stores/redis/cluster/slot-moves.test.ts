// Slots that move while callers ask for many keys: every token is granted once, wherever its bucket is.
import { randomUUID } from "node:crypto";
import { definePolicy, perHour, type Decision } from "sluice";
import { RedisStore, type RedisStoreOptions } from "sluice/redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCluster, type OwnCluster } from "../../../helpers/own-redis.js";
import { onCluster, type Connected } from "../../../helpers/redis-clients.js";
import { describeWith } from "../../../helpers/services.js";
import { keysOfSlots, SlotMover } from "../../../helpers/slot-moves.js";
import { callsOf } from "../../../../src/testing/store-calls.js";

const MOVES = 120;
const CALLERS = 96;
const variants: readonly { name: string; options: RedisStoreOptions }[] = [
  { name: "a batch for each node", options: {} },
  { name: "a batch for each node, without the deny cache", options: { denyCacheMs: 0 } },
];

describeWith("redis-server", "Redis Cluster whose slots move", () => {
  let cluster: OwnCluster;
  let mover: SlotMover;
  beforeAll(async () => {
    cluster = await startCluster();
    mover = await SlotMover.of(cluster);
  }, 30_000);
  afterAll(() => (mover.close(), cluster.stop()));

  const connect = (name: string): Promise<Connected> => (onCluster[name] as (ports: readonly number[]) => Promise<Connected>)(cluster.ports);

  describe.each(variants)("$name", ({ name, options }) => {
    test(`L1 · ${MOVES} moves under load, by two clients: each bucket grants exactly its capacity`, { timeout: 60_000 }, async () => {
      const policy = definePolicy({ name: "moving", capacity: 300, refill: perHour(1) });
      const prefix = `moves ${name} ${randomUUID()}`; // full buckets also when the test is tried again
      const all = await Promise.all(["ioredis 5", "node-redis 5"].map(connect));
      const stores = all.map(({ client }) => new RedisStore(client, { ...options, prefix }));
      // Several keys in each slot, so that a slot is caught with some of its keys on either side.
      const slots = keysOfSlots(24, 4, (key) => `${prefix}:moving ${key}`);
      const keys = [...slots.values()].flat();
      const granted = new Map(keys.map((key) => [key, 0]));
      const unknown = new Map<string, number>();
      let moves = 0;
      let turn: () => void = () => undefined;
      let moved = new Promise<void>((resolve) => (turn = resolve));
      const move = async (): Promise<void> => {
        const all = [...slots.keys()];
        for (; moves < MOVES; moves += 2) {
          await mover.moveTwo([all[moves % all.length], all[(moves + 1) % all.length]] as [number, number]);
          turn();
          moved = new Promise<void>((resolve) => (turn = resolve));
        }
        turn();
      };
      const total = keys.length * policy.maxCost;
      let asked = 0;
      const call = async (store: RedisStore, own: number): Promise<void> => {
        for (let i = own, refusals = 0; refusals < keys.length; i += 7) {
          // The tokens last for all of the moves.
          while (moves < MOVES && asked > (total * (moves + 2)) / MOVES) await moved;
          const key = keys[i % keys.length] as string;
          asked += 1;
          try {
            const { allowed } = await callsOf(store).consume(policy, key, 1);
            if (allowed) granted.set(key, (granted.get(key) as number) + 1);
            refusals = allowed ? 0 : refusals + 1;
          } catch (error) {
            unknown.set((error as Error).message, (unknown.get((error as Error).message) ?? 0) + 1);
          }
        }
      };
      await Promise.all([move(), ...Array.from({ length: CALLERS }, (_, i) => call(stores[i % 2] as RedisStore, i))]);
      console.log(`Redis Cluster, ${name}: ${[...granted.values()].reduce((a, b) => a + b)} granted of ${total} in ${asked} decisions, ${moves} moves`, unknown);
      expect(moves).toBeGreaterThanOrEqual(100);
      expect([...unknown]).toEqual([]);
      expect(new Set(granted.values())).toEqual(new Set([policy.maxCost]));
      for (const { close } of all) await close();
    });
  });

  const policy = definePolicy({ name: "half", capacity: 3, refill: perHour(1) });

  test.each(Object.keys(onCluster).flatMap((name) => [[name, "together"], [name, "one by one"]] as const))("L1 · %s: keys that stayed behind while their slots move are not taken for full buckets, asked %s", async (name, how) => {
    const { client, close } = await connect(name);
    const prefix = `half ${name} ${how} ${randomUUID()}`;
    const own = name.includes("prefix") ? "app:" : "";
    const store = new RedisStore(client, { prefix, denyCacheMs: 0 });
    const [from, to] = [0, 1];
    const found: [number, readonly string[]][] = [];
    for (const each of keysOfSlots(30, 3, (key) => `${own}${prefix}:half ${key}`)) if ((await mover.ownerOf(each[0])) === from) found.push(each);
    const moving = found.slice(0, 2);
    const still = (found[2] as [number, readonly string[]])[1];
    const [one, other] = moving.map(([, keys]) => keys) as [readonly string[], readonly string[]];
    // The first key of each slot is spent, and the others have no bucket yet.
    for (const keys of [one, other, still]) await callsOf(store).consume(policy, keys[0] as string, 3);
    for (const [slot] of moving) await mover.begin(slot, from, to);
    const asked = [one[1], one[0], other[0], other[1], still[0], still[1], one[2], other[2]] as string[];
    const askAll = async (): Promise<Decision[]> => {
      if (how === "together") return Promise.all(asked.map((key) => callsOf(store).consume(policy, key, 1)));
      const all: Decision[] = [];
      for (const key of asked) all.push(await callsOf(store).consume(policy, key, 1));
      return all;
    };
    const decisions = await askAll();
    expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 2], [false, 0], [false, 0], [true, 2], [false, 0], [true, 2], [true, 2], [true, 2],
    ]);
    // Tokens come back to a bucket that stayed behind, and to one that is on the other node.
    const returned = [one[0], one[2]] as string[];
    const giveBack = (key: string): Promise<boolean> => callsOf(store).adjust(policy, key, -1);
    if (how === "together") expect(await Promise.all(returned.map(giveBack))).toEqual([true, true]);
    else for (const key of returned) expect(await giveBack(key)).toBe(true);
    for (const [slot] of moving) await mover.finish(slot, from, to);
    const after = await askAll();
    expect(after.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 1], [true, 0], [false, 0], [true, 1], [false, 0], [true, 1], [true, 2], [true, 1],
    ]);
    for (const [slot] of moving) {
      await mover.begin(slot, to, from);
      await mover.finish(slot, to, from);
    }
    await close();
  });
});
