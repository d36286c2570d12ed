// Reservations over Postgres, as it comes: by the server's clock.
import pg from "pg";
import { PostgresStore } from "sluice/postgres";
import { afterAll, beforeAll } from "vitest";
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
});
