// Grants to many buckets, the function that decides, and the one of an older version: all at once on the same buckets.
import { readFileSync } from "node:fs";
import pg from "pg";
import { definePolicy, perHour } from "sluice";
import { PostgresStore, type PostgresClient } from "sluice/postgres";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { describeWith, postgresUrl } from "../../helpers/services.js";
import { withoutGrants } from "./watched.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const SCHEMA = "sluice_sides_schema";
const table = `${SCHEMA}.Limits`;
const KEYS = Array.from({ length: 10 }, (_, i) => `key ${i}`);
/** What `postgresSchema` returned for a table `Limits` when all limits of a bucket had one cost. */
const olderSchema = readFileSync(new URL("older-schema.sql", import.meta.url), "utf8").replaceAll("sluice_Schema", SCHEMA);

describeWith("postgres", "side by side on the same buckets", () => {
  const pools: pg.Pool[] = [];
  const newPool = (max = 4): pg.Pool => {
    const pool = new pg.Pool({ connectionString: postgresUrl(), max });
    pools.push(pool);
    return pool;
  };
  let pool: pg.Pool;
  beforeAll(() => void (pool = newPool()));
  beforeEach(async () => {
    await pool.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE; CREATE SCHEMA ${SCHEMA}; ${olderSchema}`);
    await new PostgresStore(pool, { table }).migrate();
  });
  afterAll(async () => {
    await pool.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`);
    await Promise.all(pools.map((each) => each.end()));
  });
  const storeOn = (client: PostgresClient, prepare?: boolean): PostgresStore => new PostgresStore(client, { table, denyCacheMs: 0, prepare });

  test("L1, L10 · 700 of 700 from each of ten buckets, one by one, in sums, together, and by the older function", async () => {
    const policy = definePolicy({ name: "exact", capacity: 700, refill: perHour(1) });
    const granted = new Map(KEYS.map((key) => [key, 0]));
    const take = (keys: readonly string[], tokens: number): void => keys.forEach((key) => granted.set(key, (granted.get(key) as number) + tokens));
    const [{ name, capacity, unitsPerMs, unitsPerToken, fullMs }] = policy.limits;
    const oldPool = newPool();
    /** Asks as a process of the older version does. */
    const askOlder = async (key: string, tokens: number): Promise<boolean> => {
      const text = `SELECT * FROM "${SCHEMA}"."Limits_decide"($1::text, $2::text[], $3::bigint[], $4::int[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint)`;
      const { rows } = await oldPool.query(text, ["c", [`exact ${key}`], [tokens], [1], [name], [capacity], [unitsPerMs], [unitsPerToken], [fullMs], null]);
      return (rows as { fits: boolean }[]).every(({ fits }) => fits);
    };
    const stores = [storeOn(newPool(), true), storeOn(newPool(), true), storeOn(newPool(), false), storeOn(withoutGrants(newPool()))];
    const callers = Array.from({ length: 60 }, async (_, caller) => {
      const store = stores[caller % stores.length] as PostgresStore;
      for (let i = 0; i < 160; i++) {
        const key = KEYS[(i * 7 + caller) % KEYS.length] as string;
        if (caller % 6 === 5) {
          if (await askOlder(key, 1)) take([key], 1);
        } else if (caller % 6 === 4) {
          const both = [key, KEYS[(i * 3 + caller + 1) % KEYS.length] as string];
          if (both[0] === both[1]) continue;
          if (i % 2 === 0) both.reverse();
          if ((await callsOf(store).together(both.map((each) => ({ policy, key: each, cost: 1 })))).every(({ allowed }) => allowed)) take(both, 1);
        } else if ((await callsOf(store).consume(policy, key, 1)).allowed) take([key], 1);
      }
    });
    await Promise.all(callers);
    // What calls together left, one by one. One token takes an hour to come back.
    for (const key of KEYS) while ((await callsOf((stores[0] as PostgresStore)).consume(policy, key, 1)).allowed) take([key], 1);
    expect([...granted.values()]).toEqual(KEYS.map(() => 700));
  }, 60_000);

  test("L10 · batches and calls together, in opposite orders and over few connections, never wait in a circle", async () => {
    const policy = definePolicy({ name: "circle", capacity: 1_000_000, refill: perHour(1) });
    const { rows } = await pool.query("SELECT deadlocks::int AS deadlocks FROM pg_stat_database WHERE datname = current_database()");
    const errors: unknown[] = [];
    const taken = new Map<string, number>();
    const stores = [storeOn(newPool(3)), storeOn(newPool(3)), storeOn(newPool(3))];
    let asked = 0;
    await Promise.all(
      stores.flatMap((store, process) =>
        Array.from({ length: 10 }, async (_, caller) => {
          for (let i = 0; i < 40; i++) {
            const from = (process + caller + i) % KEYS.length;
            const some = [...KEYS.slice(from), ...KEYS.slice(0, from)];
            if (i % 2 === 0) some.reverse();
            const calls = caller % 2 === 0 ? some.map((key) => [key]) : [some];
            const results = await Promise.allSettled(
              calls.map((names): Promise<unknown> => (names.length === 1 ? callsOf(store).consume(policy, names[0] as string, 1) : callsOf(store).together(names.map((key) => ({ policy, key, cost: 1 }))))),
            );
            for (const [n, result] of results.entries()) {
              if (result.status === "rejected") errors.push((result.reason as { code?: unknown }).code);
              else for (const key of calls[n] as string[]) taken.set(key, (taken.get(key) ?? 0) + 1);
            }
            asked += 1;
          }
        }),
      ),
    );
    // On a busy machine a lock may take a second. What fails so has taken nothing.
    expect(errors.filter((code) => code !== "55P03" && code !== "ERR_STORE_TIMEOUT")).toEqual([]);
    for (const key of KEYS) expect((await callsOf(storeOn(pool)).peek(policy, key, 0)).remaining).toBe(1_000_000 - (taken.get(key) ?? 0));
    const after = await pool.query("SELECT deadlocks::int AS deadlocks FROM pg_stat_database WHERE datname = current_database()");
    console.log(`Postgres, batches beside calls together: ${asked} rounds over ${KEYS.length} buckets, deadlocks of the database before and after ${rows[0].deadlocks} and ${after.rows[0].deadlocks}`);
  }, 60_000);

  test("a block stops both functions at once, whichever is asked", async () => {
    const policy = definePolicy({ name: "blocked", capacity: 1_000_000, refill: perHour(1) });
    const stores = [storeOn(newPool(), true), storeOn(newPool(), false), storeOn(withoutGrants(newPool()))];
    const late: unknown[] = [];
    let isBlocked = false;
    let stop = false;
    const callers = stores.flatMap((store) =>
      Array.from({ length: 5 }, async () => {
        while (!stop) {
          const wasBlocked = isBlocked;
          const decision = await callsOf(store).consume(policy, "one", 1);
          if (wasBlocked && decision.allowed) late.push(decision);
        }
      }),
    );
    while ((await callsOf(storeOn(pool)).peek(policy, "one", 0)).remaining > 999_900) await Promise.resolve();
    await callsOf(storeOn(pool)).block(policy, "one", 3_600_000);
    isBlocked = true;
    for (let i = 0; i < 50; i++) expect((await callsOf(storeOn(pool)).consume(policy, "one", 1)).allowed).toBe(false);
    stop = true;
    await Promise.all(callers);
    expect(late).toEqual([]);
  }, 60_000);
});
