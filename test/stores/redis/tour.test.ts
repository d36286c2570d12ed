// The walks of src/README.md that need Redis.
import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import type { createLimiter, run, whenDone } from "sluice";
import type { RedisStore } from "sluice/redis";
import { expect, test } from "vitest";
import { describeWith, redisUrl } from "../../helpers/services.js";
import { until } from "../../helpers/soon.js";
import { stopsUnder, taken } from "../../tour/tour.js";
import { walked } from "../../tour/walk.js";

describeWith("redis", "the tour", () => {
  interface Sluice {
    readonly createLimiter: typeof createLimiter;
    readonly RedisStore: typeof RedisStore;
    readonly run: typeof run;
    readonly whenDone: typeof whenDone;
  }

  async function opened(): Promise<{ sluice: Awaited<ReturnType<typeof walked<Sluice>>>; store: RedisStore; close: () => void }> {
    const sluice = await walked<Sluice>("limiter/create-limiter.ts", "limiter/verbs/run.ts", "limits/in-flight.ts", "stores/redis/redis.ts");
    const client = new Redis(redisUrl());
    return { sluice, store: new sluice.RedisStore(client, { prefix: `tour-${randomUUID()}` }), close: () => client.disconnect() };
  }

  const API = { name: "api", refill: { tokens: 10, everyMs: 1_000 } };

  test("a decision in Redis", async () => {
    const { sluice, store, close } = await opened();
    const limiter = sluice.createLimiter({ store, policy: API });
    await limiter.consume("40");
    const ran = sluice.walk();
    await Promise.all([limiter.consume("41"), limiter.consume("42")]);
    close();
    const stops = stopsUnder("A decision in Redis");
    expect(taken(stops, ran)).toEqual(stops);
  });

  test("a settlement over Redis", async () => {
    const { sluice, store, close } = await opened();
    const limiter = sluice.createLimiter({ store, policy: { ...API, refill: { tokens: 10, everyMs: 3_600_000 } } });
    const decision = await limiter.consume("40", 10);
    const ran = sluice.walk();
    expect(await limiter.settle("40", decision, { cost: 4 })).toBe(true);
    close();
    const stops = stopsUnder("A settlement over Redis");
    expect(taken(stops, ran)).toEqual(stops);
  });

  test("a renewal", async () => {
    const { sluice, store, close } = await opened();
    const limiter = sluice.createLimiter({ store, policy: { name: "jobs", capacity: 3, returns: sluice.whenDone({ staleAfterMs: 1_000 }) } });
    const ran = sluice.walk();
    await sluice.run(limiter, "40", () => until(() => ran.includes("limits/renewals.ts renew.goOn")));
    close();
    const stops = stopsUnder("A renewal");
    expect(taken(stops, ran)).toEqual(stops);
  });
});
