// Settings of Postgres and its client with which a store can never work, each brought about on a real server. The warning
// names the cure, and with the cure the store works and nothing is warned of.
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import type pg from "pg";
import { createLimiter } from "sluice";
import { PostgresStore, type PostgresClient } from "sluice/postgres";
import { expect, test } from "vitest";
import { postgresUrl } from "../helpers/services.js";
import { heard } from "./heard.js";

const policy = { name: "advice", capacity: 100, refill: { tokens: 1, everyMs: 3_600_000 } };
const SCHEMA = "sluice_advice";
const ROLE = "sluice_advised";
const table = `${SCHEMA}.limits`;

async function ask(client: object, of = table): Promise<{ warnings: string[]; degraded: boolean }> {
  let degraded = false;
  const warnings = await heard(async () => {
    const store = new PostgresStore(client as PostgresClient, { table: of, timeoutMs: 2_000 });
    degraded = (await createLimiter({ policy, store }).consume("ann")).degraded;
  });
  return { warnings, degraded };
}

const WORKS = { warnings: [], degraded: false };

async function failsWith(client: object, cure: RegExp, of = table, code = "SLUICE_STORE_SETUP"): Promise<void> {
  const { warnings, degraded } = await ask(client, of);
  expect(degraded).toBe(true);
  expect(warnings.filter((line) => !line.startsWith("SLUICE_POSTGRES_MIGRATE: Expected the function"))).toEqual([
    expect.stringMatching(new RegExp(`^${code}: The store of policy "advice" .*${cure.source}`)),
  ]);
}

/** What the tests need of one version of `pg`. */
export function postgresSetupSuite(name: string, { Pool, Client }: Pick<typeof pg, "Pool" | "Client">): void {
  const at = (changes: (url: URL) => void): string => {
    const url = new URL(postgresUrl());
    changes(url);
    return String(url);
  };

  /** Runs a test with a pool of the owner, over a schema of its own, and pools that end with the test. */
  function over(title: string, run: (owner: pg.Pool, open: (url?: string, more?: pg.PoolConfig) => pg.Pool) => Promise<void>): void {
    test(`${name}: ${title}`, async () => {
      const pools: pg.Pool[] = [];
      const open = (url = postgresUrl(), more: pg.PoolConfig = {}): pg.Pool => {
        const pool = new Pool({ connectionString: url, max: 2, ...more }).on("error", () => undefined);
        pools.push(pool);
        return pool;
      };
      const owner = open();
      const drop = `DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE; DROP ROLE IF EXISTS ${ROLE}`;
      try {
        await owner.query(`${drop}; CREATE SCHEMA ${SCHEMA}`);
        await run(owner, open);
      } finally {
        await owner.query(drop);
        await Promise.all(pools.map((pool) => pool.end()));
      }
    });
  }

  over("a missing table is told, and `migrate()` is the cure", async (owner) => {
    const { warnings } = await ask(owner);
    expect(warnings).toEqual([expect.stringMatching(/^SLUICE_POSTGRES_MIGRATE: .*Run `migrate\(\)`/i)]);
    await new PostgresStore(owner, { table }).migrate();
    expect(await ask(owner)).toEqual(WORKS);
  });

  over("a user that does not exist is told", async (owner, open) => {
    await new PostgresStore(owner, { table }).migrate();
    await failsWith(open(at((url) => void (url.username = "no_one_at_all"))), /Correct both in the pool/);
    expect(await ask(open())).toEqual(WORKS);
  });

  over("a database that does not exist is told", async (owner, open) => {
    await new PostgresStore(owner, { table }).migrate();
    await failsWith(open(at((url) => void (url.pathname = "/no_such_database"))), /Correct `database` of the pool/);
    expect(await ask(open())).toEqual(WORKS);
  });

  over("a schema that does not exist is told, and creating it is the cure", async (owner) => {
    await owner.query(`DROP SCHEMA ${SCHEMA}`);
    await failsWith(owner, /(?:Create it, or correct `table`|run `migrate\(\)`)/, table, "SLUICE_(?:STORE_SETUP|POSTGRES_MIGRATE)");
    await owner.query(`CREATE SCHEMA ${SCHEMA}`);
    await new PostgresStore(owner, { table }).migrate();
    expect(await ask(owner)).toEqual(WORKS);
  });

  over("a server that takes no writes is told", async (owner, open) => {
    await new PostgresStore(owner, { table }).migrate();
    await failsWith(open(postgresUrl(), { options: "-c default_transaction_read_only=on" }), /Connect to the primary/);
    expect(await ask(open())).toEqual(WORKS);
  });

  over("missing rights are told, and the rights of the message are the cure", async (owner, open) => {
    await new PostgresStore(owner, { table }).migrate();
    await owner.query(`CREATE ROLE ${ROLE}; REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA ${SCHEMA} FROM PUBLIC`);
    const asRole = (): pg.Pool => open(postgresUrl(), { options: `-c role=${ROLE}` });
    const rights = /GRANT SELECT, INSERT, UPDATE, DELETE on its table .* USAGE on its schema and EXECUTE on its functions/;
    await failsWith(asRole(), rights);
    await owner.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${ROLE}`);
    await failsWith(asRole(), rights);
    await owner.query(`GRANT USAGE ON SCHEMA ${SCHEMA} TO ${ROLE}; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${SCHEMA} TO ${ROLE}`);
    expect(await ask(asRole())).toEqual(WORKS);
  });

  over("`statement_timeout` and `query_timeout` end a call that takes long", async (_owner, open) => {
    await expect(open(postgresUrl(), { statement_timeout: 50 }).query("SELECT pg_sleep(60)")).rejects.toMatchObject({ code: "57014" });
    await expect(open(postgresUrl(), { query_timeout: 50 }).query("SELECT pg_sleep(1)")).rejects.toThrow(/timeout/);
  });

  over("`connectionTimeoutMillis` ends the wait for a silent server, and for a busy pool", async (_owner, open) => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => void sockets.add(socket.on("error", () => undefined))).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const away = at((url) => void (url.host = `127.0.0.1:${(silent.address() as AddressInfo).port}`));
    await expect(open(away, { connectionTimeoutMillis: 50 }).query("SELECT 1")).rejects.toThrow(/timeout/);
    for (const socket of sockets) socket.destroy();
    silent.close();
    const busy = open(postgresUrl(), { connectionTimeoutMillis: 2_000, max: 1 });
    const client = await busy.connect();
    await expect(busy.query("SELECT 1")).rejects.toThrow(/timeout/);
    client.release();
    expect((await busy.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  });

  over("a client that is not connected is told, and `connect()` is the cure", async (owner) => {
    await new PostgresStore(owner, { table }).migrate();
    const client = new Client({ connectionString: postgresUrl() });
    await failsWith(client, /Write `await client\.connect\(\)`/);
    await client.connect();
    expect(await ask(client)).toEqual(WORKS);
    await client.end();
  });
}
