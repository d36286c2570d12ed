// Bun's own clients of Redis and Postgres, each as one function. Other runtimes have nothing here.
import { Redis } from "ioredis";
import { definePolicy, perHour } from "sluice";
import { RedisStore, type RedisSend } from "sluice/redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startRedis, type OwnRedis } from "../../helpers/own-redis.js";
import { describeWith, postgresUrl, redisUrl } from "../../helpers/services.js";
import { runtime } from "../runtime.js";
import { overPostgres, overRedis } from "./clients.js";
import { callsOf } from "../../../src/testing/store-calls.js";

interface BunGlobals {
  readonly RedisClient: new (url: string, options?: { connectionTimeout: number; autoReconnect: boolean; enableOfflineQueue: boolean }) => BunRedis;
  readonly SQL: new (url: string, options?: { max: number }) => BunSql;
}

interface BunRedis {
  connect(): Promise<void>;
  send(name: string, args: string[]): Promise<unknown>;
  close(): void;
}

interface BunSql {
  unsafe(text: string, values: unknown[]): PromiseLike<unknown[]>;
  close(): Promise<void>;
}

if (runtime === "bun") {
  const { RedisClient, SQL } = (globalThis as unknown as { readonly Bun: BunGlobals }).Bun;
  const sendTo = (bun: BunRedis): RedisSend => ([name, ...args]) => bun.send(name, args);

  overRedis("RedisClient of Bun", async () => {
    const bun = new RedisClient(redisUrl());
    await bun.connect();
    return { client: sendTo(bun), close: () => bun.close() };
  });
  overPostgres("SQL of Bun", {
    open() {
      const sql = new SQL(postgresUrl(), { max: 8 });
      return { client: (text, values) => sql.unsafe(text, values), close: () => sql.close() };
    },
    // Nobody listens on port 1.
    unreachable() {
      const sql = new SQL("postgres://nobody@127.0.0.1:1/none");
      return { client: (text, values) => sql.unsafe(text, values), close: () => sql.close() };
    },
  });

  describeWith("redis-server", "RedisClient of Bun", () => {
    const policy = definePolicy({ name: "api", capacity: 10, refill: perHour(1) });
    let server: OwnRedis;
    let admin: Redis;
    let bun: BunRedis;
    beforeAll(async () => {
      server = await startRedis();
      admin = new Redis(server.port);
      bun = new RedisClient(server.url);
      await bun.connect();
    });
    afterAll(async () => {
      bun.close();
      admin.disconnect();
      await server.stop();
    });

    describe("as one function", () => {
      test("charges once when the server has lost the script", async () => {
        const store = new RedisStore(sendTo(bun), { denyCacheMs: 0 });
        for (const remaining of [9, 8, 7]) {
          await admin.script("FLUSH");
          expect(await callsOf(store).consume(policy, "NOSCRIPT a", 1)).toMatchObject({ allowed: true, remaining });
        }
      });

      test("gets no reply of another call after a lost connection", async () => {
        const store = new RedisStore(sendTo(bun), { denyCacheMs: 0 });
        const spent = Array.from({ length: 8 }, (_, i) => i);
        await Promise.all(spent.map((cost) => callsOf(store).consume(policy, `user ${cost}`, cost)));
        const held = [bun.send("BLPOP", ["held", "0"]), bun.send("BLPOP", ["held", "0"])];
        const settled = Promise.allSettled(held);
        while (!/cmd=blpop/.test(String(await admin.client("LIST")))) await admin.ping();
        await admin.client("KILL", "TYPE", "normal", "SKIPME", "yes");
        expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
        const left = await Promise.all(spent.map(async (cost) => (await callsOf(store).peek(policy, `user ${cost}`, 0)).remaining));
        expect(left).toEqual(spent.map((cost) => 10 - cost));
      });
    });
  });
}
