// A table for one file of tests on the shared server. Its store remembers no refusals, and its clock is manual.
import pg from "pg";
import { PostgresStore } from "sluice/postgres";
import { ManualClock } from "sluice/testing";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { postgresUrl } from "./services.js";

/** The result of {@link ownTable}. `pool` and `store` exist once the tests run. */
export interface OwnTable {
  readonly pool: pg.Pool;
  readonly store: PostgresStore;
  readonly clock: ManualClock;
  rows(): Promise<number>;
}

/** Creates `table` before the tests of a suite, empties it and sets the clock before each, and drops it after them. */
export function ownTable(table: string): OwnTable {
  const clock = new ManualClock();
  const own = {
    clock,
    pool: undefined as unknown as pg.Pool,
    store: undefined as unknown as PostgresStore,
    rows: async () => (await own.pool.query(`SELECT count(*)::int AS rows FROM ${table}`)).rows[0].rows as number,
  };
  beforeAll(async () => {
    own.pool = new pg.Pool({ connectionString: postgresUrl(), max: 10 });
    await own.pool.query(`DROP TABLE IF EXISTS ${table}`);
    own.store = new PostgresStore(own.pool, { table, clock: clock.now, denyCacheMs: 0, timeoutMs: Infinity });
    await own.store.migrate();
  });
  beforeEach(async () => {
    clock.set(1_700_000_000_000);
    await own.pool.query(`TRUNCATE ${table}`);
  });
  afterAll(async () => {
    await own.pool.query(`DROP TABLE ${table}; DROP FUNCTION ${table}_decide, ${table}_grant`);
    await own.pool.end();
  });
  return own;
}
