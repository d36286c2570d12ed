// A quota by the clock of a real server. This file waits for a real boundary, at most a minute.
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLimiter, daily, definePolicy, monthly, run, whenDone, type AsyncStore } from "sluice";
import { PostgresStore, postgresSchema } from "sluice/postgres";
import { RedisStore } from "sluice/redis";
import { describeWith, postgresUrl, redisUrl } from "../../helpers/services.js";
import { hearWarnings } from "../../helpers/warned.js";

const two = (n: number): string => String(n).padStart(2, "0");
const tag = `quota${Math.random().toString(36).slice(2, 8)}`;

/** A daily quota that renews when the next minute begins. */
function soon(capacity: number) {
  const next = new Date(Date.now() + 60_000);
  return definePolicy({ name: tag, capacity, renews: daily({ at: `${two(next.getUTCHours())}:${two(next.getUTCMinutes())}` }) });
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

// A test that is tried again has new callers.
let tries = 0;
beforeEach(() => void (tries += 1));

function check(open: () => Promise<{ store: AsyncStore; stored: (key: string) => Promise<unknown> }>): void {
  test("L20 · crosses a real boundary: exactly the capacity before it, and again after the stated wait", { timeout: 90_000 }, async () => {
    const { store } = await open();
    // The boundary is at least 2 s away, so that the calls before it are in one day.
    while (60_000 - (Date.now() % 60_000) < 2_000) await new Promise((resolve) => setTimeout(resolve, 100));
    const limiter = createLimiter({ policy: soon(3), store });
    const ann = `ann ${tries}`;
    const before = await Promise.all(Array.from({ length: 5 }, () => limiter.consume(ann)));
    expect(before.map(({ allowed }) => allowed).sort()).toEqual([false, false, true, true, true]);
    const refusal = await limiter.consume(ann);
    const end = refusal.at + refusal.retryAfterMs;
    expect(end % 60_000).toBe(0);
    let first = refusal;
    while (!first.allowed) {
      await new Promise((resolve) => setTimeout(resolve, Math.max(5, Math.min(500, first.retryAfterMs - 50))));
      const asked = await limiter.consume(ann);
      // A remembered refusal may be older than the boundary, but no tokens come before it.
      if (asked.allowed) expect(asked.at).toBeGreaterThanOrEqual(end);
      first = asked;
    }
    expect(first).toMatchObject({ allowed: true, remaining: 2 });
  });

  test.each([-1, 1])("L20 · a process whose clock is wrong by %i day, a period, renews by the server's day", async (days) => {
    const { store } = await open();
    const limiter = createLimiter({ policy: { name: `${tag}day`, capacity: 5, renews: daily() }, store });
    const { now } = Date;
    vi.spyOn(Date, "now").mockImplementation(() => now() + days * 86_400_000);
    const { at, resetMs, remaining } = await limiter.consume(`carl ${tries}`);
    expect([(at + resetMs) % 86_400_000, remaining]).toEqual([0, 4]);
    expect(resetMs).toBeLessThanOrEqual(86_400_000);
    expect((await limiter.consume(`carl ${tries}`)).remaining).toBe(3);
  });

  test.each([-3, 3])("L20 · a process whose clock is wrong by %i days, more than a period, gets ERR_STORE_CLOCK, and nothing is written", async (days) => {
    const { store, stored } = await open();
    // The clock is right to a month, and wrong by some days.
    const limiter = createLimiter({ policy: { name: tag, limits: [{ name: "month", capacity: 5, renews: monthly() }, { name: "day", capacity: 5, renews: daily() }] }, store });
    const before = await stored("bob");
    const { now } = Date;
    vi.spyOn(Date, "now").mockImplementation(() => now() + days * 86_400_000);
    for (let i = 0; i < 7; i++) {
      await expect(limiter.consume("bob")).rejects.toMatchObject({ name: "StoreError", code: "ERR_STORE_CLOCK", message: expect.stringMatching(/^Expected the clocks of this process and the store to be within a period, got 20\S+ here and 20\S+ there/) as string });
    }
    await expect(limiter.credit("bob", { cost: { day: 1 } })).rejects.toMatchObject({ code: "ERR_STORE_CLOCK" });
    expect(await stored("bob")).toEqual(before);
    // These need no date.
    await limiter.block("bob", 1_000);
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

  test.each([
    ["production", undefined, true],
    ["production", { logged: true }, false],
    ["test", undefined, false],
  ])("SLUICE_QUOTA_IN_MEMORY · under NODE_ENV=%s, with the options %o of postgresSchema: %s", async (mode, options, warns) => {
    const warned = hearWarnings();
    vi.stubEnv("NODE_ENV", mode);
    const table = `${tag}_kept`;
    await pool.query(postgresSchema(table, options));
    const own = new pg.Pool({ connectionString: postgresUrl(), max: 1 });
    try {
      const { rows } = await own.query(`SELECT relpersistence FROM pg_class WHERE relname = $1`, [table]);
      expect(rows).toEqual([{ relpersistence: options?.logged ? "p" : "u" }]);
      const store = new PostgresStore(own, { table, timeoutMs: 5_000 });
      // Tokens of a limit in flight need not survive: the work that held them did not.
      const parallel = createLimiter({ policy: { name: `${tag}w`, capacity: 1, returns: whenDone() }, store });
      await run(parallel, "ann", () => undefined);
      expect(warned).toEqual([]);
      const limiter = createLimiter({ policy: soon(3), store });
      for (let i = 0; i < 3; i++) await limiter.consume("ann");
      const message = `SLUICE_QUOTA_IN_MEMORY: Expected the quota of policy "${tag}" to survive a crash of Postgres, got the unlogged table "${table}". Run ALTER TABLE "${table}" SET LOGGED`;
      expect(warned).toEqual(warns ? [message] : []);
      if (warns) await own.query(`ALTER TABLE "${table}" SET LOGGED`);
    } finally {
      await own.end();
      await pool.query(`DROP TABLE ${table} CASCADE`);
    }
  });
});
