// Redis that is harmed under load: what was granted stays within the bound, and nothing hangs or crashes.
import { Redis } from "ioredis";
import { createClient } from "redis";
import { definePolicy, perHour, perSecond } from "sluice";
import { RedisStore, type RedisClient } from "sluice/redis";
import { describe, expect, test, type onTestFinished } from "vitest";
import { Load, pause, variants } from "../../helpers/load.js";
import { startRedis, type OwnRedis } from "../../helpers/own-redis.js";
import { describeWith } from "../../helpers/services.js";
import { callsOf } from "../../../src/testing/store-calls.js";

// Nothing to speak of comes back of these while a test runs, so what is granted is counted against the capacity alone.
const policy = definePolicy({ name: "tier", capacity: 1_000_000, refill: perHour(1) });
const small = definePolicy({ name: "small", capacity: 500, refill: perHour(1) });
const brisk = definePolicy({ name: "brisk", capacity: 50, refill: perSecond(500) });

describeWith("redis-server", "Redis under load", () => {
  describe.each(variants)("$name", ({ name, options }) => {
    describe.concurrent("that is harmed", () => {
      test("SCRIPT FLUSH, over and over: every decision is made, once", async ({ onTestFinished }) => {
        const { admin, clients } = await start(onTestFinished);
        const load = new Load(clients, policy, options);
        const empty = new Load(clients, small, options);
        await empty.isRefused();
        for (let i = 0; i < 20; i++) {
          await admin.script("FLUSH");
          await pause(10);
        }
        for (const each of [load, empty]) await each.end();
        for (const each of [load, empty]) expect(each.unknown).toBe(0);
        expect(load.granted).toBe(await load.charged());
        expect(load.granted).toBeGreaterThan(100);
        expect(empty.granted).toBe(small.maxCost);
      });

      test("FLUSHALL: at most one more capacity for each time that the key was lost", async ({ onTestFinished }) => {
        const { admin, clients } = await start(onTestFinished);
        const load = new Load(clients, small, options);
        const flushes = 3;
        for (let i = 0; i <= flushes; i++) {
          if (i > 0) await admin.flushall();
          // What is remembered of the lost key refuses for a while.
          await load.until(({ granted }) => granted === (i + 1) * small.maxCost);
          await load.isRefused();
        }
        await load.end();
        console.log(`Redis, FLUSHALL, ${name}: ${load.granted} granted of ${small.maxCost}, the key lost ${flushes} times`);
        expect(load.unknown).toBe(0);
        expect(load.granted).toBe((flushes + 1) * small.maxCost);
      });

      test("CLIENT KILL: what callers know of and what they do not make up what was charged", async ({ onTestFinished }) => {
        const { admin, clients } = await start(onTestFinished);
        const load = new Load(clients, policy, options);
        for (let i = 0; i < 20; i++) {
          await pause(20);
          await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        }
        await load.proceeds();
        await load.end();
        const charged = await load.charged();
        console.log(`Redis, CLIENT KILL, ${name}: ${load.granted} granted, ${load.unknown} unknown, ${charged} charged`);
        expect(load.unknown).toBeGreaterThan(0);
        expect(charged).toBeGreaterThanOrEqual(load.granted);
        expect(charged).toBeLessThanOrEqual(load.granted + load.unknown);
      });

      test("SIGSTOP and SIGCONT: callers wait, and are answered", async ({ onTestFinished }) => {
        const { server, clients } = await start(onTestFinished);
        const load = new Load(clients, policy, options);
        const empty = new Load(clients, small, options);
        await empty.isRefused();
        for (let i = 0; i < 3; i++) {
          await load.proceeds();
          await server.kill("SIGSTOP");
          await pause(100);
          await server.kill("SIGCONT");
        }
        await load.proceeds();
        await empty.isRefused();
        for (const each of [load, empty]) await each.end();
        for (const each of [load, empty]) expect(each.unknown).toBe(0);
        expect(load.granted).toBe(await load.charged());
        expect(empty.granted).toBe(small.maxCost);
      });

      test("kill -9 and a restart: callers are told of failure, then answered; one more capacity for each lost key", async ({ onTestFinished }) => {
        const { server, clients } = await start(onTestFinished);
        const load = new Load(clients, small, options);
        await load.isRefused();
        expect(load.unknown).toBe(0);
        await server.kill("SIGKILL");
        await load.until(({ unknown }) => unknown > 10);
        const again = await startRedis([], server.port);
        onTestFinished(() => again.stop());
        await load.until(({ granted }) => granted >= 2 * small.maxCost);
        await load.isRefused();
        await load.end();
        console.log(`Redis, kill -9, ${name}: ${load.granted} granted of ${small.maxCost}, ${load.unknown} unknown, the key lost once`);
        expect(load.granted).toBe(2 * small.maxCost);
      });

      test("L1 · all of it in turn, while tokens come back: capacity, what came back, and one capacity for each lost key", async ({ onTestFinished }) => {
        const { server, admin, clients } = await start(onTestFinished);
        const began = await instant(admin);
        const load = new Load(clients, brisk, options);
        const harms: (() => Promise<unknown>)[] = [
          () => admin.script("FLUSH"),
          () => admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"),
          () => server.kill("SIGSTOP").then(() => pause(50)).then(() => server.kill("SIGCONT")),
          () => admin.flushall(),
        ];
        for (const harm of [...harms, ...harms]) {
          await harm();
          await load.proceeds();
          await load.isRefused();
        }
        await load.end();
        const elapsed = (await instant(admin)) - began;
        const bound = brisk.maxCost + 0.5 * elapsed + 2 * brisk.maxCost;
        console.log(`Redis, all of it, ${name}: ${load.granted} granted in ${elapsed} ms, at most ${bound}; ${load.refused} refused, ${load.unknown} unknown`);
        expect(load.granted).toBeLessThanOrEqual(bound);
      });
    });
  });

  test("maxmemory without eviction: what must be written fails, and refusals are answered still", async ({ onTestFinished }) => {
    const { admin, clients } = await start(onTestFinished);
    const store = new RedisStore(clients[0] as RedisClient, { denyCacheMs: 0 });
    await callsOf(store).consume(small, "a", 500);
    await admin.config("SET", "maxmemory", "1");
    expect(await callsOf(store).consume(small, "a", 1)).toMatchObject({ allowed: false, reason: "limited" });
    await expect(callsOf(store).consume(small, "b", 1)).rejects.toThrow("OOM");
    await admin.config("SET", "maxmemory", "0");
    expect(await callsOf(store).consume(small, "b", 1)).toMatchObject({ allowed: true, remaining: 499 });
  });
});

/** A server, an ioredis and a node-redis client of it that fail soon and send nothing twice, and one for the test itself. */
async function start(finished: typeof onTestFinished): Promise<{ server: OwnRedis; admin: Redis; clients: RedisClient[] }> {
  const server = await startRedis();
  const retryStrategy = (): number => 20;
  const admin = new Redis({ port: server.port, maxRetriesPerRequest: null, retryStrategy });
  // As the store's page has it. What is cut off is not sent again, and ioredis then leaves it to the time-out.
  const io = new Redis({ port: server.port, maxRetriesPerRequest: 1, retryStrategy, autoResendUnfulfilledCommands: false, commandTimeout: 2_000 });
  const node = createClient({ url: server.url, disableOfflineQueue: true, commandOptions: { timeout: 2_000 }, socket: { reconnectStrategy: 20 } });
  for (const client of [admin, io, node]) client.on("error", () => undefined);
  await node.connect();
  finished(async () => {
    for (const client of [admin, io]) client.disconnect();
    node.destroy();
    await server.stop();
  });
  return { server, admin, clients: [io, node] };
}

/** The server's clock in whole milliseconds, as the script reads it. */
async function instant(admin: Redis): Promise<number> {
  const [seconds, micros] = await admin.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}
