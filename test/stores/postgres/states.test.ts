// L8: a sample of the states of `npm run search`, in SQL. A long run takes more: SLUICE_HISTORIES=40 draws 100,000.
import pg from "pg";
import { PostgresStore } from "sluice/postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { histories } from "../../helpers/histories.js";
import { compareStates } from "../../helpers/searched-states.js";
import { describeWith, postgresUrl } from "../../helpers/services.js";

const table = `sluice_states_${process.pid}`;

describeWith("postgres", "L8 · the states of the searches, in SQL", () => {
  let pool: pg.Pool;
  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: postgresUrl(), max: 8 });
    await new PostgresStore(pool, { table }).migrate();
  });
  afterAll(async () => {
    await pool.query(`DROP TABLE "${table}"; DROP FUNCTION "${table}_decide", "${table}_grant"`);
    await pool.end();
  });

  test("L8 · are the same to the last bit", async () => {
    const { states, calls } = await compareStates((clock) => new PostgresStore(pool, { table, clock, denyCacheMs: 0, timeoutMs: 10_000 }), histories(2_500), Number(process.env["FC_SEED"]));
    console.log(`Postgres: ${states} states by ${calls} calls`);
    expect(states).toBeGreaterThan(2_400);
  });
});
