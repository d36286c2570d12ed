// Numbers of examples/live-limits that change in two running processes, over Redis and over Postgres.
import type { ChildProcess } from "node:child_process";
import { Redis } from "ioredis";
import pg from "pg";
import type { Decision } from "sluice";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LiveLimits, type Numbers } from "../../examples/live-limits/live-limits.js";
import { followPostgres } from "../../examples/live-limits/over-postgres.js";
import { followRedis } from "../../examples/live-limits/over-redis.js";
import { messageFrom, startProcess } from "../helpers/processes.js";
import { describeWith, postgresUrl, redisUrl } from "../helpers/services.js";

const DEFAULTS = { interactive: { capacity: 10, tokens: 1, everyMs: 3_600_000 } };
const SOON = { timeout: 10_000, interval: 20 };

test("impossible numbers and unknown names are refused, and the old numbers stay", () => {
  const limits = new LiveLimits(DEFAULTS);
  for (const wrong of [{ capacity: 0 }, { capacity: 1.5 }, { tokens: -1 }, { everyMs: NaN }, { capacity: "9" }]) {
    expect(() => limits.set("interactive", { ...DEFAULTS.interactive, ...wrong } as Numbers)).toThrow(/^(Policy "interactive": )?Expected /);
  }
  expect(() => limits.set("interactve", DEFAULTS.interactive)).toThrow("Expected one of the policies interactive, got interactve");
  expect(limits.policy("interactive").maxCost).toBe(10);
});

describeWith("redis", "with Redis", () => {
  describeWith("postgres", "and Postgres", () => {
    describe.each(["Redis", "Postgres"])("live limits over %s", (way) => {
      const name = `live_limits_${process.pid}_${way.toLowerCase()}`;
      const prefix = `live-${process.pid}-${way}`;
      let redis: Redis;
      let pool: pg.Pool;
      let children: ChildProcess[];
      let own: LiveLimits;
      let follower: Awaited<ReturnType<typeof followRedis>>;
      beforeEach(async () => {
        redis = new Redis(redisUrl());
        pool = new pg.Pool({ connectionString: postgresUrl() });
        own = new LiveLimits(DEFAULTS);
        follower = way === "Redis" ? await followRedis(own, redis, name) : await followPostgres(own, pool, name);
        children = await Promise.all([1, 2].map(() => startProcess("test/examples/live-limits-child.ts", [way, redisUrl(), postgresUrl(), prefix, name])));
        await Promise.all(children.map((child) => messageFrom(child)));
      });
      afterEach(async () => {
        vi.restoreAllMocks();
        for (const child of children) child.kill("SIGKILL");
        follower.close();
        const keys = await redis.keys(`*${prefix}*`);
        await redis.del(name, ...keys);
        await pool.query(`DROP TABLE IF EXISTS ${name}`);
        redis.disconnect();
        await pool.end();
      });
      const ask = (child: number, cost: number): Promise<Decision> => {
        const answer = messageFrom<Decision>(children[child] as ChildProcess);
        children[child]?.send(cost);
        return answer;
      };

      test("a number changes in two running processes, and what was spent stays spent", async () => {
        expect(await ask(0, 8)).toMatchObject({ allowed: true, remaining: 2, capacity: 10 });
        await follower.set("interactive", { capacity: 20, tokens: 1, everyMs: 3_600_000 });
        for (const child of [0, 1]) await vi.waitFor(async () => expect((await ask(child, 0)).capacity).toBe(20), SOON);
        expect(await ask(1, 0)).toMatchObject({ remaining: 12 }); // 8 are spent
        await follower.set("interactive", { capacity: 5, tokens: 1, everyMs: 3_600_000 });
        for (const child of [0, 1]) await vi.waitFor(async () => expect((await ask(child, 0)).capacity).toBe(5), SOON);
        // 8 are spent of 5: the caller waits until 4 have come back.
        expect(await ask(0, 1)).toMatchObject({ allowed: false, remaining: 0 });
        expect(own.policy("interactive").maxCost).toBe(5);
      });

      test("impossible numbers reach no one, also when somebody else wrote them", async () => {
        await expect(follower.set("interactive", { capacity: 0, tokens: 1, everyMs: 1 })).rejects.toThrow(/Expected `capacity`/);
        const complained = vi.spyOn(console, "error").mockImplementation(() => undefined);
        if (way === "Redis") await redis.multi().hset(name, "interactive", '{"capacity":0}').hset(name, "gone", "x").publish(name, "x").exec();
        else await pool.query(`INSERT INTO ${name} VALUES ('interactive', 0, 1, 1), ('gone', 1, 1, 1); SELECT pg_notify('${name}', '')`);
        await vi.waitFor(() => expect(complained.mock.calls.length).toBeGreaterThanOrEqual(2), SOON);
        expect(own.policy("interactive").maxCost).toBe(10);
        for (const child of [0, 1]) expect((await ask(child, 0)).capacity).toBe(10);
        await follower.set("interactive", { capacity: 11, tokens: 1, everyMs: 1_000 });
        for (const child of [0, 1]) await vi.waitFor(async () => expect((await ask(child, 0)).capacity).toBe(11), SOON);
      });

      test("a process that lost its connection reads the numbers when it has it again", async () => {
        const ids = async (): Promise<string[]> => [...String(await redis.client("LIST")).matchAll(/id=(\d+) [^\n]*name=(\S+)/g)].filter(([, , of]) => of === name).map(([, id = ""]) => id);
        if (way === "Redis") for (const id of await ids()) await redis.client("KILL", "ID", id);
        else await pool.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = $1", [`LISTEN ${name}`]);
        await follower.set("interactive", { capacity: 7, tokens: 1, everyMs: 1_000 });
        for (const child of [0, 1]) await vi.waitFor(async () => expect((await ask(child, 0)).capacity).toBe(7), SOON);
      });
    });
  });
});
