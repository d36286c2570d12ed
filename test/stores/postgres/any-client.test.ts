// A client as one function, and replies of other shapes than { rows }.
import pg from "pg";
import { createLimiter, monthly, perHour, whenDone } from "sluice";
import { PostgresStore, type PostgresClient, type PostgresQuery } from "sluice/postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { describeWith, postgresUrl } from "../../helpers/services.js";

const table = "sluice_any_client";

describeWith("postgres", "a client as one function", () => {
  let pool: pg.Pool;
  const values: unknown[] = [];
  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: postgresUrl(), max: 10 });
    await pool.query(`DROP TABLE IF EXISTS ${table}`);
    await new PostgresStore(asRows, { table }).migrate();
  });
  afterAll(async () => {
    await pool.query(`DROP TABLE IF EXISTS ${table}; DROP FUNCTION IF EXISTS ${table}_decide, ${table}_grant`);
    await pool.end();
  });

  const asRows: PostgresQuery = async (text, given) => {
    values.push(...given);
    return (await pool.query(text, given)).rows as unknown[];
  };

  test("gets texts and null alone, and may resolve to rows or to { rows }", async () => {
    const policy = { name: "any", limits: [
      { name: "rate", capacity: 10, refill: perHour(10) },
      { name: "month", capacity: 10, renews: monthly() },
      { name: "parallel", capacity: 10, returns: whenDone() },
    ] };
    const other: PostgresQuery = (text, given) => pool.query(text, given) as Promise<{ rows: unknown[] }>;
    const one = createLimiter({ policy, store: new PostgresStore(asRows, { table, timeoutMs: 5_000 }) });
    const two = createLimiter({ policy, store: new PostgresStore(other, { table, timeoutMs: 5_000 }) });
    for (const key of ["plain", 'a"b\\c', "line\nend\ttab", "{a,b}", "NULL", "ümlaut 🙂", ["user", "42"] as const]) {
      expect(await one.consume(key, 4)).toMatchObject({ allowed: true, degraded: false });
      expect(await two.consume(key, 4)).toMatchObject({ allowed: true, remaining: 2, degraded: false });
      await two.reset(key);
      expect(await one.peek(key)).toMatchObject({ remaining: 10 });
    }
    expect(new Set(values.map((value) => (value === null ? "null" : typeof value)))).toEqual(new Set(["string", "null"]));
  });
});

test.each<[what: string, reply: unknown, got: RegExp]>([
  ["nothing", undefined, /got undefined/],
  ["a piece of SQL", { sql: "SELECT 1" }, /got an object/],
  ["a piece of SQL as rows", { rows: { sql: "SELECT 1" } }, /got \{ rows \} with an object in it/],
  ["no row", { rows: [] }, /got 0 rows/],
  ["an empty list", [], /got 0 rows/],
  ["rows without the column", { rows: [{}] }, /got 1 rows/],
])("L9 · `migrate` names the shape when a client resolves to %s", async (_, reply, got) => {
  const store = new PostgresStore({ query: async () => reply } as unknown as PostgresClient);
  const error: unknown = await store.migrate().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TypeError);
  expect(String(error)).toMatch(/\{ rows \}/);
  expect(String(error)).toMatch(got);
});

test("L12 · `migrate` ends by itself", async () => {
  vi.useFakeTimers();
  try {
    const migrated = new PostgresStore({ query: () => new Promise(() => {}) }).migrate();
    const seen = expect(migrated).rejects.toMatchObject({ code: "ERR_STORE_TIMEOUT", message: expect.stringContaining("Check that the client is connected") as string });
    await vi.advanceTimersByTimeAsync(10_000);
    await seen;
  } finally {
    vi.useRealTimers();
  }
});

test("a client of pg without `connect()` is told at once", async () => {
  const store = new PostgresStore(new pg.Client());
  await expect(store.migrate()).rejects.toThrow("The client of `pg` is not connected. Write `await client.connect()`, or pass a pool");
});
