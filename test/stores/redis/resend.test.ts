// Clients that send a call again whose answer was lost, each with its default options: tokens come back once.
import * as ioredis from "ioredis";
import * as ioredis6 from "ioredis6";
import * as iovalkey from "iovalkey";
import { createClient, createSentinel } from "redis";
import * as redis6 from "redis6";
import { createLimiter, definePolicy, monthly, perDay, whenDone } from "sluice";
import { RedisStore, type RedisClient, type RedisSend } from "sluice/redis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { announce, flush, startCluster, startRedis, startSentinel, type OwnCluster, type OwnRedis } from "../../helpers/own-redis.js";
import { describeWith } from "../../helpers/services.js";
import { startSilentProxy, type SilentProxy } from "../../helpers/silent-proxy.js";
import { startUpstash, type UpstashRest } from "../../helpers/upstash-rest.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({
  name: "tokens",
  limits: [
    { name: "day", capacity: 100_000, refill: perDay(1_000) },
    { name: "month", capacity: 100_000, renews: monthly() },
    { name: "parallel", capacity: 10, returns: whenDone() },
  ],
});
const quiet = (): undefined => undefined;
const at = (port: number) => ({ host: "127.0.0.1", port });

describeWith("redis-server", "an answer that is lost with its connection", () => {
  let server: OwnRedis;
  let cluster: OwnCluster;
  let proxy: SilentProxy;
  let nodes: SilentProxy[];
  let rest: UpstashRest;
  beforeAll(async () => {
    [server, cluster] = await Promise.all([startRedis(), startCluster()]);
    proxy = await startSilentProxy("127.0.0.1", server.port);
    nodes = await Promise.all(cluster.ports.map((port) => startSilentProxy("127.0.0.1", port)));
    // No `natMap`: after a MOVED, ioredis looks a node up by the address from before the map, and asks any node.
    await announce(cluster, nodes.map(({ port }) => port));
    rest = await startUpstash(server.url);
  });
  // Buckets are full in each test, also when it is tried again.
  beforeEach(() => flush(server, ...cluster.masters));
  afterAll(async () => {
    for (const each of [proxy, ...nodes]) each.stop();
    await rest.stop();
    await Promise.all([server.stop(), cluster.stop()]);
  });

  /** How the next answer is lost, and what is closed at the end. */
  interface Made {
    readonly client: RedisClient | RedisSend;
    lose(): void;
    close(): unknown;
  }
  const one = (client: RedisClient & { disconnect(): unknown; on(event: "error", listener: () => void): unknown }): Made => {
    client.on("error", quiet);
    return { client, lose: () => proxy.loseAnswer(), close: () => client.disconnect() };
  };
  const seed = () => [at((nodes[0] as SilentProxy).port)];
  const loseOnEach = (): void => {
    for (const node of nodes) node.loseAnswer();
  };
  const many = (client: RedisClient & { disconnect(): unknown }): Made => ({ client, lose: loseOnEach, close: () => client.disconnect() });

  const sendingAgain: Readonly<Record<string, () => Made>> = {
    "ioredis 5": () => one(new ioredis.Redis(proxy.port)),
    "ioredis 6": () => one(new ioredis6.Redis(proxy.port)),
    iovalkey: () => one(new iovalkey.Redis(proxy.port)),
    "ioredis as the page on Redis says": () => one(new ioredis.Redis(proxy.port, { commandTimeout: 10_000, maxRetriesPerRequest: 1 })),
    "ioredis with a prefix and without a bound on retries": () => one(new ioredis.Redis(proxy.port, { keyPrefix: "app:", maxRetriesPerRequest: null })),
    "a cluster of ioredis 5": () => many(new ioredis.Cluster(seed())),
    "a cluster of ioredis 6": () => many(new ioredis6.Cluster(seed())),
    "a cluster of iovalkey with a prefix": () => many(new iovalkey.Cluster(seed(), { redisOptions: { keyPrefix: "app:" } })),
    "a function": () => {
      const client = new ioredis.Redis(proxy.port);
      return { ...one(client), client: ([name, ...args]) => client.call(name, ...args) };
    },
    Upstash: () => ({ client: rest.connect({ retry: { retries: 5, backoff: () => 10 } }), lose: () => void (rest.fault = "a lost answer"), close: quiet }),
  };

  /** Tokens that are spent of each limit. */
  async function spentOf(limiter: ReturnType<typeof make>, key: string): Promise<number[]> {
    const { limits } = await limiter.peek(key);
    return (limits ?? []).map(({ capacity, remaining }) => capacity - remaining);
  }
  const make = (client: RedisClient | RedisSend, prefix: string) =>
    createLimiter({ policy, store: new RedisStore(client, { prefix, timeoutMs: 10_000, breaker: false }), onStoreError: "unavailable" });
  const COST = { day: 10_000, month: 10_000 };

  test.each(Object.entries(sendingAgain))("%s: settle, refund, credit and debit act once", async (name, connect) => {
    const { client, lose, close } = connect();
    const limiter = make(client, `resend-${name.replaceAll(" ", "-")}`);
    try {
      for (const key of ["ann", "a{b}c", "x{}y", `long ${"k".repeat(300)}`]) {
        // The work of others, which still runs.
        for (let i = 0; i < 3; i++) expect(await limiter.consume(key, { cost: COST })).toMatchObject({ allowed: true });
        for (let i = 0; i < 2; i++) {
          const decision = await limiter.consume(key, { cost: COST });
          lose();
          expect(await limiter.settle(key, decision, { cost: { day: 9_000, month: 9_000 } })).toBe(true);
        }
        expect(await spentOf(limiter, key), key).toEqual([48_000, 48_000, 3]);
        const decision = await limiter.consume(key, { cost: COST });
        lose();
        expect(await limiter.refund(key, decision)).toBe(true);
        expect(await spentOf(limiter, key), key).toEqual([48_000, 48_000, 3]);
        lose();
        await limiter.credit(key, { cost: { day: 1_000, month: 2_000 } });
        expect(await spentOf(limiter, key), key).toEqual([47_000, 46_000, 3]);
        lose();
        await limiter.debit(key, { cost: { day: 500, month: 700 } });
        expect(await spentOf(limiter, key), key).toEqual([47_500, 46_700, 3]);
      }
    } finally {
      close();
    }
  });

  describe.each([["node-redis 5", createClient], ["node-redis 6", redis6.createClient as unknown as typeof createClient]] as const)("%s", (name, create) => {
    test("never sends a call again, so a settlement whose answer is lost fails, and acts once", async () => {
      const client = create({ socket: { port: proxy.port, reconnectStrategy: () => 10 } });
      client.on("error", quiet);
      await client.connect();
      const limiter = make(client as RedisClient, `resend-${name}`);
      const decision = await limiter.consume("ann", { cost: COST });
      proxy.loseAnswer();
      await expect(limiter.settle("ann", decision, { cost: { day: 9_000, month: 9_000 } })).rejects.toThrow("Socket closed unexpectedly");
      expect(await spentOf(limiter, "ann")).toEqual([9_000, 9_000, 0]);
      client.destroy();
    });
  });

  test("a debit that is repeated is told as done, also where a second one would be too much", async () => {
    const client = new ioredis.Redis(proxy.port);
    const huge = definePolicy({ name: "huge", capacity: 1_000, refill: { tokens: 1, everyMs: 1_000_000_000_000 } });
    const limiter = createLimiter({ policy: huge, store: new RedisStore(client, { prefix: "debt", timeoutMs: 10_000 }), onStoreError: "unavailable" });
    await limiter.consume("ann", 1);
    await limiter.debit("ann", 1); // the script is known
    proxy.loseAnswer();
    await limiter.debit("ann", 5_000);
    const { resetMs } = await limiter.peek("ann");
    expect(resetMs).toBeGreaterThan(5_001 * 1e12);
    expect(resetMs).toBeLessThanOrEqual(5_002 * 1e12);
    client.disconnect();
  });

  test("through a Sentinel of node-redis, which sends again, too", async () => {
    const sentinelServer = await startSentinel(server);
    const sentinel = await createSentinel({ name: "primary", sentinelRootNodes: [{ host: "127.0.0.1", port: sentinelServer.port }] }).on("error", quiet).connect();
    const watcher = new ioredis.Redis(server.port);
    const store = new RedisStore(sentinel as unknown as RedisClient, { prefix: "sentinel" });
    await callsOf(store).consume(policy, "ann", [5, 5, 1]);
    await callsOf(store).adjust(policy, "ann", [-1, -1, 0]);
    expect((await watcher.keys("sentinel:*")).filter((key) => key.includes("~"))).toHaveLength(1);
    await sentinel.destroy();
    watcher.disconnect();
    await sentinelServer.stop();
  });

  test("settlements of one call have one mark, beside their keys, for a little over a minute", async () => {
    const client = new ioredis.Redis(server.port);
    const store = new RedisStore(client, { prefix: "marks" });
    await callsOf(store).consume(policy, "ann", [5, 5, 1]);
    await Promise.all(["ann", "bob", "eve"].map((key) => callsOf(store).adjust(policy, key, [-1, -1, 0])));
    const marks = (await client.keys("marks:*")).filter((key) => key.includes("~"));
    expect(marks).toHaveLength(1);
    expect(marks[0]).toMatch(/^marks:tokens \["?ann|^marks:tokens ann/);
    expect(await client.pttl(marks[0] as string)).toSatisfy((ms: number) => ms > 60_000 && ms <= 70_000);
    expect(await client.strlen(marks[0] as string)).toBe(0);
    client.disconnect();
  });

  test("a client that was told not to send again, and one that never does, carry no mark", async () => {
    const client = new ioredis.Redis(server.port, { autoResendUnfulfilledCommands: false });
    const store = new RedisStore(client, { prefix: "unmarked" });
    await callsOf(store).consume(policy, "ann", [5, 5, 1]);
    await callsOf(store).adjust(policy, "ann", [-1, -1, 0]);
    expect(await client.keys("unmarked:*")).toHaveLength(1);
    client.disconnect();
  });
});
