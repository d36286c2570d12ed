// The store suite over one client of a database. A service that is missing is told by name.
import type { Redis as Upstash } from "@upstash/redis";
import type pg from "pg";
import { PostgresStore, type PostgresClient, type PostgresQuery } from "sluice/postgres";
import { RedisStore, type RedisClient, type RedisSend } from "sluice/redis";
import { storeSuite } from "sluice/testing";
import { afterAll, beforeAll, test } from "vitest";
import { describeWith, postgresUrl, redisUrl } from "../../helpers/services.js";
import { startUpstash } from "../../helpers/upstash-rest.js";

const lacks = { close: "the client is the caller's", bound: "the server bounds what it keeps" };
// Several runs of this program share the servers.
const own = crypto.randomUUID().slice(0, 8);

interface Open<Client> {
  readonly client: Client;
  close(): unknown;
}

type Connected = Open<RedisClient | RedisSend>;
type OpenPostgres = Open<PostgresClient | PostgresQuery>;

/** The Redis store over a client. `connect` is called twice; the second client is closed, to be the unreachable one. */
export function overRedis(name: string, connect: () => Connected | Promise<Connected>): void {
  describeWith("redis", `sluice/redis over ${name}`, () => {
    let [open, closed]: Connected[] = [];
    beforeAll(async () => {
      [open, closed] = [await connect(), await connect()];
      await closed.close();
    });
    afterAll(() => open?.close());
    storeSuite({
      test,
      factory: ({ clock, unreachable, timeoutMs, breaker, sharedBy }) => {
        const { client } = (unreachable ? closed : open) as Connected;
        return new RedisStore(client, { denyCacheMs: 0, prefix: `kit-${own}-${name}`, clock, timeoutMs, breaker, sharedBy });
      },
      lacks,
    });
  });
}

/** The Redis store over Upstash's client with the settings of our page, and a server that talks its protocol. */
export function overUpstash(name: string, Client: typeof Upstash): void {
  overRedis(name, async () => {
    const { url, token, stop } = await startUpstash(redisUrl());
    return { client: new Client({ url, token, retry: { retries: 0 }, signal: () => AbortSignal.timeout(10_000) }), close: stop };
  });
}

/** The Postgres store over a pool of `pg`. */
export function overPg(name: string, Pool: typeof pg.Pool): void {
  const over = (pool: pg.Pool): OpenPostgres => ({ client: pool, close: () => pool.end() });
  overPostgres(name, {
    open: () => over(new Pool({ connectionString: postgresUrl(), max: 8 })),
    // Nobody listens on port 1.
    unreachable: () => over(new Pool({ host: "127.0.0.1", port: 1 })),
  });
}

/** The Postgres store over a client. */
export function overPostgres(name: string, client: { open(): OpenPostgres; unreachable(): OpenPostgres }): void {
  describeWith("postgres", `sluice/postgres over ${name}`, () => {
    const table = `kit_${own}_${name.replace(/\W+/g, "_")}`;
    const [open, nowhere] = [client.open(), client.unreachable()];
    beforeAll(() => new PostgresStore(open.client, { table }).migrate());
    afterAll(async () => {
      const run = typeof open.client === "function" ? open.client : (text: string) => (open.client as PostgresClient).query(text, []);
      for (const what of [`TABLE IF EXISTS "${table}"`, `FUNCTION IF EXISTS "${table}_decide", "${table}_grant"`]) await run(`DROP ${what}`, []);
      await Promise.all([open.close(), nowhere.close()]);
    });
    storeSuite({
      test,
      factory: ({ clock, unreachable, timeoutMs, breaker, sharedBy }) => new PostgresStore((unreachable ? nowhere : open).client, { denyCacheMs: 0, table, clock, timeoutMs, breaker, sharedBy }),
      lacks,
    });
  });
}
