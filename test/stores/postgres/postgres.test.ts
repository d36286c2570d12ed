import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import { PostgresStore, type PostgresClient, type PostgresQuery, type PostgresStoreOptions } from "sluice/postgres";
import { storeSuite, type StoreTrait } from "sluice/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import { describeWith, postgresUrl } from "../../helpers/services.js";
import { bytesInPostgres } from "../../helpers/stored-bytes.js";
import { withoutGrants } from "./watched.js";

const table = "kit";
const emptyTable = "kit_empty";
const lacks = { close: "the client is the caller's", bound: "full rows go away with later decisions" };

const stale = { freshDenials: "a refusal is answered from memory for up to `denyCacheMs`" };

/** One store after another over one client, which `given` may turn into a function. */
function proveOver(
  client: () => PostgresClient, options: PostgresStoreOptions, without: Partial<Record<StoreTrait, string>>,
  given: (client: PostgresClient) => PostgresClient | PostgresQuery = (same) => same,
): void {
  // Nobody listens on port 1.
  const nowhere = new pg.Pool({ host: "127.0.0.1", port: 1 });
  beforeAll(async () => {
    for (const each of [table, emptyTable]) await new PostgresStore(client(), { table: each }).migrate();
  });
  afterAll(() => nowhere.end());
  storeSuite({
    test,
    factory: async ({ clock, unreachable, empty, timeoutMs, breaker, sharedBy }) => {
      if (empty) await client().query(`TRUNCATE "${emptyTable}"`, []);
      const store = new PostgresStore(given(unreachable ? nowhere : client()), { ...options, table: empty ? emptyTable : table, clock, timeoutMs, breaker, sharedBy });
      return { store, storedBytes: () => bytesInPostgres(client(), emptyTable) };
    },
    lacks: { ...lacks, ...without },
  });
}

describeWith("postgres", "Postgres, a pool of pg", () => {
  const pool = new pg.Pool({ connectionString: postgresUrl(), max: 8 });
  afterAll(async () => {
    for (const each of [table, emptyTable]) await pool.query(`DROP TABLE IF EXISTS "${each}"; DROP FUNCTION IF EXISTS "${each}_decide", "${each}_grant"`);
    await pool.end();
  });
  describe("as it comes", () => proveOver(() => pool, {}, stale));
  describe("without the deny cache", () => proveOver(() => pool, { denyCacheMs: 0 }, {}));
  describe("as one function", () => proveOver(() => pool, { denyCacheMs: 0 }, {}, (client) => async (text, values) => (await client.query(text, values)).rows));
  describe("without the function that grants", () => proveOver(() => withoutGrants(pool), { denyCacheMs: 0 }, {}));
});

describe("Postgres, PGlite", () => {
  // It starts in this process and keeps it busy for a second or more, so not before its turn.
  let database: PGlite;
  beforeAll(() => void (database = new PGlite()));
  afterAll(() => database.close());
  proveOver(() => database, { denyCacheMs: 0 }, { unreachable: "it runs in this process", serverClock: "its clock is this process's" });
});
