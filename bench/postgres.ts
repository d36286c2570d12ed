/**
 * `npm run bench postgres`: one decision over Postgres, compared with a bare upsert of the same row and with a
 * peer.
 *
 * It uses the server at `SLUICE_POSTGRES_URL` (default: `postgres://postgres@127.0.0.1:5432/test`), in new tables that
 * it drops afterwards. A connection cannot report the server's CPU time, so only that of this process is shown.
 */
import pg from "pg";
import { RateLimiterPostgres, RateLimiterRes } from "rate-limiter-flexible";
import { createLimiter, perSecond, type Decision } from "../dist/index.js";
import { PostgresStore } from "../dist/postgres.js";
import { inRounds, callersOf, fromStore, PATIENT_MS, printSamples, ratio, sample, type Side } from "./measure.js";
import { finish, goal, quick } from "./results.js";

const SLUICE = "sluice";
const UNNAMED = "sluice, prepare: false";
const FLOOR = "bare upsert (floor)";
const ROUNDS = quick ? 3 : 7;
const KEYS = callersOf(20_000);
const url = process.env["SLUICE_POSTGRES_URL"] ?? "postgres://postgres@127.0.0.1:5432/test";
const pool = new pg.Pool({ connectionString: url, max: 10 });
const unknown = (): Promise<number> => Promise.resolve(NaN);

const version = await pool.query<{ server_version: string }>("SHOW server_version").catch((error: unknown) => {
  console.error(`No Postgres at ${url}: nothing can be measured. Set SLUICE_POSTGRES_URL.`, error);
  process.exit(1);
});

const store = new PostgresStore(pool, { table: "sluice_bench", timeoutMs: PATIENT_MS });
await store.migrate();
await pool.query("CREATE UNLOGGED TABLE IF NOT EXISTS sluice_bench_bare (key text PRIMARY KEY, spent bigint NOT NULL) WITH (fillfactor = 70)");
const policy = { capacity: 1_000_000, refill: perSecond(1_000) };
const limiter = createLimiter({ policy, store });
const unnamed = createLimiter({ policy, store: new PostgresStore(pool, { table: "sluice_bench", prepare: false, timeoutMs: PATIENT_MS }) });
const allows = (decision: unknown): boolean => fromStore(decision as Decision).allowed;
const peer = await new Promise<RateLimiterPostgres>((resolve, reject) => {
  const made: RateLimiterPostgres = new RateLimiterPostgres(
    { storeClient: pool, tableName: "sluice_bench_peer", points: 2 ** 31 - 1, duration: 3_600, clearExpiredByTimeout: false },
    (error?: Error) => (error === undefined ? resolve(made) : reject(error)),
  );
});

const sides: readonly Side[] = [
  { name: SLUICE, ask: (key) => limiter.consume(key), allows },
  { name: UNNAMED, ask: (key) => unnamed.consume(key), allows },
  {
    name: "rate-limiter-flexible",
    ask: (key) => peer.consume(key),
    allows(answer) {
      if (!(answer instanceof RateLimiterRes)) throw answer;
      return answer.remainingPoints > 0;
    },
  },
  {
    name: FLOOR,
    ask: (key) => pool.query("INSERT INTO sluice_bench_bare AS b VALUES ($1, 1) ON CONFLICT (key) DO UPDATE SET spent = b.spent + 1 RETURNING spent", [key]),
    allows: (answer) => (answer as pg.QueryResult).rows.length === 1,
  },
];

try {
  for (const [callers, calls, atMost] of [[1, 500, 1.4], [10, 2_000, 0.8], [64, 3_000, 0.3], [256, 5_000, 0.25]] as const) {
    const title = `Postgres, ${callers} ${callers === 1 ? "caller" : "callers"}, ${KEYS.count} keys, pool of 10`;
    const load = { callers, calls: quick ? calls : calls * 2, keys: KEYS, expected: true, serverCpu: unknown };
    const results = await inRounds(title, sides, ROUNDS, (side) => sample(side, load));
    printSamples(title, results, FLOOR);
    const slower = ratio(results.get(FLOOR) ?? [], results.get(SLUICE) ?? [], ({ perSecond }) => perSecond);
    goal(`Postgres, ${callers}: time of a decision, beside a bare upsert`, slower, { atMost });
  }
} finally {
  await pool.query("DROP TABLE IF EXISTS sluice_bench, sluice_bench_bare, sluice_bench_peer");
  await pool.query("DROP FUNCTION IF EXISTS sluice_bench_decide, sluice_bench_grant");
  await pool.end();
}
finish("postgres", ["pg", "rate-limiter-flexible"], { Postgres: String(version.rows[0]?.server_version) });
