// What a key of any length costs Redis and the process (L16), and on a cluster.
import { createHash } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Redis } from "ioredis";
import { definePolicy, perHour } from "sluice";
import { RedisStore } from "sluice/redis";
import { bucketName } from "sluice/store";
import { expect, test } from "vitest";
import { slotOf } from "../../../src/stores/redis/slot.js";
import { describeWith } from "../../helpers/services.js";
import { useRedis } from "../../helpers/use-redis.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({ name: "interactive", capacity: 30, refill: perHour(5) });
const uuid = "0b1f3c2e-9d5a-4e6b-8f01-23456789abcd";
const long = ["x".repeat(15_000), "{".repeat(15_000), "\uD800".repeat(15_000), "🦉".repeat(7_500)];

describeWith("redis-server", "long keys in Redis", () => {
  let client: Redis;
  useRedis((_, own) => (client = own));

  test("L16 · a key of 15,000 characters costs Redis what a key of 36 costs, to within 64 bytes", async () => {
    const store = new RedisStore(client);
    const costs: number[] = [];
    for (const key of [uuid, ...long]) {
      await callsOf(store).consume(policy, key, 1);
      const [name] = await client.keys("*");
      costs.push((await client.memory("USAGE", name as string)) as number);
      await client.flushall();
    }
    const [short, ...others] = costs as [number, ...number[]];
    console.log(`Redis, bytes for a key of 36 characters ${short}, of 15,000 ${others.join(", ")}`);
    for (const cost of others) expect(cost).toBeLessThanOrEqual(short + 64);
  });

  test("L16 · the name of a record is computed as the page says, and every method finds it", async () => {
    const store = new RedisStore(client, { prefix: "own", denyCacheMs: 0 });
    // Without the marks of adjustments.
    const kept = async (): Promise<string[]> => (await client.keys("*")).filter((name) => !name.includes("~"));
    for (const key of ["a", ...long, "{braces}"]) {
      const digest = createHash("sha256").update(`interactive ${key}`).digest("hex");
      await callsOf(store).consume(policy, key, 7);
      if (key === "a") expect(await kept()).toEqual(["own:interactive a"]);
      else if (!key.startsWith("\uD800")) expect(await kept()).toEqual([`own:#${digest}`]);
      expect(await kept()).toEqual([`own:${bucketName(policy, key)}`]);
      await callsOf(store).adjust(policy, key, -3);
      expect(await callsOf(store).peek(policy, key, 1)).toMatchObject({ remaining: 26 });
      expect(await callsOf(store).together([{ policy, key, cost: 1 }])).toMatchObject([{ remaining: 25 }]);
      await callsOf(store).adjust(policy, key, 5);
      expect(await callsOf(store).peek(policy, key, 1)).toMatchObject({ remaining: 20 });
      await callsOf(store).block(policy, key, 60_000);
      expect(await callsOf(store).peek(policy, key, 1)).toMatchObject({ allowed: false, remaining: 0 });
      await callsOf(store).reset(policy, key);
      expect(await kept()).toEqual([]);
    }
  });

  test("L16 · long keys that end or begin alike, and the digest of one as a key, have buckets of their own", async () => {
    const store = new RedisStore(client, { denyCacheMs: 60_000 });
    const one = definePolicy({ name: "one", capacity: 1, refill: perHour(1) });
    const x = "x".repeat(300);
    const keys = [x, `${x}y`, `y${x}`, "x".repeat(299), bucketName(one, x), bucketName(one, x).slice(1), `\0${bucketName(one, x).slice(1)}`];
    for (const cost of [1, 0]) {
      const decisions = await Promise.all(keys.map((key) => callsOf(store).consume(one, key, 1)));
      expect(decisions.map(({ allowed }) => allowed)).toEqual(keys.map(() => cost === 1));
    }
    await callsOf(store).reset(one, x);
    const after = await Promise.all(keys.map((key) => callsOf(store).consume(one, key, 1)));
    expect(after.map(({ allowed }) => allowed)).toEqual(keys.map((key) => key === x));
  });

  test("L16 · a denial of a long key is remembered, told without a call, and dropped by a reset", async () => {
    const store = new RedisStore(client, { denyCacheMs: 60_000 });
    for (const key of long) {
      await callsOf(store).consume(policy, key, 30);
      expect(store.recall(policy, key, 30)).toBeNull();
      expect(await callsOf(store).consume(policy, key, 30)).toMatchObject({ allowed: false });
      expect(store.recall(policy, key, 30)).toMatchObject({ allowed: false, policy: "interactive" });
      await callsOf(store).reset(policy, key);
      expect(store.recall(policy, key, 30)).toBeNull();
    }
  });

  test("L16 · a store holds no long key while its call is under way, nor after it was refused", async () => {
    const kept = 400;
    const slow = definePolicy({ name: "slow", capacity: 1, refill: perHour(1) });
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    // A server that refuses, once it answers.
    const refuse = async (_: string, count: number) => (await held, [0, ...Array<number>(count).fill(-1 - 3_600_000)]);
    const store = new RedisStore({ evalsha: refuse, eval: refuse }, { denyCacheMs: 60_000 });
    const before = heap();
    const asked = Array.from({ length: kept }, (_, i) => callsOf(store).consume(slow, Buffer.alloc(50_000, `${i} `).toString("latin1"), 1));
    expect(heap() - before).toBeLessThan(kept * 10_000);
    answer();
    expect((await Promise.all(asked)).filter(({ allowed }) => allowed)).toEqual([]);
    expect(heap() - before).toBeLessThan(kept * 10_000);
    expect(store.recall(slow, Buffer.alloc(50_000, "7 ").toString("latin1"), 1)).toMatchObject({ allowed: false });
  });

  test("L16 · on a cluster, the calls of long keys go to the slots of their names", async () => {
    const names: string[] = [];
    const evalsha = async (_: string, count: number, ...rest: string[]) => (names.push(...rest.slice(0, count)), [0, ...Array<number>(count).fill(0)]);
    const store = new RedisStore({ isCluster: true, evalsha, eval: evalsha }, { denyCacheMs: 0 });
    await Promise.all(long.map((key) => callsOf(store).consume(policy, key, 1)));
    expect(new Set(names.map(slotOf)).size).toBe(long.length);
    for (const name of names) expect(name).toMatch(/^sluice:#[0-9a-f]{64}$/);
  });
});

/** Bytes of the heap that something still uses. */
function heap(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}
