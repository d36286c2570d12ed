// How the table and the function come to be, and who may do what.
import { readFileSync } from "node:fs";
import pg from "pg";
import { definePolicy, perHour } from "sluice";
import { postgresSchema, PostgresStore, type PostgresClient } from "sluice/postgres";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { describeWith, postgresUrl } from "../../helpers/services.js";

const ROLE = "sluice_app";
const SCHEMA = "sluice_Schema";
const table = `${SCHEMA}.Limits`;
/** What `postgresSchema` returned for `table` before the function checked rows. */
const olderSchema = readFileSync(new URL("older-schema.sql", import.meta.url), "utf8");
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

  const two = definePolicy({ name: "two", limits: [{ name: "a", capacity: 10, refill: perHour(10) }, { name: "b", capacity: 20, refill: perHour(1) }] });
  const left = async (store: PostgresStore): Promise<unknown> => (await store.peek(two, "a", 1)).limits?.map(({ remaining }) => remaining);

  test("an older function goes on working for this client, until it is brought up to date", async () => {
    await pool.query(olderSchema);
    const store = new PostgresStore(pool, { table, denyCacheMs: 0 });
    for (const migrate of [async () => undefined, () => store.migrate()]) {
      await migrate();
      expect((await store.consume(two, "a", 8)).allowed).toBe(true);
      expect((await store.consume(two, "a", 3)).allowed).toBe(false);
      await store.refund(two, "a", 3);
      await store.debit(two, "a", 1);
      expect(await left(store)).toEqual([4, 14]);
      expect((await store.consumeTogether([{ policy: two, key: "a", cost: 1 }, { policy: ten, key: "a", cost: 1 }])).map(({ allowed }) => allowed)).toEqual([true, true]);
      for (const policy of [two, ten]) await store.reset(policy, "a");
      expect(await left(store)).toEqual([10, 20]);
    }
  });

  test("the function goes on working for older clients, which expect one row per limit from every call", async () => {
    const sent: unknown[][] = [];
    const client: PostgresClient = { query: (text, values) => (sent.push(values), pool.query(text, values)) };
    const store = new PostgresStore(client, { table });
    await store.migrate();
    sent.length = 0;
    await store.consume(two, "a", 8);
    await store.refund(two, "a", 1);
    await store.debit(two, "a", 1);
    await store.reset(two, "a");
    for (const values of sent) {
      const { rows } = await pool.query(`SELECT fits, spent_before, lag FROM "${SCHEMA}"."Limits_decide"($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, values);
      expect([values[0], rows.length]).toEqual([values[0], 2]);
    }
    expect(await left(store)).toEqual([10, 20]);
    // A row that holds no bucket: `fits` is false and contradicts the full bucket that null stands for there.
    await store.consume(two, "a", 8);
    await pool.query(`UPDATE "${SCHEMA}"."Limits" SET p[2] = 0`);
    const { rows } = await pool.query(`SELECT fits, spent_before, lag FROM "${SCHEMA}"."Limits_decide"($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, sent[0]);
    expect(rows).toEqual(Array(2).fill({ fits: false, spent_before: null, lag: "0" }));
  });

  test("before it has run, the error names the function that is missing", async () => {
    await expect(new PostgresStore(pool, { table }).consume(ten, "a", 1)).rejects.toThrow('function sluice_Schema.Limits_decide');
  });
});
