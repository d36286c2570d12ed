// A settlement that is held up on its way to a server, while its tokens refill: it gives back what has not refilled.
import { Redis } from "ioredis";
import pg from "pg";
import { createClient } from "redis";
import { createLimiter, definePolicy, perSecond } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { RedisStore, type RedisClient } from "sluice/redis";
import { onTestFinished, test, expect, vi } from "vitest";
import { describeWith, postgresUrl, redisUrl } from "../helpers/services.js";
import { startSilentProxy, type SilentProxy } from "../helpers/silent-proxy.js";

const name = `late_${process.pid}_${Date.now()}`;
const policy = definePolicy({ name, capacity: 1_000, refill: perSecond(1_000) });

/** Holds a settlement of all tokens back until another process has taken them all again, and asks for them once more. */
async function settleLate(far: RedisStore | PostgresStore, near: RedisStore | PostgresStore, proxy: SilentProxy): Promise<void> {
  const [slow, quick] = [createLimiter({ policy, store: far }), createLimiter({ policy, store: near })];
  const decision = await slow.consume("ann", 1_000);
  expect(decision).toMatchObject({ allowed: true, degraded: false });
  proxy.silence();
  const settled = slow.settle("ann", decision, 0);
  let first = await quick.consume("ann", 1_000);
  while (!first.allowed) {
    await new Promise((resolve) => setTimeout(resolve, first.retryAfterMs));
    first = await quick.consume("ann", 1_000);
  }
  proxy.speak("late");
  expect(await settled).toBe(true);
  const { at, remaining } = await quick.peek("ann");
  expect(remaining).toBeLessThanOrEqual(at - first.at);
  await quick.reset("ann");

  // A credit of a process that has asked for nothing yet.
  const fresh = await quick.consume("bob", 1_000);
  await slow.peek("bob");
  proxy.silence();
  const credited = slow.credit("bob", 1_000);
  let second = await quick.consume("bob", 1_000);
  while (!second.allowed) {
    await new Promise((resolve) => setTimeout(resolve, second.retryAfterMs));
    second = await quick.consume("bob", 1_000);
  }
  proxy.speak("late");
  await credited;
  const after = await quick.peek("bob");
  // One round trip may be too much, but never what has refilled in the meantime.
  expect(after.remaining).toBeLessThanOrEqual(after.at - second.at + 500);
  expect(second.at - fresh.at).toBeGreaterThanOrEqual(999);
  await quick.reset("bob");
}

/** A credit of a process that stood still since it last asked the server: nothing of it is taken off. */
async function creditAfterStandstill(store: RedisStore | PostgresStore): Promise<void> {
  const slow = definePolicy({ name: `${name}-slow`, capacity: 100_000, refill: perSecond(1) });
  const limiter = createLimiter({ policy: slow, store });
  await limiter.consume("ann", 50_000);
  const before = await limiter.peek("ann");
  const real = performance.now.bind(performance);
  const clock = vi.spyOn(performance, "now").mockImplementation(() => real() - 25_000);
  onTestFinished(() => clock.mockRestore());
  await limiter.credit("ann", 20);
  const after = await limiter.peek("ann");
  const refilled = Math.floor((after.at - before.at) / 1_000);
  expect(after.remaining - before.remaining).toBeGreaterThanOrEqual(19 + refilled);
  expect(after.remaining - before.remaining).toBeLessThanOrEqual(21 + refilled);
  await limiter.reset("ann");
}

describeWith("redis", "a settlement that Redis gets late", () => {
  test.each(["ioredis", "node-redis"])("%s", async (client) => {
    const { hostname, port } = new URL(redisUrl());
    const proxy = await startSilentProxy(hostname, Number(port));
    const near = new Redis(redisUrl());
    const url = `redis://127.0.0.1:${proxy.port}`;
    const far = client === "ioredis" ? new Redis(url) : await createClient({ url }).on("error", () => undefined).connect();
    onTestFinished(() => {
      near.disconnect();
      if ("disconnect" in far && client === "ioredis") (far as Redis).disconnect();
      else (far as { destroy(): void }).destroy();
      proxy.stop();
    });
    const options = { timeoutMs: 30_000, denyCacheMs: 0, prefix: name };
    await settleLate(new RedisStore(far as RedisClient, options), new RedisStore(near, options), proxy);
    await creditAfterStandstill(new RedisStore(far as RedisClient, options));
  });
});

describeWith("postgres", "a settlement that Postgres gets late", () => {
  test("pg", async () => {
    const target = new URL(postgresUrl());
    const proxy = await startSilentProxy(target.hostname, Number(target.port));
    const near = new pg.Pool({ connectionString: target.href });
    target.hostname = "127.0.0.1";
    target.port = String(proxy.port);
    const far = new pg.Pool({ connectionString: target.href, max: 1 });
    onTestFinished(async () => {
      proxy.stop();
      await Promise.allSettled([near.query(`DROP TABLE IF EXISTS "${name}" CASCADE`), far.end()]);
      await near.end();
    });
    const options = { timeoutMs: 30_000, denyCacheMs: 0, table: name };
    const store = new PostgresStore(near, options);
    await store.migrate();
    await settleLate(new PostgresStore(far, options), store, proxy);
    await creditAfterStandstill(new PostgresStore(far, options));
  });
});
