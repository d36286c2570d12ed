// The names of keys that are spread over hash tags. They are frozen: other names would be full buckets.
import { Redis } from "ioredis";
import { definePolicy, perHour } from "sluice";
import { RedisStore } from "sluice/redis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hashTags, spreadPrefix } from "../../../../src/stores/redis/cluster/hash-tags.js";
import { slotOf } from "../../../../src/stores/redis/slot.js";
import { flush, startCluster, startRedis, type OwnCluster, type OwnRedis } from "../../../helpers/own-redis.js";
import { onCluster, type Connected } from "../../../helpers/redis-clients.js";
import { describeWith } from "../../../helpers/services.js";

const policy = definePolicy({ name: "tier", capacity: 40, refill: perHour(1) });
const keys = Array.from({ length: 500 }, (_, i) => `key {${i}} 🦉`);
const TAGS_OF_16 = ["10", "3", "61", "43", "11", "2", "60", "42", "12", "1", "63", "41", "13", "0", "62", "40"];
const PREFIXES = ["{10}sluice:", "{40}sluice:", "{40}sluice:", "{41}sluice:", "{40}sluice:", "{0}sluice:", "{40}sluice:", "{60}sluice:"];
const some = { evalsha: () => Promise.resolve(), eval: () => Promise.resolve() };

describe("hash tags", () => {
  test("each lies in its range of the slots", () => {
    for (const count of [1, 2, 3, 16, 100, 256]) {
      expect(hashTags(count).map((tag) => Math.floor((slotOf(tag) * count) / 16_384))).toEqual(Array.from({ length: count }, (_, i) => i));
    }
  });

  test("are those of the first version, and so are the names of keys", () => {
    expect(hashTags(1)).toEqual(["0"]);
    expect(hashTags(16)).toEqual(TAGS_OF_16);
    const prefixOf = spreadPrefix("sluice:", 16, "");
    expect(["", "a", "user:42", "(4:user2:42", "🦉", "\uD800", "{a}b", "x".repeat(15_000)].map(prefixOf)).toEqual(PREFIXES);
  });

  test("are taken by about as many keys each", () => {
    const prefixOf = spreadPrefix("sluice:", 16, "");
    const counts = new Map<string, number>();
    for (let i = 0; i < 16_000; i++) counts.set(prefixOf(`user:${i}`), (counts.get(prefixOf(`user:${i}`)) ?? 0) + 1);
    expect(counts.size).toBe(16);
    expect(Math.min(...counts.values())).toBeGreaterThan(800);
    expect(Math.max(...counts.values())).toBeLessThan(1_200);
  });

  test("a wrong number, and braces that would hide the tags, are refused when the store is made", () => {
    for (const [spread, complaint] of [[0, "Expected `spread` to be a positive integer, got 0"], [1.5, "got 1.5"], ["16", 'got "16"'], [257, "Expected `spread` to be at most 256, got 257"]] as const) {
      expect(() => new RedisStore(some, { spread: spread as number })).toThrow(complaint);
    }
    const complaint = "Expected `spread` without braces in `prefix` and in the client's `keyPrefix`, got braces";
    expect(() => new RedisStore(some, { spread: 16, prefix: "{a}" })).toThrow(complaint);
    for (const keyPrefix of ["{a}", "{}", "a{}b"]) expect(() => new RedisStore({ ...some, options: { keyPrefix } }, { spread: 16 })).toThrow(complaint);
    for (const prefix of ["{", "}", "{}", "}{", ""]) expect(new RedisStore(some, { spread: 16, prefix })).toBeInstanceOf(RedisStore);
  });
});

describeWith("redis-server", "keys under hash tags", () => {
  let cluster: OwnCluster;
  let alone: OwnRedis;
  beforeAll(async () => {
    [cluster, alone] = await Promise.all([startCluster(), startRedis()]);
  }, 30_000);
  // Buckets are full in each test, also when it is tried again.
  beforeEach(() => flush(alone, ...cluster.masters));
  afterAll(() => Promise.all([cluster.stop(), alone.stop()]));

  test.each(Object.keys(onCluster))("L1 · %s: every key grants its capacity, and keys of one tag are taken together", async (name) => {
    const { client, close } = await (onCluster[name] as (ports: readonly number[]) => Promise<Connected>)(cluster.ports);
    const store = new RedisStore(client, { spread: 8, prefix: name, denyCacheMs: 0 });
    const asked = await Promise.all(keys.flatMap((key) => Array.from({ length: 45 }, () => store.consume(policy, key, 1))));
    keys.forEach((_, i) => expect(asked.slice(i * 45, (i + 1) * 45).filter(({ allowed }) => allowed)).toHaveLength(40));
    // Policies of one key share its tag.
    const other = definePolicy({ name: "other", capacity: 5, refill: perHour(1) });
    const charges = [policy, other].map((each) => ({ policy: each, key: "ann", cost: 2 }));
    expect(store.takesTogether?.(charges)).toBe(true);
    expect(await store.consumeTogether(charges)).toMatchObject([{ allowed: true, remaining: 38 }, { allowed: true, remaining: 3 }]);
    const apart = keys.slice(0, 20).map((key) => ({ policy, key, cost: 1 }));
    expect(store.takesTogether?.(apart)).toBe(false);
    await expect(store.consumeTogether(apart)).rejects.toMatchObject({ code: "ERR_STORE_APART" });
    await close();
  });

  test("the tag comes before the prefix, on one server too, where all keys are taken together", async () => {
    const client = new Redis(alone.port);
    const store = new RedisStore(client, { spread: 16 });
    expect(store.takesTogether).toBeUndefined();
    await store.consumeTogether(keys.slice(0, 20).map((key) => ({ policy, key, cost: 1 })));
    await store.consume(policy, "user:42", 1);
    expect(await client.keys("*")).toContain("{40}sluice:tier user:42");
    for (const key of await client.keys("*")) expect(key).toMatch(/^\{\d+\}sluice:/);
    client.disconnect();
  });
});
