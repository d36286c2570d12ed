// Redis that is harmed under load: what was granted stays within the bound, and nothing hangs or crashes.
import { Redis, type RedisOptions } from "ioredis";
import { createClient } from "redis";
import { definePolicy, perHour } from "sluice";
import { RedisStore, type RedisClient } from "sluice/redis";
import { describe, expect, test, type onTestFinished } from "vitest";
import { startRedis, type OwnRedis } from "../helpers/own-redis.js";
import { describeWith } from "../helpers/services.js";

// Nothing to speak of comes back while a test runs, so what is granted is counted against the capacity alone.
const policy = definePolicy({ name: "tier", capacity: 1_000_000, refill: perHour(1) });
const small = definePolicy({ name: "small", capacity: 500, refill: perHour(1) });
const CALLERS = 40;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describeWith("redis-server", "Redis under load", () => {
  describe.concurrent("that is harmed", () => {
    test("SCRIPT FLUSH, over and over: every decision is made, once", async ({ onTestFinished }) => {
      const { admin, clients } = await start(onTestFinished);
      const load = new Load(clients, policy);
      for (let i = 0; i < 20; i++) {
        await admin.script("FLUSH");
        await pause(10);
      }
      await load.end();
      expect(load.unknown).toBe(0);
      expect(load.granted).toBe(await load.charged());
      expect(load.granted).toBeGreaterThan(100);
    });

    test("FLUSHALL: at most one more capacity for each time that the key was lost", async ({ onTestFinished }) => {
      const { admin, clients } = await start(onTestFinished);
      const load = new Load(clients, small);
      const flushes = 5;
      for (let i = 0; i <= flushes; i++) {
        if (i > 0) await admin.flushall();
        await load.until(({ granted }) => granted === (i + 1) * small.maxCost);
        await load.isRefused();
      }
      await load.end();
      console.log(`Redis, FLUSHALL: ${load.granted} granted of ${small.maxCost}, the key lost ${flushes} times`);
      expect(load.unknown).toBe(0);
      expect(load.granted).toBe((flushes + 1) * small.maxCost);
    });

    test("CLIENT KILL: what callers know of and what they do not make up what was charged", async ({ onTestFinished }) => {
      const { admin, clients } = await start(onTestFinished);
      const load = new Load(clients, policy);
      for (let i = 0; i < 20; i++) {
        await pause(20);
        await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      }
      await load.proceeds();
      await load.end();
      const charged = await load.charged();
      console.log(`Redis, CLIENT KILL: ${load.granted} granted, ${load.unknown} unknown, ${charged} charged`);
      expect(charged).toBeGreaterThanOrEqual(load.granted);
      // A client that sends a call again after a cut connection may be charged twice for one answer, as many at a time as were under way.
      expect(charged).toBeLessThanOrEqual(load.granted + load.unknown + 20 * 2 * CALLERS);
    });

    test("SIGSTOP and SIGCONT: callers wait, and are answered", async ({ onTestFinished }) => {
      const { server, clients } = await start(onTestFinished);
      const load = new Load(clients, policy);
      for (let i = 0; i < 3; i++) {
        await load.proceeds();
        await server.kill("SIGSTOP");
        await pause(100);
        await server.kill("SIGCONT");
      }
      await load.proceeds();
      await load.end();
      expect(load.unknown).toBe(0);
      expect(load.granted).toBe(await load.charged());
    });

    test("kill -9 and a restart: callers are told of failure, then answered; one more capacity for each lost key", async ({ onTestFinished }) => {
      const { server, clients } = await start(onTestFinished);
      const load = new Load(clients, small);
      await load.isRefused();
      const { unknown } = load;
      await server.kill("SIGKILL");
      await load.until((now) => now.unknown > unknown + 10);
      const again = await startRedis([], server.port);
      onTestFinished(() => again.stop());
      await load.isRefused();
      await load.end();
      console.log(`Redis, kill -9: ${load.granted} granted of ${small.maxCost}, ${load.unknown} unknown, the key lost once`);
      expect(load.granted).toBeLessThanOrEqual(2 * small.maxCost);
      expect(load.granted + load.unknown).toBeGreaterThanOrEqual(2 * small.maxCost);
    });

    test("maxmemory without eviction: what must be written fails, and refusals are answered still", async ({ onTestFinished }) => {
      const { admin, clients } = await start(onTestFinished);
      const store = new RedisStore(clients[0] as RedisClient, { denyCacheMs: 0 });
      await store.consume(small, "a", 500);
      await admin.config("SET", "maxmemory", "1");
      expect(await store.consume(small, "a", 1)).toMatchObject({ allowed: false, reason: "limited" });
      await expect(store.consume(small, "b", 1)).rejects.toThrow("OOM");
      await admin.config("SET", "maxmemory", "0");
      expect(await store.consume(small, "b", 1)).toMatchObject({ allowed: true, remaining: 499 });
    });

    /** A server, an ioredis and a node-redis client of it that fail soon, and one for the test itself. */
    async function start(finished: typeof onTestFinished): Promise<{ server: OwnRedis; admin: Redis; clients: RedisClient[] }> {
      const server = await startRedis();
      const options: RedisOptions = { port: server.port, maxRetriesPerRequest: 1, retryStrategy: () => 20 };
      const [admin, io] = [new Redis({ ...options, maxRetriesPerRequest: null }), new Redis(options)];
      const node = createClient({ url: server.url, disableOfflineQueue: true, socket: { reconnectStrategy: 20 } });
      for (const client of [admin, io, node]) client.on("error", () => undefined);
      await node.connect();
      finished(async () => {
        for (const client of [admin, io]) client.disconnect();
        node.destroy();
        await server.stop();
      });
      return { server, admin, clients: [io, node] };
    }
  });
});

/** Callers that ask for one token of one key after another, until they are told to stop. */
class Load {
  granted = 0;
  refused = 0;
  unknown = 0;
  readonly #store: RedisStore;
  readonly #policy: typeof policy;
  readonly #callers: Promise<unknown>;
  #over = false;

  constructor(clients: readonly RedisClient[], of: typeof policy) {
    const stores = clients.map((client) => new RedisStore(client, { denyCacheMs: 0 }));
    this.#store = stores[0] as RedisStore;
    this.#policy = of;
    this.#callers = Promise.all(Array.from({ length: CALLERS }, (_, i) => this.#call(stores[i % stores.length] as RedisStore)));
  }

  async #call(store: RedisStore): Promise<void> {
    while (!this.#over) {
      try {
        if ((await store.consume(this.#policy, "one", 1)).allowed) this.granted += 1;
        else this.refused += 1;
      } catch {
        this.unknown += 1;
        await pause(5);
      }
    }
  }

  /** Waits for something to have happened, and no longer than five seconds. */
  async until(happened: (load: Load) => boolean): Promise<void> {
    for (const end = performance.now() + 5_000; !happened(this); ) {
      if (performance.now() > end) throw new Error(`Hangs: ${this.granted} granted, ${this.refused} refused, ${this.unknown} unknown`);
      await pause(2);
    }
  }

  async proceeds(): Promise<void> {
    const { granted } = this;
    await this.until((load) => load.granted > granted + 100);
  }

  /** Waits until nothing is left, as everybody is told. */
  async isRefused(): Promise<void> {
    const { refused } = this;
    await this.until((load) => load.refused > refused + 2 * CALLERS);
  }

  async end(): Promise<void> {
    this.#over = true;
    await Promise.race([this.#callers, pause(5_000).then(() => Promise.reject(new Error("Callers hang")))]);
  }

  async charged(): Promise<number> {
    return this.#policy.maxCost - (await this.#store.peek(this.#policy, "one", 0)).remaining;
  }
}
