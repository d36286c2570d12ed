// A limiter as it comes, before a Redis that goes away in every way that servers do.
import { createServer, type Server } from "node:net";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { createLimiter, createObserver, type LimiterEvent } from "sluice";
import { RedisStore } from "sluice/redis";
import { expect, test } from "vitest";
import { Crowd, policy, SHARE } from "../../helpers/crowd.js";
import { startRedis, type OwnRedis } from "../../helpers/own-redis.js";
import type { Connected } from "../../helpers/redis-clients.js";
import { describeWith } from "../../helpers/services.js";

const quiet = (): undefined => undefined;

/** A client with its own defaults, which queues without end while there is no connection. */
function patient(port: number): Redis {
  return new Redis(port, "127.0.0.1").on("error", quiet);
}

describeWith("redis-server", "Redis goes away", () => {
  const servers = async (stop: (stop: () => Promise<void>) => void, args?: readonly string[]): Promise<OwnRedis> => {
    const server = await startRedis(args);
    stop(() => server.stop());
    return server;
  };

  test("L12 · a server that accepts and never answers (SIGSTOP), under a client with its default queue, and back", async ({ onTestFinished }) => {
    const server = await servers(onTestFinished);
    const client = patient(server.port);
    onTestFinished(() => client.disconnect());
    const crowd = new Crowd(new RedisStore(client, { prefix: "crowd" }));
    await crowd.isServed();
    await server.kill("SIGSTOP");
    await crowd.hears("unavailable");
    await crowd.usesUpItsShare();
    await server.kill("SIGCONT");
    const recovered = await crowd.isServed();
    await crowd.end("Redis, SIGSTOP", recovered);
    expect(crowd.states.at(-1)).toBe("available");
    // What was given up on may have been charged when the server woke up, and was never asked for again.
    expect(crowd.granted).toBeLessThanOrEqual(policy.maxCost);
  });

  test("L12 · killed under load (kill -9), and started again with nothing", async ({ onTestFinished }) => {
    const server = await servers(onTestFinished);
    const client = patient(server.port);
    onTestFinished(() => client.disconnect());
    const crowd = new Crowd(new RedisStore(client, { prefix: "crowd" }));
    await crowd.isServed();
    await server.kill("SIGKILL");
    await crowd.hears("unavailable");
    await crowd.usesUpItsShare();
    const again = await startRedis([], server.port);
    onTestFinished(() => again.stop());
    const recovered = await crowd.isServed();
    await crowd.end("Redis, kill -9", recovered);
    expect(crowd.states.at(-1)).toBe("available");
    // Each server had a full bucket of its own: it lost what the first one knew.
    expect(crowd.granted).toBeLessThanOrEqual(2 * policy.maxCost);
  });

  test("L12 · a port where nobody listens, at construction already; the server is started later", async ({ onTestFinished }) => {
    const gone = await startRedis();
    await gone.stop();
    const client = patient(gone.port);
    onTestFinished(() => client.disconnect());
    const crowd = new Crowd(new RedisStore(client, { prefix: "crowd" }));
    await crowd.hears("unavailable");
    await crowd.usesUpItsShare();
    const server = await startRedis([], gone.port);
    onTestFinished(() => server.stop());
    const recovered = await crowd.isServed();
    await crowd.end("Redis, refused connections", recovered);
    expect(crowd.states.at(-1)).toBe("available");
  });

  test("L12 · a name that does not resolve, with node-redis, which connects whenever it can", async ({ onTestFinished }) => {
    // `.invalid` never resolves (RFC 6761, section 6.4), and this lookup needs no network to say so.
    const lookup = (host: string, _: unknown, done: (error: Error) => void): void => done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: "ENOTFOUND" }));
    const client = createClient({ socket: { host: "redis.invalid", port: 6379, lookup: lookup as never, reconnectStrategy: () => 50 } }).on("error", quiet);
    const connecting = client.connect().catch(quiet);
    onTestFinished(async () => (client.destroy(), void (await connecting)));
    const crowd = new Crowd(new RedisStore(client, { prefix: "crowd" }));
    await crowd.hears("unavailable");
    await crowd.usesUpItsShare();
    await crowd.end("Redis, no such name");
    expect([crowd.states, crowd.granted, crowd.local]).toEqual([["unavailable"], 0, SHARE]);
  });

  test("L12 · a server that accepts connections and says nothing, ever", async ({ onTestFinished }) => {
    const mute: Server = createServer((socket) => socket.on("error", quiet).resume());
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    const client = patient((mute.address() as { port: number }).port);
    onTestFinished(() => (client.disconnect(), mute.close(), undefined));
    const crowd = new Crowd(new RedisStore(client, { prefix: "crowd" }));
    await crowd.hears("unavailable");
    await crowd.usesUpItsShare();
    await crowd.end("Redis, a mute server");
    expect([crowd.states, crowd.granted]).toEqual([["unavailable"], 0]);
    // One question each second is all that still goes to the client's queue.
    const queued = (client as unknown as { offlineQueue: { length: number } }).offlineQueue.length;
    expect(queued).toBeLessThan(crowd.asked / 2);
  });

  test("L11 · a replica that was taken for the server (READONLY), and is the server after all", async ({ onTestFinished }) => {
    const server = await servers(onTestFinished);
    const replica = await servers(onTestFinished, ["--replicaof", "127.0.0.1", String(server.port)]);
    const client = patient(replica.port);
    onTestFinished(() => client.disconnect());
    const crowd = new Crowd(new RedisStore(client, { prefix: "crowd" }));
    await crowd.hears("unavailable");
    await crowd.usesUpItsShare();
    await client.call("REPLICAOF", "NO", "ONE");
    const recovered = await crowd.isServed();
    await crowd.end("Redis, READONLY", recovered);
    expect(crowd.states.at(-1)).toBe("available");
    expect(crowd.granted).toBeLessThanOrEqual(policy.maxCost);
  });

  test("L11 · a server without memory (OOM), and with it again", async ({ onTestFinished }) => {
    const server = await servers(onTestFinished, ["--maxmemory-policy", "noeviction"]);
    const client = patient(server.port);
    onTestFinished(() => client.disconnect());
    const crowd = new Crowd(new RedisStore(client, { prefix: "crowd" }));
    await crowd.isServed();
    await client.config("SET", "maxmemory", "1");
    await crowd.hears("unavailable");
    await crowd.usesUpItsShare();
    await client.config("SET", "maxmemory", "0");
    const recovered = await crowd.isServed();
    await crowd.end("Redis, OOM", recovered);
    expect(crowd.granted).toBeLessThanOrEqual(policy.maxCost);
  });

  const both: readonly (readonly [name: string, connect: (server: OwnRedis) => Promise<Connected>])[] = [
    ["ioredis", async ({ port }) => ((client) => ({ client, close: () => client.disconnect() }))(patient(port))],
    ["node-redis", async ({ url }) => ((client) => ({ client, close: () => client.destroy() }))(await createClient({ url }).on("error", quiet).connect())],
  ];

  test.each(both)("L12 · a process that stalls before a healthy Redis, through %s: handlers that work without a turn of the loop", async (_, connect) => {
    const server = await startRedis();
    const { client, close } = await connect(server);
    try {
      const states: string[] = [];
      const observe = (event: LimiterEvent): void => void (event.type === "store" && states.push(event.state));
      // Half of the stall, so that an answer has as long on a busy machine.
      const limiter = createLimiter({ policy, store: new RedisStore(client, { timeoutMs: 400 }), observe: createObserver(observe) });
      await new Promise((resolve) => setImmediate(resolve));
      const decisions = await Promise.all(
        Array.from({ length: 20 }, (_, i) => {
          const asked = limiter.consume(["user", i]);
          const start = performance.now();
          while (performance.now() - start < 40);
          return asked;
        }),
      );
      expect(decisions.filter(({ degraded }) => degraded)).toEqual([]);
      expect(states).toEqual([]);
    } finally {
      close();
      await server.stop();
    }
  });

  test.each(["allow", "unavailable"] as const)("onStoreError: %s, while nobody answers", async (onStoreError) => {
    const server = await startRedis();
    const client = patient(server.port);
    try {
      await server.kill("SIGSTOP");
      const limiter = createLimiter({ policy, store: new RedisStore(client), onStoreError });
      const decisions = await Promise.all(Array.from({ length: 300 }, () => limiter.consume("one")));
      expect(new Set(decisions.map(({ allowed, reason, degraded }) => `${allowed} ${reason} ${degraded}`))).toEqual(
        new Set([onStoreError === "allow" ? "true null true" : "false store_unavailable true"]),
      );
    } finally {
      client.disconnect();
      await server.stop();
    }
  });
});
