// A limiter as it comes, before a Postgres that cannot be heard any more. The server itself is shared, so the way to it is cut.
import pg from "pg";
import { createLimiter, type Decision } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Crowd, policy } from "../../helpers/crowd.js";
import { pause } from "../../helpers/load.js";
import { describeWith, postgresUrl } from "../../helpers/services.js";
import { startSilentProxy, type SilentProxy } from "../../helpers/silent-proxy.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const table = "sluice_outage";
const url = new URL(postgresUrl());

describeWith("postgres", "the way to Postgres goes silent", () => {
  let direct: pg.Pool;
  let proxy: SilentProxy;
  const pools: pg.Pool[] = [];

  beforeAll(async () => {
    direct = new pg.Pool({ connectionString: url.href, max: 2 });
    await direct.query(`DROP TABLE IF EXISTS ${table}`);
    await new PostgresStore(direct, { table }).migrate();
  });
  beforeEach(async ({ onTestFinished }) => {
    await direct.query(`TRUNCATE ${table}`);
    proxy = await startSilentProxy(url.hostname, Number(url.port || 5432));
    onTestFinished(async () => {
      proxy.stop();
      await Promise.all(pools.splice(0).map((pool) => pool.end()));
    });
  });
  afterAll(async () => {
    await direct.query(`DROP TABLE ${table}; DROP FUNCTION ${table}_decide, ${table}_grant`);
    await direct.end();
  });

  /** A pool that goes through the proxy. */
  function poolOf(options: pg.PoolConfig): pg.Pool {
    const through = new URL(url);
    [through.hostname, through.port] = ["127.0.0.1", String(proxy.port)];
    const pool = new pg.Pool({ connectionString: through.href, max: 4, ...options }).on("error", () => undefined);
    pools.push(pool);
    return pool;
  }

  const advised = { connectionTimeoutMillis: 500, statement_timeout: 500, query_timeout: 1_000 };
  const charged = async (): Promise<number> => policy.maxCost - (await callsOf(new PostgresStore(direct, { table })).peek(policy, "one", 0)).remaining;

  test("L12 · for a while, and what was held back comes late: with the settings of the page", async () => {
    const crowd = new Crowd(new PostgresStore(poolOf(advised), { table }));
    await crowd.isServed();
    proxy.silence();
    await crowd.hears("unavailable");
    await crowd.usesUpItsShare();
    proxy.speak("late");
    const recovered = await crowd.isServed();
    await crowd.end("Postgres, silent for a while", recovered);
    expect(crowd.states.at(-1)).toBe("available");
    // What was given up on may have been charged, which is granted to nobody.
    expect(crowd.granted).toBeLessThanOrEqual(policy.maxCost);
    expect(await charged()).toBeGreaterThanOrEqual(crowd.granted);
  });

  test("L12 · for ever on the connections that there were: with the settings of the page, others take their place", async () => {
    const pool = poolOf(advised);
    const crowd = new Crowd(new PostgresStore(pool, { table }));
    await crowd.isServed();
    const before = proxy.accepted;
    proxy.silence();
    await crowd.hears("unavailable");
    await crowd.usesUpItsShare();
    proxy.speak("lost");
    const recovered = await crowd.isServed();
    await crowd.end("Postgres, connections lost without a word", recovered);
    expect(crowd.states.at(-1)).toBe("available");
    expect(crowd.granted).toBeLessThanOrEqual(policy.maxCost);
    expect(proxy.accepted).toBeGreaterThan(before);
    expect(pool.totalCount).toBeLessThanOrEqual(4);
  });

  test("from the start: nothing waits for it at construction, and it is found when it is there", async () => {
    proxy.silence();
    const crowd = new Crowd(new PostgresStore(poolOf(advised), { table }));
    await crowd.hears("unavailable");
    await crowd.usesUpItsShare();
    expect(crowd.granted).toBe(0);
    proxy.speak("lost");
    const recovered = await crowd.isServed();
    await crowd.end("Postgres, silent from the start", recovered);
    expect(crowd.states.at(-1)).toBe("available");
  });

  test("L12 · for ever on the connections that there were, with the settings of pg: its bucket is decided again, on another", async () => {
    const crowd = new Crowd(new PostgresStore(poolOf({ max: 20 }), { table }));
    await crowd.isServed();
    proxy.silence();
    await crowd.hears("unavailable");
    await crowd.usesUpItsShare();
    proxy.speak("lost");
    const recovered = await crowd.isServed();
    await crowd.end("Postgres, connections lost and no query_timeout", recovered);
    expect(crowd.states.at(-1)).toBe("available");
    expect(crowd.granted).toBeLessThanOrEqual(policy.maxCost);
  });

  test("L12 · one connection is lost, with the settings of pg: the store decides for other callers, and soon for its own", async () => {
    const pool = poolOf({ max: 20 });
    const store = new PostgresStore(pool, { table, timeoutMs: 900, breaker: false });
    const limiter = createLimiter({ policy, store });
    await pool.query("SELECT 1"); // opens the connection that is lost
    proxy.silence();
    proxy.speak("lost");
    const lost = Array.from({ length: 10 }, () => limiter.consume("hot"));
    await pause(0); // those of the same tick would be in the lost statement
    const others = (async (): Promise<Decision[]> => {
      const decisions: Decision[] = [];
      for (let i = 0; i < 200; i++, await pause(5)) decisions.push(await limiter.consume(`other ${i % 50}`));
      return decisions;
    })();
    expect((await Promise.all(lost)).every(({ degraded }) => degraded)).toBe(true);
    expect(await callsOf(store).consume(policy, "hot", 1)).toMatchObject({ allowed: true });
    expect(await limiter.consume("hot")).toMatchObject({ degraded: false, allowed: true });
    expect((await others).filter(({ degraded }) => degraded)).toEqual([]);
  });
});
