// Stores over clients that sluice does not know, on the running Redis and Postgres.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { inspect } from "node:util";
import { neonConfig } from "@neondatabase/serverless";
import { Redis } from "ioredis";
import { drizzle as drizzleOverPg } from "drizzle-orm/node-postgres";
import { drizzle as drizzleOverPostgresJs } from "drizzle-orm/postgres-js";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import postgres from "postgres";
import { createLimiter, definePolicy, monthly, perHour, whenDone } from "sluice";
import { PostgresStore, type PostgresClient, type PostgresStoreOptions } from "sluice/postgres";
import { RedisStore } from "sluice/redis";
import { storeSuite } from "sluice/testing";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startCluster, startRedis, type OwnCluster, type OwnRedis } from "../../../test/helpers/own-redis.js";
import { describeWith, postgresUrl } from "../../../test/helpers/services.js";
import { overDrizzle, overDrizzlePostgresJs, overGlide, overGlideCluster, overKysely, overNeon, overPostgresJs, overPrisma } from "../any-client.js";
import { prismaOver } from "./servers/prisma.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({ name: "api", capacity: 10, refill: perHour(1) });
const lacks = { close: "the client is the caller's", bound: "the server bounds what it keeps" };
const host = "127.0.0.1";

describeWith("redis-server", "valkey-glide", () => {
  let server: OwnRedis;
  let admin: Redis;
  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.port);
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  describe("on one node", () => {
    let [open, closed]: Awaited<ReturnType<typeof overGlide>>[] = [];
    beforeAll(async () => {
      [open, closed] = await Promise.all([overGlide({ host, port: server.port }), overGlide({ host, port: server.port })]);
      closed.client.close();
    });
    afterAll(() => open?.client.close());

    storeSuite({
      test,
      factory: ({ clock, unreachable, timeoutMs, breaker, sharedBy }) => {
        const { client } = (unreachable ? closed : open) as Awaited<ReturnType<typeof overGlide>>;
        return new RedisStore((command) => client.customCommand([...command]), { denyCacheMs: 0, clock, timeoutMs, breaker, sharedBy });
      },
      lacks,
    });

    test("charges once when the server has lost the script", async () => {
      const { store } = open as Awaited<ReturnType<typeof overGlide>>;
      for (const remaining of [9, 8, 7]) {
        await admin.script("FLUSH");
        expect(await callsOf(store).consume(policy, "NOSCRIPT a", 1)).toMatchObject({ allowed: true, remaining });
      }
    });

    test("shows no key in an error", async () => {
      const { store, client } = await overGlide({ host, port: server.port }, { prefix: "secret@example.com" });
      onTestFinished(() => client.close());
      await admin.config("SET", "maxmemory", "1");
      onTestFinished(async () => void (await admin.config("SET", "maxmemory", "0")));
      const error: unknown = await callsOf(store).consume(policy, "secret", 1).catch((thrown: unknown) => thrown);
      expect(String(error)).toMatch(/OOM/);
      expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain("secret");
    });
  });
});

describeWith("redis-server", "valkey-glide on a cluster", () => {
  let cluster: OwnCluster;
  beforeAll(async () => void (cluster = await startCluster()), 30_000);
  afterAll(() => cluster.stop());

  test("each key goes to its node", async () => {
    const { store, client } = await overGlideCluster(cluster.ports.map((port) => ({ host, port })), { denyCacheMs: 0 });
    onTestFinished(() => client.close());
    const keys = Array.from({ length: 30 }, (_, i) => `user ${i}`);
    const asked = await Promise.all(keys.flatMap((key) => Array.from({ length: 12 }, () => callsOf(store).consume(policy, key, 1))));
    keys.forEach((_, i) => expect(asked.slice(i * 12, i * 12 + 12).filter(({ allowed }) => allowed)).toHaveLength(10));
  });
});

describeWith("postgres", "Postgres by one function, of", () => {
  const pool = new pg.Pool({ connectionString: postgresUrl(), max: 8 });
  const sql = postgres(postgresUrl(), { max: 8, onnotice: () => undefined });
  const nowhere = "postgres://nobody:none@127.0.0.1:1/none";
  const neonServer = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => void answer(body).then(([status, text]) => response.writeHead(status).end(text)));
  });

  /** Answers as Neon does over HTTP: rows as lists of texts. */
  async function answer(body: string): Promise<[status: number, text: string]> {
    const { query, params } = JSON.parse(body) as { query: string; params: unknown[] };
    try {
      const types = { getTypeParser: () => (text: string) => text };
      const { fields, rows, command, rowCount } = await pool.query({ text: query, values: params, rowMode: "array", types: types as never });
      return [200, JSON.stringify({ fields, rows, command, rowCount })];
    } catch (error) {
      const { message, code } = error as pg.DatabaseError;
      return [400, JSON.stringify({ message, code })];
    }
  }

  beforeAll(async () => {
    await new Promise<void>((resolve) => neonServer.listen(0, host, resolve));
    const { port } = neonServer.address() as { port: number };
    neonConfig.fetchEndpoint = (name) => `http://${host}:${name === "nowhere.example" ? 1 : port}/sql`;
  });
  afterAll(async () => {
    neonServer.close();
    await Promise.all([sql.end(), pool.end()]);
  });

  // By default it waits longer after each try to connect.
  const far = postgres(nowhere, { max: 8, backoff: () => 0.05 });
  const kyselyOver = (over: pg.Pool): Kysely<unknown> => new Kysely({ dialect: new PostgresDialect({ pool: over }) });
  const farPool = new pg.Pool({ connectionString: nowhere });
  const [db, noDb] = [kyselyOver(pool), kyselyOver(farPool)];
  const [prisma, noPrisma] = [prismaOver(pool), prismaOver(farPool)];
  const clients: Readonly<Record<string, (options: PostgresStoreOptions, unreachable: boolean) => PostgresStore>> = {
    "postgres.js": (options, unreachable) => overPostgresJs(unreachable ? far : sql, options),
    "Neon over HTTP": (options, unreachable) => overNeon(`postgres://me:secret@${unreachable ? "nowhere" : "neon"}.example/db`, options),
    Kysely: (options, unreachable) => overKysely(unreachable ? noDb : db, options),
    Prisma: (options, unreachable) => overPrisma(unreachable ? noPrisma : prisma, options),
    "Drizzle over pg": (options, unreachable) => overDrizzle(drizzleOverPg({ client: unreachable ? farPool : pool }), options),
    "Drizzle over postgres.js": (options, unreachable) => overDrizzlePostgresJs(drizzleOverPostgresJs({ client: unreachable ? far : sql }), options),
  };

  describe.each(Object.entries(clients))("%s", (_, storeOver) => {
    const table = `kit_${randomUUID().slice(0, 8)}`;
    beforeAll(() => storeOver({ table }, false).migrate());
    afterAll(async () => void (await pool.query(`DROP TABLE IF EXISTS ${table}; DROP FUNCTION IF EXISTS ${table}_decide, ${table}_grant`)));

    storeSuite({
      test,
      factory: ({ clock, unreachable, timeoutMs, breaker, sharedBy }) => storeOver({ denyCacheMs: 0, table, clock, timeoutMs, breaker, sharedBy }, unreachable === true),
      lacks,
    });

    test("quotas, work in flight, and keys with every sign", async () => {
      const limits = [{ name: "month", capacity: 10, renews: monthly() }, { name: "parallel", capacity: 10, returns: whenDone() }];
      const limiter = createLimiter({ policy: { name: "any", limits }, store: storeOver({ table, timeoutMs: 10_000 }, false) });
      for (const key of ['a"b\\c', "line\nend\ttab", "{a,b}", "NULL", "ümlaut 🙂"]) {
        expect(await limiter.consume(key, 4)).toMatchObject({ allowed: true, degraded: false });
        expect(await limiter.consume(key, 4)).toMatchObject({ allowed: true, remaining: 2, degraded: false });
      }
    });
  });

  test("the functions of postgres.js and Neon are refused with the arrow to write", () => {
    expect(() => new PostgresStore(sql as unknown as PostgresClient)).toThrow("Write `new PostgresStore((text, values) => sql.unsafe(text, values))`");
  });
});
