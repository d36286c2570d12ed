// Reservations over Postgres, as it comes: by the server's clock.
import pg from "pg";
import { definePolicy } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { reservesTogether } from "../helpers/reserving.js";
import { describeWith, postgresUrl } from "../helpers/services.js";

const table = "sluice_reservations";

describeWith("postgres", "reservations over Postgres", () => {
  let pool: pg.Pool;
  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: postgresUrl(), max: 4 });
    await pool.query(`DROP TABLE IF EXISTS ${table}`);
    await new PostgresStore(pool, { table }).migrate();
  });
  afterAll(async () => {
    await pool.query(`DROP TABLE ${table}; DROP FUNCTION ${table}_decide`);
    await pool.end();
  });
  reservesTogether((options) => new PostgresStore(pool, { table, ...options }));

  test("L4 · by the server's clock a debt is not swept away before it has come back", async () => {
    const day = 86_400_000;
    const policy = definePolicy({ name: "llm", capacity: 10, refill: { tokens: 1, everyMs: day } });
    const store = new PostgresStore(pool, { table });
    const keptMs = async (): Promise<number> => {
      const { rows } = await pool.query(`SELECT sweep_after - extract(epoch FROM now()) * 1000 AS kept FROM ${table} WHERE bucket = 'llm ann'`);
      return Number((rows[0] as { kept: string }).kept);
    };
    await store.consume(policy, "ann", 4);
    await store.debit(policy, "ann", 9);
    expect(await keptMs()).toBeGreaterThan(13 * day - 60_000);
    await store.debit(policy, "ann", 100);
    expect(await keptMs()).toBeGreaterThan(20 * day - 60_000);
  });
});
