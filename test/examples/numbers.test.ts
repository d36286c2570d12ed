// One customer's numbers, set on the operators' page of one process: another process follows, and `npx sluice peek` agrees.
import { execFile, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Redis } from "ioredis";
import pg from "pg";
import { createLimiter, MemoryStore, type Decision, type PlainLimiter } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { RedisStore } from "sluice/redis";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createAdmin, type ShownCaller } from "../../examples/admin/admin.js";
import { Controls, type Control } from "../../examples/admin/controls.js";
import { RecentCallers } from "../../examples/admin/recent-callers.js";
import { onlyThisProcess } from "../../examples/admin/share.js";
import type { Follower } from "../../examples/live-limits/keep-reading.js";
import { followPostgres } from "../../examples/live-limits/over-postgres.js";
import { followRedis } from "../../examples/live-limits/over-redis.js";
import { bundled } from "../helpers/bundled.js";
import { messageFrom, startProcess } from "../helpers/processes.js";
import { describeWith, postgresUrl, redisUrl } from "../helpers/services.js";
import { PASSWORD, post, signedIn } from "./admin-calls.js";

const SOON = { timeout: 20_000, interval: 50 };
const FOR_ALL = { capacity: 10, tokens: 1, everyMs: 3_600_000 };
const RAISED = { capacity: 100, tokens: 2, everyMs: 3_600_000 };

describeWith("redis", "with Redis", () => {
  describeWith("postgres", "and Postgres", () => {
    describe.each(["Redis", "Postgres"])("one customer's numbers over %s", (way) => {
      const name = `numbers_${process.pid}_${way.toLowerCase()}`;
      let redis: Redis;
      let pool: pg.Pool;
      let limiter: PlainLimiter;
      let follower: Follower<Control>;
      let server: Server;
      let admin: string;
      let child: ChildProcess;
      let lines: Record<string, unknown>[];
      const env = { NUMBERS_WAY: way, NUMBERS_NAME: name, REDIS_AT: redisUrl(), POSTGRES_AT: postgresUrl() };
      beforeEach(async () => {
        [redis, pool, lines] = [new Redis(redisUrl()), new pg.Pool({ connectionString: postgresUrl() }), []];
        const controls = new Controls({ interactive: FOR_ALL });
        follower = way === "Redis" ? await followRedis(controls, redis, `${name}_limits`) : await followPostgres(controls, pool, `${name}_limits`);
        const store = way === "Redis" ? new RedisStore(redis, { prefix: name, timeoutMs: 5_000, denyCacheMs: 0 }) : new PostgresStore(pool, { table: name, timeoutMs: 5_000, denyCacheMs: 0 });
        if (store instanceof PostgresStore) await store.migrate();
        limiter = createLimiter({ policy: controls.policy("interactive"), store });
        const page = createAdmin({
          limiters: { inbox: { limiter, policy: (key) => controls.policy("interactive", key) }, fixed: { limiter: createLimiter({ policy: { name: "fixed", capacity: 1, refill: { tokens: 1, everyMs: 1 } } }) } },
          controls, change: follower, counts: onlyThisProcess(new RecentCallers()), operators: { ann: PASSWORD }, store: new MemoryStore(), secure: false,
          audit: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
        });
        server = createServer(page).listen(0, "127.0.0.1");
        await once(server, "listening");
        admin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
        for (const [each, value] of Object.entries(env)) vi.stubEnv(each, value);
        child = await startProcess("test/examples/numbers-child.ts", []);
        await messageFrom(child);
      });
      afterEach(async () => {
        vi.unstubAllEnvs();
        child.kill("SIGKILL");
        follower.close();
        server.close().closeAllConnections();
        const keys = await redis.keys(`*${name}*`);
        if (keys.length > 0) await redis.del(...keys);
        for (const table of [name, `${name}_limits`]) await pool.query(`DROP TABLE IF EXISTS ${table} CASCADE`);
        const { rows } = await pool.query<{ drop: string }>("SELECT 'DROP FUNCTION IF EXISTS ' || oid::regprocedure AS drop FROM pg_proc WHERE proname LIKE $1", [`${name}%`]);
        for (const row of rows) await pool.query(row.drop);
        redis.disconnect();
        await pool.end();
      });

      /** What a call in the other process gets. */
      const calls = (user: string, cost: number): Promise<Decision> => {
        const answer = messageFrom<Decision>(child);
        child.send([user, cost]);
        return answer;
      };
      const peeks = async (...key: string[]): Promise<{ readonly code: unknown; readonly out: string }> => {
        const [command, module] = await Promise.all([bundled("src/command/main.ts"), bundled("test/examples/numbers-module.ts")]);
        return new Promise((resolve) => {
          execFile(process.execPath, [command, "peek", module, "interactive", ...key], { timeout: 30_000 }, (error, out, err) => resolve({ code: error?.code ?? 0, out: out + err }));
        });
      };
      const shown = async (headers: { cookie: string }): Promise<ShownCaller> => (await (await post(admin, "peek", { limiter: "inbox", key: ["user", "42"] }, headers)).json()) as ShownCaller;

      test("set on the page, they hold in another process, and peek agrees; removed, those for all hold again", async () => {
        const headers = await signedIn(admin);
        const wish = { limiter: "inbox", key: ["user", 42], reason: "ticket 4711" };
        expect(await calls("42", 8)).toMatchObject({ allowed: true, remaining: 2, capacity: 10 });
        const before = await shown(headers);
        expect(before).toMatchObject({ levels: [{ remaining: 2, capacity: 10 }], numbers: { ...FOR_ALL, isOwn: false } });

        expect((await post(admin, "numbers", { ...wish, numbers: RAISED, was: before.numbers }, headers)).status).toBe(200);
        expect(await shown(headers)).toMatchObject({ levels: [{ remaining: 92, capacity: 100 }], numbers: { ...RAISED, isOwn: true } }); // what was spent stays spent
        await vi.waitFor(async () => expect(await calls("42", 0)).toMatchObject({ remaining: 92, capacity: 100 }), SOON);
        expect(await calls("43", 0)).toMatchObject({ capacity: 10 });
        expect(await peeks("user", "42")).toMatchObject({ code: 0, out: expect.stringMatching(/: 92 of 100 left, .*\n.*\nThis is by the caller's own numbers, callers\.\["user","42"\]\.\n$/) as string });
        expect((await peeks("user", "42", "--policy", 'callers.["user","42"]')).out).toContain(": 92 of 100 left");
        expect(await peeks("user", "43", "--policy", 'callers.["user","43"]')).toMatchObject({ code: 2, out: expect.stringContaining(`It exports 'callers.["user","42"]'\n`) as string });

        const own = (await shown(headers)).numbers;
        expect((await post(admin, "numbers", { ...wish, numbers: null, was: own }, headers)).status).toBe(200);
        await vi.waitFor(async () => expect(await calls("42", 0)).toMatchObject({ remaining: 2, capacity: 10 }), SOON);
        expect((await peeks("user", "42")).out).toMatch(/: 2 of 10 left, .*\nA call now is allowed\.\n$/);
        expect(lines.slice(1)).toMatchObject([
          { operator: "ann", verb: "numbers", policy: "interactive", key: ["user", 42], before: { ...FOR_ALL, isOwn: false }, after: RAISED, outcome: "done", reason: "ticket 4711" },
          { verb: "numbers", before: { ...RAISED, isOwn: true }, after: null, outcome: "done" },
        ]);
      }, 60_000);

      test("what is wrong is said, and changes nothing", async () => {
        const headers = await signedIn(admin);
        const was = { ...FOR_ALL, isOwn: false };
        const right = { limiter: "inbox", key: ["user", 42], numbers: RAISED, was, reason: "ticket 4711" };
        const wrongs = [{ limiter: "constructor" }, { limiter: "fixed" }, { key: [] }, { key: "" }, { numbers: {} }, { numbers: [] }, { numbers: 5 }, { numbers: { ...RAISED, capacity: 0 } }, { numbers: { ...RAISED, tokens: "9" } }, { numbers: { ...RAISED, everyMs: 0.5 } }, { reason: "" }];
        for (const wrong of wrongs) {
          const response = await post(admin, "numbers", { ...right, ...wrong }, headers);
          expect([response.status, ((await response.json()) as { message: string }).message], JSON.stringify(wrong)).toEqual([400, expect.stringContaining("Expected ")]);
        }
        for (const body of [{ ...right, was: { ...was, isOwn: true } }, { ...right, was: { ...was, capacity: 9 } }, { ...right, was: undefined }]) {
          const response = await post(admin, "numbers", body, headers);
          expect([response.status, await response.json()]).toEqual([409, { message: "These numbers were changed meanwhile: capacity 10, 1 token every 3600 s. Nothing was changed.", now: was }]);
        }
        expect((await post(admin, "numbers", right)).status).toBe(401);
        expect((await shown(headers)).numbers).toEqual(was);
        expect(lines.map(({ verb }) => verb)).toEqual(["sign-in"]);
      });
    });
  });
});
