// A healthy server that answers after the timeout, as one on another continent does: the process must be told, with both numbers.
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server } from "node:net";
import { Redis } from "ioredis";
import { perSecond } from "sluice";
import { RedisStore } from "sluice/redis";
import { afterEach, expect, test, vi } from "vitest";
import { describeWith, redisUrl } from "../helpers/services.js";
import { freshSluice } from "../helpers/warned.js";

const LATE_MS = 115;
afterEach(() => void vi.restoreAllMocks());

/** A way to the shared Redis on which each answer takes `LATE_MS` longer. */
async function startSlowProxy(): Promise<Server> {
  const { hostname, port } = new URL(redisUrl());
  const server = createServer((near) => {
    const far = connect(Number(port || 6379), hostname);
    near.on("data", (chunk) => far.write(chunk)).on("error", () => undefined).on("close", () => far.destroy());
    far.on("data", (chunk) => setTimeout(() => near.write(chunk), LATE_MS)).on("error", () => undefined);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

describeWith("redis", "a healthy Redis behind a slow way", () => {
  test("is named with its time and the timeout", async () => {
    const { createLimiter, given, codes } = await freshSluice();
    const proxy = await startSlowProxy();
    const client = new Redis((proxy.address() as AddressInfo).port);
    const store = new RedisStore(client, { prefix: `slow-${process.pid}`, denyCacheMs: 0, breaker: { probeEveryMs: 50 } });
    const limiter = createLimiter({ policy: { name: "api", capacity: 1_000, refill: perSecond(1) }, store });
    await client.ping();
    // Some answers come while the breaker is open, and calls that are under way together count as one.
    for (let i = 0; i < 100 && !codes().includes("SLUICE_STORE_SLOW"); i++) {
      await limiter.consume(`caller ${i}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    client.disconnect();
    proxy.close();
    const { message = "" } = given.find(({ code }) => code === "SLUICE_STORE_SLOW") ?? {};
    const [, least, most] = /5 answers in a row took (\d+) to (\d+) ms, and `timeoutMs` is 100\./.exec(message) ?? [];
    expect(message).toContain('The store of policy "api" answers after the timeout');
    expect(Number(least)).toBeGreaterThanOrEqual(LATE_MS - 2);
    expect(Number(most)).toBeGreaterThanOrEqual(Number(least));
  });
});
