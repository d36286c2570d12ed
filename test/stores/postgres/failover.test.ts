// A standby that takes over. Unlogged tables are empty there, so every bucket is full once, and nothing else is granted.
import pg from "pg";
import { createLimiter, definePolicy, perHour, type Decision } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { afterEach, beforeEach, expect, test } from "vitest";
import { noOwnPostgres, startPostgres, type OwnPostgres } from "../../helpers/own-postgres.js";
import { describeUnless } from "../../helpers/skip.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const CAPACITY = 200;
const policy = definePolicy({ name: "over", capacity: CAPACITY, refill: perHour(1) });
const keys = Array.from({ length: 10 }, (_, i) => `key ${i}`);

describeUnless(noOwnPostgres(), "a promoted standby of Postgres", () => {
  let primary: OwnPostgres;
  let standby: OwnPostgres;
  let pools: pg.Pool[];
  const poolOf = ({ url }: OwnPostgres, max = 6): pg.Pool => {
    const pool = new pg.Pool({ connectionString: url, max }).on("error", () => undefined);
    pools.push(pool);
    return pool;
  };
  beforeEach(async () => {
    pools = [];
    primary = await startPostgres();
    await new PostgresStore(poolOf(primary)).migrate();
    standby = await primary.startStandby();
  }, 60_000);
  afterEach(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await standby?.stop();
    await primary?.stop();
  });

  test("before it is promoted it decides nothing; after, it grants one capacity and no more, by both functions, and keeps its statements", async () => {
    const standbyPool = poolOf(standby);
    /** Takes from every bucket until nothing is left, with and without names. */
    const takeAll = async (server: OwnPostgres): Promise<number[]> => {
      const stores = [new PostgresStore(poolOf(server)), new PostgresStore(poolOf(server), { prepare: false, denyCacheMs: 0 })];
      const granted = keys.map(() => 0);
      await Promise.all(
        stores.flatMap((store) =>
          keys.map(async (key, i) => {
            while ((await callsOf(store).consume(policy, key, 1)).allowed) granted[i] = (granted[i] as number) + 1;
          }),
        ),
      );
      return granted;
    };
    expect(await takeAll(primary)).toEqual(keys.map(() => CAPACITY));

    const store = new PostgresStore(standbyPool, { denyCacheMs: 0, breaker: false, timeoutMs: 10_000 });
    const limiter = createLimiter({ policy, store, onStoreError: "unavailable" });
    // The functions and the table are there as soon as the standby has replayed them.
    const refusal = async (): Promise<Decision> => limiter.consume("key 0");
    const replayed = async (): Promise<boolean> => (await standbyPool.query("SELECT to_regproc('sluice_grant') IS NOT NULL AS done")).rows[0].done as boolean;
    while (!(await replayed())) await new Promise((resolve) => setTimeout(resolve, 20));
    for (const decision of await Promise.all([refusal(), limiter.consume("key 1")])) expect(decision).toMatchObject({ allowed: false, reason: "store_unavailable" });

    await primary.crash();
    await standbyPool.query("SELECT pg_promote(true, 60)");
    expect(await takeAll(standby)).toEqual(keys.map(() => CAPACITY));
    expect((await limiter.consume("key 0")).allowed).toBe(false);
    expect(await limiter.consume("new")).toMatchObject({ allowed: true, remaining: CAPACITY - 1 });
  }, 120_000);
});
