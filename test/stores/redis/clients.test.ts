// Every client that the store is made for, on one node and on a cluster of three masters.
import { Redis } from "ioredis";
import { definePolicy, MemoryStore, perHour, type Decision } from "sluice";
import { RedisStore, type RedisClient, type RedisStoreOptions } from "sluice/redis";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { flush, startCluster, startRedis, type OwnCluster, type OwnRedis } from "../../helpers/own-redis.js";
import { onCluster, onOneNode, type Connected } from "../../helpers/redis-clients.js";
import { describeWith } from "../../helpers/services.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({ name: "tier", capacity: 40, refill: perHour(1) });
const allowed = (decisions: readonly Decision[]): number => decisions.filter((decision) => decision.allowed).length;

/** What every client must do, wherever it is connected to. */
async function works(client: RedisClient, options: RedisStoreOptions): Promise<void> {
  const store = new RedisStore(client, options);
  const keys = Array.from({ length: 20 }, (_, i) => `key {${i % 3}} ${i} 🦉`);
  const asked = await Promise.all(keys.flatMap((key) => Array.from({ length: 60 }, () => callsOf(store).consume(policy, key, 1))));
  keys.forEach((_, i) => expect(allowed(asked.slice(i * 60, (i + 1) * 60))).toBe(40));
  const [key] = keys as [string];
  expect(await callsOf(store).adjust(policy, key, -7)).toBe(true);
  expect(await callsOf(store).peek(policy, key, 7)).toMatchObject({ allowed: true, remaining: 7 });
  expect(await callsOf(store).adjust(policy, key, Number.MAX_SAFE_INTEGER)).toBe(false);
  await callsOf(store).block(policy, key, 2_147_483_647_000);
  const { allowed: isAllowed, retryAfterMs } = await callsOf(store).peek(policy, key, 0);
  expect([isAllowed, Math.ceil(retryAfterMs / 60_000_000)]).toEqual([false, 35_792]);
  await callsOf(store).reset(policy, key);
  expect(await callsOf(store).consume(policy, key, 1)).toMatchObject({ allowed: true, remaining: 39 });
  const two = definePolicy({ name: "two", limits: [{ name: "requests", capacity: 40, refill: perHour(1) }, { name: "tokens", capacity: 900, refill: perHour(1) }] });
  expect(await callsOf(store).consume(two, key, [1, 200])).toMatchObject({ limits: [{ cost: 1, remaining: 39 }, { cost: 200, remaining: 700 }] });
}

async function worksTogether(client: RedisClient, options: RedisStoreOptions): Promise<void> {
  const store = new RedisStore(client, options);
  const charges = ["ann", "bob", "eve"].map((key, i) => ({ policy, key, cost: i + 1 }));
  const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => callsOf(store).together(i % 2 === 0 ? charges : charges.toReversed())));
  expect(answers.filter((decisions) => allowed(decisions) === 3)).toHaveLength(13);
  for (const { key, cost } of charges) expect((await callsOf(store).peek(policy, key, 0)).remaining).toBe(40 - 13 * cost);
}

/** Several clients read a number as ten times the front of it plus the code of a digit, minus 48: within 48 of 2^53 that is rounded. */
async function countsExactly(client: RedisClient, name: string): Promise<void> {
  const MOST = Number.MAX_SAFE_INTEGER;
  const limit = { capacity: MOST, refill: { tokens: 1, everyMs: 1 } };
  const alone = definePolicy({ name: "alone", ...limit });
  const several = definePolicy({ name: "several", limits: [{ name: "a", ...limit }, { name: "b", ...limit }] });
  // Where the record lies, and where the clock has stepped back to: what is spent, the time and the lag each come near 2^53.
  for (const [at, now] of [[0, 0], [MOST - 60, MOST - 60], [MOST, 0], [MOST - 60, 0], [-MOST, -MOST]] as const) {
    let time = at;
    const clock = (): number => time;
    const oracle = new MemoryStore({ clock });
    const store = new RedisStore(client, { clock, denyCacheMs: 0, prefix: `${name} ${at} ${now}` });
    for (const policy of [alone, several]) {
      const lefts = Array.from({ length: 60 }, (_, left) => left);
      for (const [costOf, instant] of [[(left: number) => MOST - left, at], [(left: number) => left + 1, now], [() => 0, now], [() => 1, now]] as const) {
        time = instant;
        const both = lefts.flatMap((left) => {
          const ask = [policy, `${left} left`, costOf(left)] as const;
          return [[callsOf(store).peek(...ask), callsOf(oracle).peek(...ask)], [callsOf(store).consume(...ask), callsOf(oracle).consume(...ask)]] as const;
        });
        expect(await Promise.all(both.map(([asked]) => asked))).toEqual(both.map(([, wanted]) => wanted));
      }
    }
  }
}

describeWith("redis-server", "Redis clients", () => {
  describe("on one node", () => {
    let server: OwnRedis;
    beforeAll(async () => void (server = await startRedis()));
    beforeEach(() => flush(server)); // full buckets also when a test is tried again
    afterAll(() => server.stop());

    test.each(Object.keys(onOneNode))("%s", async (name) => {
      const { client, close } = await (onOneNode[name] as (port: number) => Promise<Connected>)(server.port);
      const admin = new Redis(server.port);
      await admin.script("FLUSH");
      await works(client, { prefix: name });
      await works(client, { prefix: `${name} plain`, denyCacheMs: 0 });
      await worksTogether(client, { prefix: name });
      admin.disconnect();
      await close();
    });

    test.each(Object.keys(onOneNode))("L8 · %s: every number up to 2^53 arrives as it is", async (name) => {
      const { client, close } = await (onOneNode[name] as (port: number) => Promise<Connected>)(server.port);
      onTestFinished(() => void close());
      await countsExactly(client, name);
    });
  });

  describe("on a cluster", () => {
    let cluster: OwnCluster;
    beforeAll(async () => void (cluster = await startCluster()), 30_000);
    beforeEach(() => flush(...cluster.masters));
    afterAll(() => cluster.stop());

    test.each(Object.keys(onCluster))("%s", async (name) => {
      const { client, close } = await (onCluster[name] as (ports: readonly number[]) => Promise<Connected>)(cluster.ports);
      await works(client, { prefix: name });
      for (const prefix of [name, "", "{}", "{", "}{"]) expect([prefix, new RedisStore(client, { prefix }).together]).toEqual([prefix, expect.any(Function)]);
      expect(new RedisStore(client, { prefix: "{tag}" }).together).toBe(true);
      await worksTogether(client, { prefix: `{${name}}` });
      await close();
    });
  });
});
