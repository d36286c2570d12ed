// How the table and the function come to be, and who may do what.
import pg from "pg";
import { definePolicy, perHour } from "sluice";
import { postgresSchema, PostgresStore, type PostgresClient } from "sluice/postgres";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { describeWith, postgresUrl } from "../../helpers/services.js";

const ROLE = "sluice_app";
const SCHEMA = "sluice_Schema";
const table = `${SCHEMA}.Limits`;
const ten = definePolicy({ name: "ten", capacity: 10, refill: perHour(10) });

describeWith("postgres", "migrate", () => {
  let pool: pg.Pool;
  beforeAll(() => void (pool = new pg.Pool({ connectionString: postgresUrl(), max: 10 })));
  const drop = async (): Promise<void> => {
    await pool.query(`DROP SCHEMA IF EXISTS "${SCHEMA}" CASCADE; DROP ROLE IF EXISTS ${ROLE}`);
  };
  beforeEach(async () => {
    await drop();
    await pool.query(`CREATE SCHEMA "${SCHEMA}"; CREATE ROLE ${ROLE}; GRANT USAGE ON SCHEMA "${SCHEMA}" TO ${ROLE}`);
  });
  afterAll(async () => {
    await drop();
    await pool.end();
  });

  /** A client that works as somebody with few rights and no search path. */
  async function asRole(use: (client: PostgresClient) => Promise<void>): Promise<void> {
    const client = await pool.connect();
    try {
      await client.query(`SET ROLE ${ROLE}; SET search_path = ''`);
      await use(client);
    } finally {
      client.release(true);
    }
  }

  test("is safe from many connections at once, and again", async () => {
    const all = Array.from({ length: 10 }, () => new PostgresStore(pool, { table }));
    await Promise.all(all.map((each) => each.migrate()));
    await Promise.all(all.map((each) => each.migrate()));
    expect((await all[0]?.consume(ten, "a", 1))?.remaining).toBe(9);
  });

  test("needs no rights where everything is in place; deciding needs those of a reader and writer", async () => {
    await pool.query(postgresSchema(table));
    await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON "${SCHEMA}"."Limits" TO ${ROLE}`);
    await asRole(async (client) => {
      const own = new PostgresStore(client, { table });
      await own.migrate();
      expect((await own.consume(ten, "a", 4)).remaining).toBe(6);
      expect((await own.consume(ten, "a", 4)).remaining).toBe(2);
    });
  });

  test("says who may not create", async () => {
    await asRole((client) => expect(new PostgresStore(client, { table }).migrate()).rejects.toThrow("permission denied for schema"));
  });

  test("brings a function of another version up to date and keeps the rows", async () => {
    const own = new PostgresStore(pool, { table });
    await own.migrate();
    await own.consume(ten, "a", 4);
    await pool.query(postgresSchema(table).replace("DECLARE", "DECLARE -- as it once was"));
    await own.migrate();
    const { rows } = await pool.query("SELECT prosrc FROM pg_proc WHERE proname = 'Limits_decide'");
    expect(rows).toHaveLength(1);
    expect(rows[0].prosrc).not.toContain("once was");
    expect((await own.consume(ten, "a", 4)).remaining).toBe(2);
  });

  test("before it has run, the error names the function that is missing", async () => {
    await expect(new PostgresStore(pool, { table }).consume(ten, "a", 1)).rejects.toThrow('function sluice_Schema.Limits_decide');
  });
});
