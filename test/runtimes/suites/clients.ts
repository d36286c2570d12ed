// The store suite over one client of a database. A service that is missing is told by name.
import type { Redis as Upstash } from "@upstash/redis";
import type pg from "pg";
import { PostgresStore } from "sluice/postgres";
import { RedisStore } from "sluice/redis";
import { storeSuite } from "sluice/testing";
import { afterAll, beforeAll, test } from "vitest";
import type { Connected } from "../../helpers/redis-clients.js";
import { describeWith, postgresUrl, redisUrl } from "../../helpers/services.js";
import { startUpstash } from "../../helpers/upstash-rest.js";

const lacks = { close: "the client is the caller's", bound: "the server bounds what it keeps" };
// Several runs of this program share the servers.
const own = crypto.randomUUID().slice(0, 8);

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

/** The Redis store over Upstash's client, and a server that talks its protocol. */
export function overUpstash(name: string, Client: typeof Upstash): void {
  overRedis(name, async () => {
    const { url, token, stop } = await startUpstash(redisUrl());
    return { client: new Client({ url, token, retry: { retries: 0 } }), close: stop };
  });
}

/** The Postgres store over a pool. */
export function overPostgres(name: string, Pool: typeof pg.Pool): void {
  describeWith("postgres", `sluice/postgres over ${name}`, () => {
    const table = `kit_${own}`;
    const pool = new Pool({ connectionString: postgresUrl(), max: 8 });
    // Nobody listens on port 1.
    const nowhere = new Pool({ host: "127.0.0.1", port: 1 });
    beforeAll(() => new PostgresStore(pool, { table }).migrate());
    afterAll(async () => {
      await pool.query(`DROP TABLE IF EXISTS "${table}"; DROP FUNCTION IF EXISTS "${table}_decide", "${table}_grant"`);
      await Promise.all([pool.end(), nowhere.end()]);
    });
    storeSuite({
      test,
      factory: ({ clock, unreachable, timeoutMs, breaker, sharedBy }) => new PostgresStore(unreachable ? nowhere : pool, { denyCacheMs: 0, table, clock, timeoutMs, breaker, sharedBy }),
      lacks,
    });
  });
}
