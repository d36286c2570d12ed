// How the table and the function come to be, and who may do what.
import { readFileSync } from "node:fs";
import pg from "pg";
import { createLimiter, definePolicy, perHour, type Policy } from "sluice";
import { postgresSchema, PostgresStore, type PostgresClient } from "sluice/postgres";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { describeWith, postgresUrl } from "../../helpers/services.js";
import { hearWarnings } from "../../helpers/warned.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const ROLE = "sluice_app";
const SCHEMA = "sluice_Schema";
const table = `${SCHEMA}.Limits`;
/** What `postgresSchema` returned for `table` when all limits of a bucket had one cost. */
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
    expect((await callsOf(all[0] as PostgresStore).consume(ten, "a", 1)).remaining).toBe(9);
  });

  test("needs no rights where everything is in place; deciding needs those of a reader and writer", async () => {
    await pool.query(postgresSchema(table));
    await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON "${SCHEMA}"."Limits" TO ${ROLE}`);
    await asRole(async (client) => {
      const own = new PostgresStore(client, { table });
      await own.migrate();
      expect((await callsOf(own).consume(ten, "a", 4)).remaining).toBe(6);
      expect((await callsOf(own).consume(ten, "a", 4)).remaining).toBe(2);
    });
  });

  test("says who may not create", async () => {
    await asRole((client) => expect(new PostgresStore(client, { table }).migrate()).rejects.toThrow("permission denied for schema"));
  });

  test("brings a function of another version up to date and keeps the rows", async () => {
    const own = new PostgresStore(pool, { table });
    await own.migrate();
    await callsOf(own).consume(ten, "a", 4);
    await pool.query(postgresSchema(table).replace("DECLARE", "DECLARE -- as it once was"));
    await own.migrate();
    const { rows } = await pool.query("SELECT prosrc FROM pg_proc WHERE proname = 'Limits_decide'");
    expect(rows).toHaveLength(1);
    expect(rows[0].prosrc).not.toContain("once was");
    expect((await callsOf(own).consume(ten, "a", 4)).remaining).toBe(2);
  });

  const two = definePolicy({ name: "two", limits: [{ name: "a", capacity: 10, refill: perHour(10) }, { name: "b", capacity: 20, refill: perHour(1) }] });

  /** A call as a process of the older version makes it: one number of tokens for all limits of the bucket. */
  async function older(what: string, { name, limits }: Policy, tokens: number): Promise<{ fits: boolean; spent_before: string }[]> {
    const list = (of: "name" | "capacity" | "unitsPerMs" | "unitsPerToken" | "fullMs"): unknown[] => limits.map((limit) => limit[of]);
    const { rows } = await pool.query(
      `SELECT * FROM "${SCHEMA}"."Limits_decide"($1::text, $2::text[], $3::bigint[], $4::int[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint)`,
      [what, [`${name} a`], [tokens], limits.map(() => 1), list("name"), list("capacity"), list("unitsPerMs"), list("unitsPerToken"), list("fullMs"), null],
    );
    return rows;
  }

  test("older and new processes run side by side on their own functions, and share what is spent", async () => {
    await pool.query(olderSchema);
    expect((await older("c", two, 8)).map(({ fits }) => fits)).toEqual([true, true]);
    const store = new PostgresStore(pool, { table, denyCacheMs: 0 });
    const left = async (): Promise<unknown> => (await callsOf(store).peek(two, "a", 1)).limits?.map(({ remaining }) => remaining);
    for (let i = 0; i < 2; i++) await store.migrate();
    expect((await pool.query("SELECT 1 FROM pg_proc WHERE proname = 'Limits_decide'")).rows).toHaveLength(2);

    expect(await left()).toEqual([2, 12]);
    expect((await callsOf(store).consume(two, "a", [1, 5])).allowed).toBe(true);
    expect((await older("c", two, 2)).map(({ fits }) => fits)).toEqual([false, true]);
    await older("r", two, 3);
    await older("b", two, 1);
    expect(await left()).toEqual([3, 9]);
    expect(await callsOf(store).adjust(two, "a", [-1, 9])).toBe(true);
    expect((await older("p", two, 1)).map(({ fits }) => fits)).toEqual([true, false]);
    await older("d", two, 0);
    expect(await left()).toEqual([10, 20]);
  });

  test("an older process keeps a block that it cannot see, and its reset ends it", async () => {
    await pool.query(olderSchema);
    const store = new PostgresStore(pool, { table, denyCacheMs: 0 });
    await store.migrate();
    await callsOf(store).block(ten, "a", 3_600_000);
    expect((await older("c", ten, 4))[0]?.fits).toBe(true);
    expect(await callsOf(store).consume(ten, "a", 1)).toMatchObject({ allowed: false, reason: "limited" });
    await older("d", ten, 0);
    expect((await callsOf(store).consume(ten, "a", 1)).remaining).toBe(9);
  });

  test("what is documented to take away the older function leaves the new one", async () => {
    const [, drop] = /```sql\n(DROP FUNCTION IF EXISTS[^`]+)```/.exec(readFileSync("docs/stores/postgres.md", "utf8")) as unknown as [string, string];
    await pool.query(olderSchema);
    const store = new PostgresStore(pool, { table });
    await store.migrate();
    await pool.query(drop.replace(/sluice_(\w+)/g, `"${SCHEMA}"."Limits_$1"`));
    expect((await pool.query("SELECT 1 FROM pg_proc WHERE proname = 'Limits_decide'")).rows).toHaveLength(1);
    expect((await callsOf(store).consume(ten, "a", 1)).remaining).toBe(9);
  });

  test.each(["nothing", "the older function"])("before it has run, with %s there, the error names the function that is missing", async (there) => {
    if (there !== "nothing") await pool.query(olderSchema);
    await expect(callsOf(new PostgresStore(pool, { table })).consume(ten, "a", 1)).rejects.toThrow('function sluice_Schema.Limits_decide');
  });

  test.each([["one limit", ten, /^SLUICE_POSTGRES_MIGRATE: Expected the function .* Run `migrate\(\)` or the SQL/], ["two limits", two, /^SLUICE_POSTGRES_MIGRATE: The store of policy ".*" has no table or function in Postgres, so each call fails: run `migrate\(\)`/]] as const)(
    "before it has run, the first call under %s warns with the cure, once", async (_, policy, message) => {
      const warnings = hearWarnings();
      const limiter = createLimiter({ policy, store: new PostgresStore(pool, { table, timeoutMs: 5_000 }) });
      for (let i = 0; i < 2; i++) expect((await limiter.consume("a")).degraded).toBe(true);
      expect(warnings).toEqual([expect.stringMatching(message)]);
      vi.restoreAllMocks();
    },
  );
});
