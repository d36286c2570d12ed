// Statements under names, and poolers that do not keep them.
import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import { definePolicy, perHour } from "sluice";
import { PostgresStore, type PostgresClient } from "sluice/postgres";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ownTable } from "../../helpers/postgres.js";
import { describeWith, postgresUrl } from "../../helpers/services.js";
import { freshSluice } from "../../helpers/warned.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const TABLE = "sluice_prepare";
const ten = definePolicy({ name: "ten", capacity: 10, refill: perHour(10) });

/** A pg client that notes the names of statements, and may fail the first ones. */
function naming(pool: pg.Pool, errors: string[] = []) {
  const names: (string | undefined)[] = [];
  const query = (config: string | { name: string; text: string; values: unknown[] }, values?: unknown[]): Promise<pg.QueryResult> => {
    names.push(typeof config === "string" ? undefined : config.name);
    const code = typeof config === "string" ? undefined : errors.shift();
    if (code !== undefined) return Promise.reject(Object.assign(new Error("prepared statement"), { code }));
    return typeof config === "string" ? pool.query(config, values) : pool.query(config);
  };
  return { client: { query } as unknown as PostgresClient, names };
}

afterEach(() => void vi.restoreAllMocks());

describeWith("postgres", "statements under names", () => {
  const own = ownTable(TABLE);

  async function prepared(use: (client: pg.PoolClient) => Promise<unknown>): Promise<{ name: string; statement: string }[]> {
    const client = await own.pool.connect();
    try {
      await client.query("DEALLOCATE ALL");
      await use(client);
      return (await client.query("SELECT name, statement FROM pg_prepared_statements ORDER BY statement")).rows;
    } finally {
      client.release(true);
    }
  }

  test("a connection of pg prepares each of the two statements once, under a name of its text", async () => {
    const rows = await prepared(async (client) => {
      for (const table of [TABLE, TABLE]) {
        const store = new PostgresStore(client, { table, clock: own.clock.now });
        for (let i = 0; i < 3; i++) await callsOf(store).consume(ten, "a", 1);
        await callsOf(store).peek(ten, "a", 1);
      }
    });
    expect(rows.map(({ statement }) => /sluice_prepare_(\w+)/.exec(statement)?.[1])).toEqual(["decide", "grant"]);
    for (const { name } of rows) expect(name).toMatch(/^sluice_[0-9a-f]{16}$/);
    expect(rows[0]?.name).not.toBe(rows[1]?.name);
  });

  test("`prepare: false` prepares none", async () => {
    const rows = await prepared(async (client) => {
      const store = new PostgresStore(client, { table: TABLE, prepare: false });
      expect((await callsOf(store).consume(ten, "a", 1)).allowed).toBe(true);
    });
    expect(rows).toEqual([]);
  });

  test("only clients of pg get names unasked; with `prepare: true`, others do too", async () => {
    for (const [prepare, expected] of [[undefined, undefined], [false, undefined], [true, expect.stringMatching(/^sluice_/)]] as const) {
      const { client, names } = naming(own.pool);
      await callsOf(new PostgresStore(client, { table: TABLE, prepare })).consume(ten, "a", 1);
      expect(names).toEqual([expected]);
    }
  });

  test.each(["26000", "42P05"])("after SQLSTATE %s each statement is sent again without its name, and so are all others; one warning tells", async (code) => {
    const { given } = await freshSluice();
    const { PostgresStore: Fresh } = await import("sluice/postgres");
    const { definePolicy: define } = await import("sluice");
    const policy = define({ name: "ten", capacity: 10, refill: perHour(10) });
    const { client, names } = naming(own.pool, [code, code]);
    const store = new Fresh(client, { table: TABLE, prepare: true, clock: own.clock.now });
    const both = await Promise.all([callsOf(store).consume(policy, "a", 1), callsOf(store).peek(policy, "b", 1)]);
    expect(both.map(({ remaining }) => remaining)).toEqual([9, 10]);
    expect((await callsOf(store).consume(policy, "a", 1)).remaining).toBe(8);
    expect(names.filter((name) => name !== undefined)).toHaveLength(2);
    expect(names).toHaveLength(5);
    expect(given.map(({ code: warned }) => warned)).toEqual(["SLUICE_POSTGRES_PREPARE"]);
    expect(given[0]?.message).toBe(
      `Expected connections to keep prepared statements, got SQLSTATE ${code}. PostgresStore now sends statements without names, which is slower. ` +
        "Pass `prepare: false`, or use a pooler that supports prepared statements.",
    );
  });

  test("another error with a name is not sent again", async () => {
    const { client, names } = naming(own.pool, ["57014"]);
    await expect(callsOf(new PostgresStore(client, { table: TABLE, prepare: true })).peek(ten, "a", 1)).rejects.toMatchObject({ code: "57014" });
    expect(names).toHaveLength(1);
  });

  test("functions and tables that are made anew are found by connections that have prepared the old ones", async () => {
    const pool = new pg.Pool({ connectionString: postgresUrl(), max: 1 });
    const store = new PostgresStore(pool, { table: "sluice_anew", clock: own.clock.now, denyCacheMs: 0 });
    const drop = () => own.pool.query("DROP TABLE IF EXISTS sluice_anew; DROP FUNCTION IF EXISTS sluice_anew_decide, sluice_anew_grant");
    for (let i = 0; i < 2; i++) {
      await drop();
      await store.migrate();
      for (let n = 9; n >= 0; n--) expect((await callsOf(store).consume(ten, "a", 1)).remaining).toBe(n);
      expect((await callsOf(store).consume(ten, "a", 1)).allowed).toBe(false);
    }
    await drop();
    await pool.end();
  });

  test("without the function that grants, the other one decides, a warning tells, and it is used once it is there", async () => {
    const { given } = await freshSluice();
    const { PostgresStore: Fresh } = await import("sluice/postgres");
    const { definePolicy: define } = await import("sluice");
    const policy = define({ name: "ten", capacity: 100, refill: perHour(10) });
    const texts: string[] = [];
    const client: PostgresClient = { query: (text, values) => (texts.push(text), own.pool.query(text, values)) };
    const store = new Fresh(client, { table: TABLE, clock: own.clock.now });
    const grants = (): number => texts.filter((text) => text.includes("_grant")).length;
    const later = performance.now() + 61_000;
    await own.pool.query(`DROP FUNCTION ${TABLE}_grant`);
    for (let i = 0; i < 3; i++) expect((await callsOf(store).consume(policy, "a", 1)).remaining).toBe(99 - i);
    expect(grants()).toBe(1);
    expect(given.map(({ code }) => code)).toEqual(["SLUICE_POSTGRES_MIGRATE"]);
    expect(given[0]?.message).toContain(`Expected the function "${TABLE}_grant" in Postgres, got SQLSTATE 42883. Run \`migrate()\` or the SQL of \`postgresSchema\`. Until then decisions are slower, and fail if "${TABLE}_decide" is missing, too.`);
    await store.migrate();
    vi.spyOn(performance, "now").mockReturnValue(later);
    expect((await callsOf(store).consume(policy, "a", 1)).remaining).toBe(96);
    expect(texts.at(-1)).toContain("_grant");
  });
});

describe("clients without names", () => {
  test("PGlite takes statements without names", async () => {
    const database = new PGlite();
    const store = new PostgresStore(database);
    await store.migrate();
    expect((await callsOf(store).consume(ten, "a", 1)).remaining).toBe(9);
    await database.close();
  });

  test.each(["yes", 1, null])("prepare %j", (wrong) => {
    expect(() => new PostgresStore({ query: () => Promise.resolve({ rows: [] }) }, { prepare: wrong as unknown as boolean })).toThrow("Expected `prepare` to be true or false, got ");
  });
});
