// A Redis that stops answering and stays so: which clients end a call by themselves, and that the limiter does over all of them.
import * as ioredis from "ioredis";
import * as ioredis6 from "ioredis6";
import * as iovalkey from "iovalkey";
import { createClient } from "redis";
import * as redis6 from "redis6";
import { createLimiter, definePolicy, perHour } from "sluice";
import { RedisStore, type RedisClient } from "sluice/redis";
import { expect, test } from "vitest";
import { startRedis } from "../../helpers/own-redis.js";
import type { Connected } from "../../helpers/redis-clients.js";
import { describeWith } from "../../helpers/services.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({ name: "tier", capacity: 10, refill: perHour(1) });
const quiet = (): undefined => undefined;

// As the store's page has them, with more time for a busy machine.
const TIMEOUT_MS = 1_000;
const io = { commandTimeout: TIMEOUT_MS, maxRetriesPerRequest: 1, autoResendUnfulfilledCommands: false };
const node = { disableOfflineQueue: true, commandOptions: { timeout: TIMEOUT_MS } };

const clients: readonly (readonly [name: string, ends: boolean, connect: (url: string) => Promise<Connected>])[] = [
  ["ioredis 5", true, async (url) => disconnecting(new ioredis.Redis(url, io))],
  ["ioredis 6", true, async (url) => disconnecting(new ioredis6.Redis(url, io))],
  ["iovalkey", true, async (url) => disconnecting(new iovalkey.Redis(url, io))],
  ["node-redis 5", false, async (url) => destroying(await createClient({ url, ...node }).on("error", quiet).connect())],
  ["node-redis 6", false, async (url) => destroying(await redis6.createClient({ url, ...node }).on("error", quiet).connect())],
];

const disconnecting = <C extends RedisClient & { disconnect(): void }>(client: C): Connected => ({ client, close: () => client.disconnect() });
const destroying = <C extends RedisClient & { destroy(): void }>(client: C): Connected => ({ client, close: () => client.destroy() });

describeWith("redis-server", "a Redis that hangs", () => {
  test.each(clients)("L12 · %s: its callers are answered while it does", async (_, ends, connect) => {
    const server = await startRedis();
    const { client, close } = await connect(server.url);
    const store = new RedisStore(client, { denyCacheMs: 0 });
    const limiter = createLimiter({ policy, store, onStoreError: "unavailable" });
    const admin = new ioredis.Redis(server.url);
    await callsOf(store).consume(policy, "a", 4);

    await server.kill("SIGSTOP");
    const asked = callsOf(store).consume(policy, "b", 4);
    let settled = false;
    const over = asked.catch(() => undefined).finally(() => (settled = true));
    for (const decision of await Promise.all(Array.from({ length: 20 }, () => limiter.consume("a")))) {
      expect(decision).toMatchObject({ allowed: false, reason: "store_unavailable" });
    }
    if (ends) await expect(asked).rejects.toThrow("Command timed out");
    // Whoever asks the store itself waits. Should this fail, node-redis has learned to end a call, and the page may say so.
    else expect(await Promise.race([over.then(() => settled), past(TIMEOUT_MS).then(() => settled)])).toBe(false);

    await server.kill("SIGCONT");
    await over;
    // It may have been charged, and was asked once.
    expect([6, 10]).toContain((await callsOf(new RedisStore(admin)).peek(policy, "b", 0)).remaining);
    close();
    admin.disconnect();
    await server.stop();
  });
});

/** Twice as long, for a timer that is late is not early. */
const past = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2 * ms));
