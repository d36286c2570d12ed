// A Redis whose memory is full: what a settlement does without room for its mark, and the hint where keys may go.
import { Redis } from "ioredis";
import { createClient } from "redis";
import { createLimiter, definePolicy, perDay, perHour, whenDone } from "sluice";
import { RedisStore, type RedisClient, type RedisSend } from "sluice/redis";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { OwnRedis } from "../../helpers/own-redis.js";
import { describeWith } from "../../helpers/services.js";
import { useRedis } from "../../helpers/use-redis.js";
import { hearWarnings } from "../../helpers/warned.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({ name: "tokens", capacity: 100_000, refill: perHour(1) });

describeWith("redis-server", "a Redis whose memory is full", () => {
  let server: OwnRedis;
  let admin: Redis;
  useRedis((own, client) => void ([server, admin] = [own, client]));
  const set = (maxmemory: number, rule: string) => Promise.all([admin.config("SET", "maxmemory", `${maxmemory}`), admin.config("SET", "maxmemory-policy", rule)]);
  beforeEach(() => set(0, "noeviction"));

  describe("without room for its mark a give-back changes nothing and fails, also one that needs no memory", () => {
    test.each(["settle", "credit", "debit"] as const)("L1 · %s", async (verb) => {
      hearWarnings();
      const store = new RedisStore(admin, { prefix: "full", timeoutMs: 10_000 });
      const limiter = createLimiter({ policy, store, onStoreError: "unavailable" });
      const decision = await limiter.consume("ann", 10_000);
      await limiter.credit("bob", 1); // both scripts are known
      await admin.del(await admin.keys("full:*~*"));
      await set(1, "noeviction");
      const made = { settle: () => limiter.settle("ann", decision, 0), credit: () => limiter.credit("ann", 10_000), debit: () => limiter.debit("ann", 5) };
      const before = await admin.keys("full:*");
      await expect(made[verb]()).rejects.toThrow(/^OOM /);
      expect(await admin.keys("full:*")).toEqual(before);
      expect((await limiter.peek("ann")).remaining).toBe(90_000);
    });

    test("L1 · nor do the others of its call", async () => {
      const store = new RedisStore(admin, { prefix: "full", timeoutMs: 10_000 });
      await callsOf(store).consume(policy, "ann", 10_000);
      await callsOf(store).adjust(policy, "ann", -1);
      await set(1, "noeviction");
      const [taken, reset, given] = await Promise.allSettled([callsOf(store).consume(policy, "bob", 1), callsOf(store).reset(policy, "ann"), callsOf(store).adjust(policy, "ann", -9_999)]);
      for (const each of [taken, reset, given]) expect(each).toMatchObject({ reason: { message: expect.stringMatching(/^OOM /) as string } });
      expect((await callsOf(store).peek(policy, "ann", 0)).remaining).toBe(90_001);
    });
  });

  describe("SLUICE_REDIS_EVICTS", () => {
    const held = definePolicy({ name: "held", limits: [{ name: "day", capacity: 10, refill: perDay(1) }, { name: "parallel", capacity: 2, returns: whenDone() }] });
    const clients: Readonly<Record<string, () => Promise<RedisClient | RedisSend>>> = {
      async ioredis() {
        const client = new Redis(server.port);
        onTestFinished(() => client.disconnect());
        return client;
      },
      async "node-redis"() {
        const client = await createClient({ url: server.url }).on("error", () => undefined).connect();
        onTestFinished(() => client.destroy());
        return client as unknown as RedisClient;
      },
      async "a user without INFO"() {
        await admin.acl("SETUSER", "limits", "on", ">secret", "~evicts:*", "+evalsha", "+eval", "+get", "+set", "+setrange", "+del", "+time");
        const client = new Redis({ port: server.port, username: "limits", password: "secret", enableReadyCheck: false });
        onTestFinished(() => client.disconnect());
        return client;
      },
      async "a function"() {
        return ([name, ...args]) => admin.call(name, ...args);
      },
    };
    /** The hints of a store of `client` whose decisions are settled, or only made. */
    async function hints(client: RedisClient | RedisSend, settles: boolean): Promise<string[]> {
      const warnings = hearWarnings();
      const limiter = createLimiter({ policy: held, store: new RedisStore(client, { prefix: "evicts", timeoutMs: 10_000 }) });
      const decision = await limiter.consume("ann");
      if (settles) expect(await limiter.settle("ann", decision, { cost: {} })).toBe(true);
      // The answer to a later call comes after that to INFO.
      await limiter.peek("ann");
      await new Promise(setImmediate);
      return warnings.filter((line) => line.startsWith("SLUICE_REDIS_EVICTS"));
    }
    const AMPLE = 1_000_000_000;

    test.each(["ioredis", "node-redis"] as const)("%s: is given once where keys may go, for limits in flight and settlements", async (name) => {
      for (const rule of ["volatile-lru", "volatile-ttl", "allkeys-lru", "volatile-random"]) {
        await set(AMPLE, rule);
        const client = await (clients[name] as () => Promise<RedisClient>)();
        expect(await hints(client, true)).toMatchObject([expect.stringContaining(`got \`maxmemory-policy ${rule}\``)]);
        expect(await hints(client, true)).toEqual([]);
      }
    });

    test.each([["no key goes", AMPLE, "noeviction", true], ["there is no bound", 0, "volatile-lru", true], ["nothing is settled", AMPLE, "volatile-lru", false]] as const)("is not given where %s", async (_, maxmemory, rule, settles) => {
      await set(maxmemory, rule);
      expect(await hints(await (clients["ioredis"] as () => Promise<RedisClient>)(), settles)).toEqual([]);
    });

    test.each(["a user without INFO", "a function"])("is not given to %s, and its decisions are settled", async (name) => {
      await set(AMPLE, "volatile-lru");
      expect(await hints(await (clients[name] as () => Promise<RedisClient>)(), true)).toEqual([]);
    });
  });
});
