// L8, L22 on Postgres: the functions that decide and that grant, beside the core. After each call the row is what the core keeps.
import { threadId } from "node:worker_threads";
import pg from "pg";
import { PostgresStore } from "sluice/postgres";
import { ManualClock } from "sluice/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { afterMs, definePolicy } from "sluice";
import { describeWith, postgresUrl } from "../../helpers/services.js";
import { playBesideCore } from "../../helpers/window-history.js";
import { callsOf } from "../../../src/testing/store-calls.js";

// `npm run mutants` runs this file in two threads at once.
const table = `windows_${process.pid}_${threadId}`;

describeWith("postgres", "a window in Postgres", () => {
  let pool: pg.Pool;
  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: postgresUrl(), max: 4 });
    await new PostgresStore(pool, { table, timeoutMs: Infinity }).migrate();
  });
  afterAll(async () => {
    await pool.query(`DROP TABLE ${table}; DROP FUNCTION ${table}_decide, ${table}_grant`);
    await pool.end();
  });

  /** The stored amounts: last date, tokens, first date and so on. */
  async function kept(bucket: string): Promise<number[]> {
    const { rows } = await pool.query(`SELECT * FROM ${table} WHERE bucket = $1`, [bucket]);
    const [row] = rows as { names: string[]; spent: string[]; at: string[]; q: string[] }[];
    return row === undefined ? [] : row.names.flatMap((name, i) => {
      expect(name).toBe("^w");
      const [spent, at, q] = [row.spent, row.at, row.q].map((list) => Number(list[i])) as [number, number, number];
      return [at, spent, at - q + 1];
    });
  }

  test.each([1, 2, 3])("L22 · 300 calls that take, give back and credit are decided and kept as by the core (seed %i)", async (seed) => {
    const clock = new ManualClock(1_790_000_000_000);
    const store = new PostgresStore(pool, { table, denyCacheMs: 0, timeoutMs: 10_000, clock: clock.now });
    await playBesideCore(seed, store, clock, (key) => kept(`w ${key}`));
  });

  test("L22 · many keys of one statement are granted as by the core, and a name with spaces is one", async () => {
    const clock = new ManualClock(1_790_000_000_000);
    const store = new PostgresStore(pool, { table, denyCacheMs: 0, timeoutMs: 10_000, clock: clock.now });
    const policy = definePolicy({ name: "many", capacity: 3, returns: afterMs(1_000) });
    for (const [move, remaining] of [[0, 2], [400, 1], [400, 0], [199, 0], [1, 0], [400, 0]] as const) {
      clock.advance(move);
      const all = await Promise.all(Array.from({ length: 40 }, (_, i) => callsOf(store).consume(policy, `a key ${i}`, 1)));
      expect(new Set(all.map((decision) => decision.remaining))).toEqual(new Set([remaining]));
      expect(new Set(all.map(({ allowed }) => allowed))).toEqual(new Set([move !== 199]));
    }
  });
});
