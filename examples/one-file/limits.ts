/** All limits of one service. Its routes, jobs, tests, operators and admin page import the limiters from here. */
import { Redis } from "ioredis";
import { createLimiter, definePolicy, MemoryStore, perMinute, perSecond, whenDone, type Store } from "sluice";
import { RedisStore } from "sluice/redis";

const url = process.env["REDIS_URL"];
const redis = url === undefined ? null : new Redis(url, { commandTimeout: 10_000, maxRetriesPerRequest: 1 });
redis?.on("error", (error) => console.error(error.message));

/** One store for all limits: one client, one prefix, one circuit breaker. Without a Redis each process counts alone. */
const store: Store = redis === null ? new MemoryStore() : new RedisStore(redis, { prefix: "shop", sharedBy: 4 });

/** Tiers of one limit have one name, so a caller who changes the plan keeps what was spent. */
export const tiers = {
  free: definePolicy({ name: "interactive", capacity: 10, refill: perSecond(2) }),
  paid: definePolicy({ name: "interactive", capacity: 50, refill: perSecond(10) }),
};

/** What a person does with the app. */
export const interactive = createLimiter({ policy: tiers.free, store });

/** A report takes seconds. Requests and the nightly job share this limit. */
export const reports = createLimiter({
  policy: {
    name: "reports",
    limits: [
      { name: "requests", capacity: 10, refill: perMinute(10) },
      { name: "parallel", capacity: 2, returns: whenDone() },
    ],
  },
  store,
});
