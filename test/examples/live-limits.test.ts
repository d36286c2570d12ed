// Numbers of examples/live-limits that change in two running processes, over Redis and over Postgres.
import { execFile, type ChildProcess } from "node:child_process";
import { connect, createServer, type Server, type Socket } from "node:net";
import { Redis } from "ioredis";
import pg from "pg";
import { createLimiter, type Decision, type Policy } from "sluice";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Controls, type Control } from "../../examples/admin/controls.js";
import { keepReading, type Follower } from "../../examples/live-limits/keep-reading.js";
import { LiveLimits, ownName, type Numbers } from "../../examples/live-limits/live-limits.js";
import { followPostgres } from "../../examples/live-limits/over-postgres.js";
import { followRedis } from "../../examples/live-limits/over-redis.js";
import { bundled } from "../helpers/bundled.js";
import { freePort } from "../helpers/free-port.js";
import { startRedis } from "../helpers/own-redis.js";
import { messageFrom, startProcess } from "../helpers/processes.js";
import { describeWith, postgresUrl, redisUrl } from "../helpers/services.js";
import { soon } from "../helpers/soon.js";

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

test("stored numbers win over those of the code, and leave with their row", () => {
  const limits = new LiveLimits(DEFAULTS);
  const complained = vi.spyOn(console, "error").mockImplementation(() => undefined);
  limits.take(new Map([["interactive", JSON.stringify({ capacity: 20, tokens: 1, everyMs: 1_000 })]]));
  expect(limits.policy("interactive").maxCost).toBe(20);
  for (const text of ["null", "5", "{", '{"capacity":0}', '{"capacity":0}']) limits.take(new Map([["interactive", text], ["of another service", "x"]]));
  expect(limits.policy("interactive").maxCost).toBe(20);
  expect(complained).toHaveBeenCalledTimes(5); // each once
  limits.take(new Map());
  expect(limits.numbers("interactive")).toEqual(DEFAULTS.interactive);
  vi.restoreAllMocks();
});

test("one caller's own numbers win over the policy's, under the policy's name, and leave with their row", () => {
  const limits = new LiveLimits(DEFAULTS);
  const [ann, bob] = [["user", "42"], "ann"] as const;
  const row = (capacity: number): string => JSON.stringify({ capacity, tokens: 1, everyMs: 1_000 });
  limits.take(new Map([[ownName("interactive", ann), row(100)], [ownName("interactive", bob), row(50)], ["interactive", row(20)]]));
  expect([limits.policy("interactive", ["user", 42]), limits.policy("interactive", "ann"), limits.policy("interactive", ["user", "43"]), limits.policy("interactive", null)].map((policy) => [policy.name, policy.maxCost]))
    .toEqual([["interactive", 100], ["interactive", 50], ["interactive", 20], ["interactive", 20]]);
  expect(Object.keys(limits.callers("interactive"))).toEqual(['["user","42"]', '"ann"']);
  expect(limits.names).toEqual(["interactive"]);
  expect(() => limits.set(ownName("interactive", ann), { capacity: 0, tokens: 1, everyMs: 1 })).toThrow("Expected ");
  expect(() => limits.set(ownName("other", ann), DEFAULTS.interactive)).toThrow("Expected one of the policies interactive, got other");
  limits.take(new Map([[ownName("interactive", bob), row(50)]]));
  expect([limits.policy("interactive", ann).maxCost, limits.policy("interactive", bob).maxCost]).toEqual([10, 50]);
  limits.unset(ownName("interactive", bob));
  expect(limits.policy("interactive", bob).maxCost).toBe(10);
});

describe("reading", () => {
  afterEach(() => void vi.useRealTimers());

  test("one read at a time, and once more for what was asked meanwhile: no older answer comes last", async () => {
    const answers: (() => void)[] = [];
    const reader = keepReading(() => new Promise((resolve) => answers.push(resolve)));
    const all = [reader.readNow(), reader.readNow(), reader.readNow()];
    expect(answers).toHaveLength(1);
    answers[0]?.();
    await soon(() => expect(answers).toHaveLength(2));
    answers[1]?.();
    await Promise.all(all);
    expect(answers).toHaveLength(2);
    reader.close();
  });

  test("again each minute, a second after a failure, which is reported once, and never after `close`", async () => {
    vi.useFakeTimers();
    const complained = vi.spyOn(console, "error").mockImplementation(() => undefined);
    let reads = 0;
    let fails = false;
    const reader = keepReading(async () => {
      reads += 1;
      if (fails) throw new Error("connection lost");
    });
    await reader.started();
    await vi.advanceTimersByTimeAsync(59_999);
    expect(reads).toBe(1);
    fails = true;
    await vi.advanceTimersByTimeAsync(1);
    expect(reads).toBe(2);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(reads).toBe(4);
    expect(complained).toHaveBeenCalledTimes(1);
    fails = false;
    await vi.advanceTimersByTimeAsync(1_000);
    reader.close();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(reads).toBe(5);
    vi.restoreAllMocks();
  });
});

/** A door to a server that is opened later. */
async function openDoor(port: number, url: string): Promise<Server> {
  const sockets = new Set<Socket>();
  const door = createServer((near) => {
    const far = connect(Number(new URL(url).port || 5432), new URL(url).hostname);
    for (const socket of [near, far]) sockets.add(socket.on("error", () => undefined).on("close", () => (near.destroy(), far.destroy())));
    near.pipe(far).pipe(near);
  });
  door.once("close", () => sockets.forEach((socket) => socket.destroy()));
  await new Promise<void>((resolve) => door.listen(port, "127.0.0.1", resolve));
  return door;
}

describeWith("redis", "with Redis", () => {
  describeWith("postgres", "and Postgres", () => {
    describe.each(["Redis", "Postgres"])("live limits over %s", (way) => {
      const name = `live_limits_${process.pid}_${way.toLowerCase()}`;
      const prefix = `live-${process.pid}-${way}`;
      let redis: Redis;
      let pool: pg.Pool;
      let children: ChildProcess[];
      let own: Controls;
      let follower: Follower<Control>;
      beforeEach(async () => {
        redis = new Redis(redisUrl());
        pool = new pg.Pool({ connectionString: postgresUrl() });
        own = new Controls(DEFAULTS);
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

      test("one caller's limit is raised and taken back, in all processes that follow", async () => {
        const other = new Controls(DEFAULTS);
        const second = way === "Redis" ? await followRedis(other, redis, name) : await followPostgres(other, pool, name);
        const key = ["user", 42] as const;
        await follower.set(ownName("interactive", key), { capacity: 100, tokens: 1, everyMs: 3_600_000 });
        expect(own.policy("interactive", key).maxCost).toBe(100); // here at once
        await vi.waitFor(() => expect(other.policy("interactive", ["user", "42"]).maxCost).toBe(100), SOON);
        expect([other.policy("interactive", ["user", "43"]).maxCost, other.list().length]).toEqual([10, 1]);
        await second.unset(ownName("interactive", key));
        await vi.waitFor(() => expect(own.policy("interactive", key).maxCost).toBe(10), SOON);
        second.close();
      });

      test("a policy goes on trial in all processes, and back to the numbers of the code", async () => {
        const other = new Controls(DEFAULTS);
        const second = way === "Redis" ? await followRedis(other, redis, name) : await followPostgres(other, pool, name);
        const numbers = { capacity: 20, tokens: 2, everyMs: 1_000, shadow: true };
        await follower.set("interactive", numbers);
        expect(own.list()).toEqual([{ name: "interactive", ...numbers }]); // here at once
        await vi.waitFor(() => expect(other.list()).toEqual([{ name: "interactive", ...numbers }]), SOON);
        await second.unset("interactive");
        expect(other.list()).toEqual([{ name: "interactive", ...DEFAULTS.interactive, shadow: false }]);
        await vi.waitFor(() => expect(own.list()).toEqual(other.list()), SOON);
        for (const child of [0, 1]) await vi.waitFor(async () => expect((await ask(child, 0)).capacity).toBe(10), SOON);
        await expect(second.unset("interactve")).rejects.toThrow("Expected one of the policies interactive, got interactve");
        second.close();
      });

      test("impossible numbers reach no one, also when another program wrote them", async () => {
        await expect(follower.set("interactive", { capacity: 0, tokens: 1, everyMs: 1 })).rejects.toThrow(/Expected `capacity`/);
        const complained = vi.spyOn(console, "error").mockImplementation(() => undefined);
        if (way === "Redis") await redis.multi().hset(name, "interactive", '{"capacity":0}').hset(name, "gone", "x").publish(name, "x").exec();
        else await pool.query(`INSERT INTO ${name} VALUES ('interactive', '{"capacity":0}'), ('gone', '5'); SELECT pg_notify('${name}', '')`);
        await vi.waitFor(() => expect(complained.mock.calls.length).toBeGreaterThanOrEqual(2), SOON);
        expect(own.policy("interactive").maxCost).toBe(10);
        for (const child of [0, 1]) expect((await ask(child, 0)).capacity).toBe(10);
        await follower.set("interactive", { capacity: 11, tokens: 1, everyMs: 1_000 });
        for (const child of [0, 1]) await vi.waitFor(async () => expect((await ask(child, 0)).capacity).toBe(11), SOON);
      });

      test("a process that lost its connection reads the numbers when it has it again", async () => {
        const ids = async (): Promise<string[]> => [...String(await redis.client("LIST")).matchAll(/id=(\d+) [^\n]*name=(\S+)/g)].filter(([, , of]) => of === name).map(([, id = ""]) => id);
        if (way === "Redis") for (const id of await ids()) await redis.client("KILL", "ID", id);
        else expect((await pool.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = $1", [`SELECT name, numbers::text FROM ${name}`])).rowCount).toBe(3);
        await follower.set("interactive", { capacity: 7, tokens: 1, everyMs: 1_000 });
        for (const child of [0, 1]) await vi.waitFor(async () => expect((await ask(child, 0)).capacity).toBe(7), SOON);
      });
    });

    test("many processes that start at once make one table", async () => {
      const table = `live_limits_${process.pid}_race`;
      const pools = Array.from({ length: 8 }, () => new pg.Pool({ connectionString: postgresUrl(), max: 1 }));
      const complained = vi.spyOn(console, "error").mockImplementation(() => undefined);
      try {
        await Promise.all(pools.map((pool) => pool.query("SELECT 1"))); // connected, so that all ask at the same time
        for (let round = 0; round < 5; round++) {
          await pools[0]?.query(`DROP TABLE IF EXISTS ${table}`);
          const made = pools.map((pool) => followPostgres(new LiveLimits(DEFAULTS), pool, table));
          for (const follower of await Promise.all(made)) follower.close();
          expect(complained.mock.calls).toEqual([]);
        }
      } finally {
        await pools[0]?.query(`DROP TABLE IF EXISTS ${table}`);
        await Promise.all(pools.map((pool) => pool.end()));
        vi.restoreAllMocks();
      }
    });

    test("Postgres is down: the service starts with the numbers of the code, and reads when it can", async () => {
      const table = `live_limits_${process.pid}_down`;
      const there = new pg.Pool({ connectionString: postgresUrl() });
      await followPostgres(new LiveLimits(DEFAULTS), there, table).then(async (follower) => {
        await follower.set("interactive", { capacity: 20, tokens: 1, everyMs: 1_000 });
        follower.close();
      });
      const port = await freePort();
      const url = new URL(postgresUrl());
      Object.assign(url, { hostname: "127.0.0.1", port: String(port) });
      const pool = new pg.Pool({ connectionString: url.href });
      const complained = vi.spyOn(console, "error").mockImplementation(() => undefined);
      const own = new LiveLimits(DEFAULTS);
      const follower = await followPostgres(own, pool, table, { afterFailureMs: 20 });
      expect([own.policy("interactive").maxCost, complained.mock.calls.length]).toEqual([10, 1]);
      const door = await openDoor(port, postgresUrl());
      await vi.waitFor(() => expect(own.policy("interactive").maxCost).toBe(20), SOON);
      follower.close();
      await pool.end();
      await new Promise((resolve) => door.close(resolve));
      await there.query(`DROP TABLE ${table}`);
      await there.end();
      vi.restoreAllMocks();
    });
  });
});

describeWith("redis-server", "without Redis", () => {
  test("the service starts with the numbers of the code, and reads when it can", async () => {
    const port = await freePort();
    const redis = new Redis(port, "127.0.0.1", { retryStrategy: () => 50 }).on("error", () => undefined);
    const complained = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const own = new LiveLimits(DEFAULTS);
    const follower = await followRedis(own, redis, "live", { firstMs: 10, afterFailureMs: 20 });
    expect(own.policy("interactive").maxCost).toBe(10);
    const server = await startRedis([], port);
    const other = new LiveLimits(DEFAULTS);
    const second = new Redis(port, "127.0.0.1");
    const writer = await followRedis(other, second, "live");
    await writer.set("interactive", { capacity: 20, tokens: 1, everyMs: 1_000 });
    await vi.waitFor(() => expect(own.policy("interactive").maxCost).toBe(20), SOON);
    for (const each of [follower, writer]) each.close();
    for (const each of [redis, second]) each.disconnect();
    await server.stop();
    complained.mockRestore();
  });
});

describeWith("redis", "the page's script", () => {
  const run = async (url: string) => {
    const file = await bundled("examples/live-limits/raise.ts");
    return new Promise<{ code: unknown; err: string }>((resolve) => {
      execFile(process.execPath, [file], { env: { ...process.env, REDIS_URL: url }, timeout: 30_000 }, (error, _, err) => resolve({ code: error?.code ?? 0, err }));
    });
  };

  test("raises the limit, and ends", async () => {
    const url = new URL("/8", redisUrl()).href;
    const redis = new Redis(url);
    expect(await run(url)).toEqual({ code: 0, err: "" });
    const stored = await redis.hget("live-limits", ownName("interactive", ["user", 42]));
    await redis.hdel("live-limits", ownName("interactive", ["user", 42]));
    redis.disconnect();
    expect(JSON.parse(stored as string)).toEqual({ capacity: 100, tokens: 20, everyMs: 1_000 });
  });

  test("without Redis it fails, and ends", async () => {
    const { code, err } = await run(`redis://127.0.0.1:${await freePort()}`);
    expect(code).toBe(1);
    expect(err).toContain("MaxRetriesPerRequestError");
    expect(err).not.toContain("Unhandled error event");
  });
});

test("20,000 a day in place of 10,000: quotas and several limits, of which a caller's own win by their names", () => {
  const rate = { capacity: 30, tokens: 5, everyMs: 1_000 };
  const day = (capacity: number) => ({ name: "day", capacity, renews: "daily" as const });
  const month = { name: "month", capacity: 100_000, renews: "monthly" as const, timeZone: "Europe/Berlin" };
  const limits = new LiveLimits<Numbers>({ interactive: { ...rate, more: [day(10_000), month] } });
  const acme = ["tenant", "acme"] as const;
  const sizes = (policy: Policy): Record<string, number> => Object.fromEntries(policy.limits.map(({ name, capacity }) => [name, capacity]));
  limits.take(new Map([[ownName("interactive", acme), JSON.stringify({ ...rate, more: [day(20_000)] })]]));
  expect(sizes(limits.policy("interactive"))).toEqual({ rate: 30, day: 10_000, month: 100_000 });
  expect(sizes(limits.policy("interactive", acme))).toEqual({ rate: 30, day: 20_000, month: 100_000 });
  // What was spent stays spent.
  const limiter = createLimiter({ policy: limits.policy("interactive") });
  limiter.debit(acme, { cost: { day: 9_000 }, policy: limits.policy("interactive") });
  expect(limiter.peek(acme, { policy: limits.policy("interactive", acme) }).limits?.find(({ limit }) => limit === "day")?.remaining).toBe(11_000);
  // Numbers that the page for operators sets keep the other limits.
  limits.set(ownName("interactive", acme), { ...rate, capacity: 60 });
  expect(sizes(limits.policy("interactive", acme))).toEqual({ rate: 60, day: 10_000, month: 100_000 });
  expect(() => limits.check("interactive", { ...rate, more: [{ ...day(5), renews: "hourly" as never }] })).toThrow("Expected `renews` to be daily, weekly or monthly, got hourly");
});
