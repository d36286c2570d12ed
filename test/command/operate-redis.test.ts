// The command in a process of its own, over the Redis of a running service: the service sees what an operator does.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { createLimiter, definePolicy, perHour } from "sluice";
import { RedisStore } from "sluice/redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ownName } from "../../examples/live-limits/live-limits.js";
import { bundled } from "../helpers/bundled.js";
import { describeWith, redisUrl } from "../helpers/services.js";

const policy = definePolicy({ name: "interactive", capacity: 30, refill: perHour(1) });
const prefix = `operate-${process.pid}-${Date.now()}`;

describeWith("redis", "npx sluice over Redis", () => {
  const folder = mkdtempSync(join(process.cwd(), "node_modules/.cache/operate-"));
  const redis = new Redis(redisUrl(), { lazyConnect: true });
  let command: string;
  beforeAll(async () => {
    command = await bundled("src/command/main.ts");
    moduleOver("limits", redisUrl());
    moduleOver("down", "redis://127.0.0.1:1");
  });
  const moduleOver = (name: string, url: string): void => {
    writeFileSync(join(folder, `${name}.ts`), `
        import { Redis } from "ioredis";
        import { createLimiter, definePolicy, perHour } from "../../../src/index.js";
        import { RedisStore } from "../../../src/stores/redis/redis.js";
        const client = new Redis(${JSON.stringify(url)}, { retryStrategy: () => 100 }).on("error", () => {});
        const store = new RedisStore(client, { prefix: ${JSON.stringify(prefix)} });
        export const interactive = createLimiter({ policy: { name: "interactive", capacity: 30, refill: perHour(1) }, store });
    `);
  };
  afterAll(async () => {
    const keys = await redis.keys(`*${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
    rmSync(folder, { recursive: true });
  });

  const npx = async (verb: string, module: string, ...args: string[]) => {
    const file = await bundled(join(folder, `${module}.ts`).slice(process.cwd().length + 1));
    return new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
      execFile(process.execPath, [command, verb, file, "interactive", "user", "42", ...args], { timeout: 30_000 }, (error, out, err) => resolve({ code: error?.code ?? 0, out, err }));
    });
  };

  test("the operator sees what the service has taken, and the service what the operator does", async () => {
    const service = createLimiter({ policy, store: new RedisStore(redis, { prefix, timeoutMs: 5_000, denyCacheMs: 0 }) });
    const key = ["user", 42] as const;
    await service.consume(key, 30);
    expect((await service.consume(key)).allowed).toBe(false);
    expect(await npx("peek", "limits")).toMatchObject({ code: 0, err: "", out: expect.stringContaining('["user","42"], "interactive" of interactive: 0 of 30 left') });
    expect((await npx("credit", "limits", "--cost", "5", "--reason", "ticket 7")).out).toMatch(/^Gave 5 tokens to \["user","42"\]\. Reason: ticket 7\n.*: 5 of 30 left/);
    expect((await service.consume(key, 5)).allowed).toBe(true);
    expect((await npx("block", "limits", "--for", "1h")).out).toContain('Blocked ["user","42"] for 1 h.');
    expect(await service.peek(key)).toMatchObject({ allowed: false, blocked: true });
    const reset = JSON.parse((await npx("reset", "limits", "--json")).out) as { before: { blocked: boolean }; left: { remaining: number } };
    expect([reset.before.blocked, reset.left.remaining]).toEqual([true, 30]);
    expect((await service.consume(key, 30)).allowed).toBe(true);
  });

  test("the page's file of one customer's limit: idle, the caller has numbers of its own, and the next one those for all", async () => {
    const url = new URL("/9", redisUrl()).href;
    const live = new Redis(url);
    const name = ownName("interactive", ["user", prefix]);
    await live.hset("live-limits", name, JSON.stringify({ capacity: 100, tokens: 20, everyMs: 1_000 }));
    const file = await bundled("examples/live-limits/limits.ts");
    const peek = (user: string) => promisify(execFile)(process.execPath, [command, "peek", file, "interactive", "user", user], { env: { ...process.env, REDIS_URL: url } });
    const said = { own: await peek(prefix), other: await peek(`not-${prefix}`) };
    await live.hdel("live-limits", name);
    live.disconnect();
    expect(said.own.stdout).toBe(`["user","${prefix}"], "interactive" of interactive: 100 of 100 left, full\nA call now is allowed.\nThis is by the caller's own numbers, callers.["user","${prefix}"].\n`);
    expect(said.other.stdout).toMatch(/30 of 30 left, full\nA call now is allowed\.\nNothing is spent .*check the spelling otherwise\.\n$/);
  });

  test("a healthy store that connects slowly is no outage: no warning comes before what was done", async () => {
    const url = new URL(redisUrl());
    // Each connection is held for 1.2 s, in which several calls exceed the timeout.
    const slow = createServer((inside) => {
      const outside = connect(Number(url.port || 6379), url.hostname);
      inside.on("error", () => outside.destroy()).pause();
      outside.on("error", () => inside.destroy()).pipe(inside);
      setTimeout(() => inside.pipe(outside), 1_200);
    });
    await new Promise<void>((resolve) => void slow.listen(0, "127.0.0.1", resolve));
    const { port } = slow.address() as AddressInfo;
    moduleOver("slow", `redis://127.0.0.1:${port}`);
    const answer = await npx("block", "slow", "--for", "10m");
    slow.close();
    expect(answer).toMatchObject({ code: 0, err: "", out: expect.stringContaining('Blocked ["user","42"] for 10 min.') as string });
  });

  test("a store that is down is one line with its code, and not an empty bucket", async () => {
    const { code, out, err } = await npx("peek", "down");
    expect([code, out]).toEqual([1, ""]);
    expect(err).toBe("sluice: The store failed: connect ECONNREFUSED 127.0.0.1:1 (ERR_STORE_TIMEOUT). Check that it runs, and that the module connects to it\n");
  });
});
