// A Redis that no one runs: its clients queue the calls, and only the clients know why. The error of a timeout names it.
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { createClient as createClient6, createCluster as createCluster6 } from "redis6";
import { createLimiter } from "sluice";
import { RedisStore, type RedisClient } from "sluice/redis";
import { guard } from "sluice/store";
import { afterEach, describe, expect, test, vi } from "vitest";
import { startRedis } from "../../helpers/own-redis.js";
import { describeWith } from "../../helpers/services.js";
import { hearWarnings } from "../../helpers/warned.js";
import { storeOf } from "../../helpers/store-of.js";

const policy = { name: "away", capacity: 10, refill: { tokens: 1, everyMs: 3_600_000 } };
const quiet = (): undefined => undefined;
// Nobody listens on port 1.
const NOWHERE = { host: "127.0.0.1", port: 1 } as const;

afterEach(() => void vi.restoreAllMocks());

/** Asks until the store is unavailable. Returns the last error, and the warnings. */
async function fail(client: RedisClient) {
  const warnings = hearWarnings();
  const limiter = createLimiter({ policy, store: new RedisStore(client, { timeoutMs: 60, breaker: { failures: 3 } }) });
  let error: unknown;
  for (let i = 0; i < 3; i++) ({ error } = await limiter.consume(`caller ${i}`));
  return { error, warnings };
}

const clients: Readonly<Record<string, () => { readonly client: RedisClient; readonly close: () => void }>> = {
  "ioredis": () => ((client) => ({ client, close: () => client.disconnect() }))(new Redis({ ...NOWHERE }).on("error", quiet)),
  "ioredis without a listener": () => {
    vi.spyOn(console, "error").mockReturnValue();
    const client = new Redis({ ...NOWHERE });
    return { client, close: () => client.disconnect() };
  },
  "node-redis": () => {
    const client = createClient({ socket: { ...NOWHERE } }).on("error", quiet);
    client.connect().catch(quiet);
    return { client: client as RedisClient, close: () => client.destroy() };
  },
};

test.each(Object.keys(clients))("the timeout of %s has the client's own error as its cause, and the warning names it", async (name) => {
  const { client, close } = (clients[name] as (typeof clients)[string])();
  try {
    const { error, warnings } = await fail(client);
    expect(error).toMatchObject({ code: "ERR_STORE_TIMEOUT", cause: { code: "ECONNREFUSED" } });
    expect(warnings).toEqual([
      expect.stringContaining('SLUICE_STORE_UNAVAILABLE: The store of policy "away" has not answered yet: connect ECONNREFUSED 127.0.0.1:1. Until'),
    ]);
  } finally {
    close();
  }
});

test("a cluster of which no node answers is named, too", async () => {
  const cluster = new Cluster([{ ...NOWHERE }], { clusterRetryStrategy: () => 20 });
  cluster.on("error", quiet);
  try {
    const { warnings } = await fail(cluster);
    expect(warnings).toEqual([expect.stringMatching(/^SLUICE_STORE_UNAVAILABLE: .* has not answered yet: .*(ECONNREFUSED|Connection is closed|Failed to refresh slots cache)/)]);
  } finally {
    cluster.disconnect();
  }
});

test("many stores over one client add two listeners, and none that handles errors", async () => {
  const client = new Redis({ ...NOWHERE, lazyConnect: true });
  const before = client.eventNames().length;
  for (let i = 0; i < 20; i++) void new RedisStore(client);
  expect(client.eventNames().length).toBe(before + 2);
  expect(client.listenerCount("error")).toBe(0);
  client.disconnect();
});

describeWith("redis-server", "a client that is connected", () => {
  test("names no error of before: the server answers, and too late", async () => {
    const server = await startRedis();
    const client = new Redis(server.url).on("error", quiet);
    try {
      client.emit("error", new Error("long ago"));
      await client.ping();
      await server.kill("SIGSTOP");
      const { error } = await fail(client);
      expect(error).toMatchObject({ code: "ERR_STORE_TIMEOUT" });
      expect((error as Error).cause).toBeUndefined();
    } finally {
      client.disconnect();
      await server.stop();
    }
  });
});

describe("a client of node-redis without `connect()`", () => {
  const nowhere = { socket: { ...NOWHERE } };
  const root = { rootNodes: [{ url: `redis://${NOWHERE.host}:${NOWHERE.port}` }] };

  test.each<[string, () => { on(event: "error", listener: () => void): unknown }]>([
    ["redis 5", () => createClient(nowhere)],
    ["redis 6", () => createClient6(nowhere)],
    ["a cluster of redis 5", () => createCluster(root)],
    ["a cluster of redis 6", () => createCluster6(root)],
  ])("%s is a warning at the first call, with the cure, and no bug", async (_, create) => {
    const warnings = hearWarnings();
    const limiter = createLimiter({ policy, store: new RedisStore(create().on("error", quiet) as RedisClient) });
    await limiter.consume("ann");
    expect(warnings).toEqual([
      'SLUICE_REDIS_CONNECT: The store of policy "away" has a client that is not connected: write `await client.connect()` before the first request, and close the client after the last',
    ]);
  });

  test("is not what the same error of another store is, which has a bug", async () => {
    const warnings = hearWarnings();
    const nodes: { readonly master: string }[] = [];
    const consume = async (): Promise<never> => Promise.reject(new Error((nodes[0] as (typeof nodes)[number]).master));
    await createLimiter({ policy, store: storeOf({ sync: false, clock: "server", guard: guard(), consume }) }).consume("ann");
    expect(warnings).toEqual([expect.stringMatching(/^SLUICE_STORE_BUG: .*\(reading 'master'\)/)]);
  });
});
