// Leases over a Redis that loses its data. The clocks of the processes are moved by hand, so the test waits for nothing.
import { Redis } from "ioredis";
import { createLimiter, definePolicy, perHour, type PlainLimiter } from "sluice";
import { leased } from "sluice/lease";
import { RedisStore } from "sluice/redis";
import type { AsyncStore } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { startRedis } from "../../helpers/own-redis.js";
import { describeWith } from "../../helpers/services.js";

const LEASE_MS = 100;
const CAPACITY = 1_000;
const policy = definePolicy({ name: "hourly", capacity: CAPACITY, refill: perHour(CAPACITY) });

/** Asks until a refusal. */
async function drain(limiter: PlainLimiter<AsyncStore>): Promise<number> {
  let granted = 0;
  while ((await limiter.consume("tenant")).allowed) granted += 1;
  return granted;
}

describeWith("redis-server", "a Redis that is flushed while four processes hold leases", () => {
  test.each([2, 30])("L1 · %i leaseMs later they grant one capacity together", async (times) => {
    const server = await startRedis();
    const clients = Array.from({ length: 4 }, () => new Redis(server.url));
    try {
      const clock = new ManualClock(1_000_000);
      const limiters = clients.map((client) => {
        const store = leased(new RedisStore(client, { denyCacheMs: 0, timeoutMs: 30_000 }), { leaseMs: LEASE_MS, time: { now: clock.now, wallNow: clock.now } });
        return createLimiter({ policy, store, onStoreError: "unavailable" });
      });
      for (const limiter of limiters) for (let i = 0; i < 6; i++) expect((await limiter.consume("tenant", 20)).allowed).toBe(true);
      await clients[0]?.flushall();
      clock.advance(times * LEASE_MS);
      let granted = 0;
      for (const limiter of limiters) granted += await drain(limiter);
      expect(granted).toBeLessThanOrEqual(CAPACITY + 5); // and what refills while the test runs
      expect(granted).toBeGreaterThan(CAPACITY / 2);
    } finally {
      for (const client of clients) client.disconnect();
      await server.stop();
    }
  });
});
