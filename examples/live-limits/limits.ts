// The limits of a service whose customers may have numbers of their own.
import { Redis } from "ioredis";
import { createLimiter } from "sluice";
import { RedisStore } from "sluice/redis";
import { LiveLimits } from "./live-limits.js";
import { followRedis } from "./over-redis.js";

export const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379", { commandTimeout: 10_000, maxRetriesPerRequest: 1 });
redis.on("error", (error) => console.error(error.message));
export const limits = new LiveLimits({ interactive: { capacity: 30, tokens: 5, everyMs: 1_000 } }); // for all
export const live = await followRedis(limits, redis); // the stored numbers, now and after each change
export const interactive = createLimiter({ policy: limits.policy("interactive"), store: new RedisStore(redis, { sharedBy: 4 }) });
export const callers = limits.callers("interactive"); // for npx sluice: who has numbers of their own
