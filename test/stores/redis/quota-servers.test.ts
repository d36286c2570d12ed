// A quota by the clock of a real server. This file waits for a real boundary, at most a minute.
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { createLimiter, daily, definePolicy, type AsyncStore } from "sluice";
import { PostgresStore, postgresSchema } from "sluice/postgres";
import { RedisStore } from "sluice/redis";
import { quotaRule } from "../../../src/calendar/rule.js";
import { describeWith, postgresUrl, redisUrl } from "../../helpers/services.js";

const two = (n: number): string => String(n).padStart(2, "0");
const tag = `quota${Math.random().toString(36).slice(2, 8)}`;

/** A daily quota that renews when the next minute begins. */
function soon(capacity: number) {
  const next = new Date(Date.now() + 60_000);
  return definePolicy({ name: tag, capacity, renews: daily({ at: `${two(next.getUTCHours())}:${two(next.getUTCMinutes())}` }) });
}

/** A quota whose process believes that it is 2020. */
function wrongClock() {
  const policy = definePolicy({ name: tag, capacity: 5, renews: daily() });
  const [limit] = policy.limits;
  const then = Date.parse("2020-01-01");
  const day = (now: number): [number, number] => [Math.floor(now / 86_400_000) * 86_400_000, Math.floor(now / 86_400_000) * 86_400_000 + 86_399_999];
  const rule = quotaRule({ calendar: "wrong", fullMs: 86_400_000, windowSeconds: 86_400 }, day);
  const skewed = { ...rule, numbersOf: (limits: never, _now: number, from: number | undefined) => rule.numbersOf(limits, then, from), clockFault: () => "Expected the clocks to agree, got 2020" };
  const renews = Object.defineProperty({ ...limit.renews }, "rule", { value: skewed });
  return definePolicy({ name: tag, capacity: 5, renews: renews as never });
}

function check(open: () => Promise<{ store: AsyncStore; stored: (key: string) => Promise<unknown> }>): void {
  test("L20 · crosses a real boundary: exactly the capacity before it, and again after the stated wait", { timeout: 90_000 }, async () => {
    const { store } = await open();
    // The boundary is at least 2 s away, so that the calls before it are in one day.
    while (60_000 - (Date.now() % 60_000) < 2_000) await new Promise((resolve) => setTimeout(resolve, 100));
    const limiter = createLimiter({ policy: soon(3), store });
    const before = await Promise.all(Array.from({ length: 5 }, () => limiter.consume("ann")));
    expect(before.map(({ allowed }) => allowed).sort()).toEqual([false, false, true, true, true]);
    const refusal = await limiter.consume("ann");
    const end = refusal.at + refusal.retryAfterMs;
    expect(end % 60_000).toBe(0);
    let first = refusal;
    while (!first.allowed) {
      await new Promise((resolve) => setTimeout(resolve, Math.max(5, Math.min(500, first.retryAfterMs - 50))));
      const asked = await limiter.consume("ann");
      // A remembered refusal may be older than the boundary, but no tokens come before it.
      if (asked.allowed) expect(asked.at).toBeGreaterThanOrEqual(end);
      first = asked;
    }
    expect(first).toMatchObject({ allowed: true, remaining: 2 });
  });

  test("L20 · a process whose clock is wrong by more than a period gets ERR_STORE_CLOCK, and nothing is written", async () => {
    const { store, stored } = await open();
    const limiter = createLimiter({ policy: wrongClock(), store });
    const before = await stored("bob");
    for (let i = 0; i < 7; i++) await expect(limiter.consume("bob")).rejects.toMatchObject({ name: "StoreError", code: "ERR_STORE_CLOCK" });
    await expect(limiter.credit("bob", 1)).rejects.toMatchObject({ code: "ERR_STORE_CLOCK" });
    expect(await stored("bob")).toEqual(before);
    await limiter.reset("bob");
  });
}

describeWith("redis", "quotas in Redis", () => {
  const client = new Redis(redisUrl());
  afterAll(() => client.quit());
  check(async () => ({ store: new RedisStore(client, { prefix: tag, timeoutMs: 5_000 }), stored: (key) => client.keys(`${tag}:${tag} ${key}`) }));
});

describeWith("postgres", "quotas in Postgres", () => {
  const pool = new pg.Pool({ connectionString: postgresUrl() });
  afterAll(async () => {
    await pool.query(`DROP TABLE IF EXISTS ${tag} CASCADE`);
    await pool.end();
  });
  check(async () => {
    const store = new PostgresStore(pool, { table: tag, timeoutMs: 5_000 });
    await store.migrate();
    return { store, stored: async (key) => (await pool.query(`SELECT * FROM ${tag} WHERE bucket = $1`, [`${tag} ${key}`])).rows };
  });

  test("a logged table survives a crash", async () => {
    await pool.query(postgresSchema(`${tag}_kept`, { logged: true }));
    const { rows } = await pool.query(`SELECT relpersistence FROM pg_class WHERE relname = $1`, [`${tag}_kept`]);
    expect(rows).toEqual([{ relpersistence: "p" }]);
    await pool.query(`DROP TABLE ${tag}_kept CASCADE`);
  });
});
