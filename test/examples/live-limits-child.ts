// A process of a service with live limits. It tells its capacity when asked, and how a call went.
import { Redis } from "ioredis";
import pg from "pg";
import { createLimiter } from "sluice";
import { RedisStore } from "sluice/redis";
import { LiveLimits } from "../../examples/live-limits/live-limits.js";
import { followPostgres } from "../../examples/live-limits/over-postgres.js";
import { followRedis } from "../../examples/live-limits/over-redis.js";

const [way, redisAt, postgresAt, prefix, name] = process.argv.slice(2) as [string, string, string, string, string];
process.once("disconnect", () => process.exit());

const limits = new LiveLimits({ interactive: { capacity: 10, tokens: 1, everyMs: 3_600_000 } });
const redis = new Redis(redisAt);
if (way === "Redis") await followRedis(limits, redis, name);
else await followPostgres(limits, new pg.Pool({ connectionString: postgresAt }), name);
const limiter = createLimiter({ policy: limits.policy("interactive"), store: new RedisStore(redis, { prefix, timeoutMs: 5_000, denyCacheMs: 0 }) });

process.on("message", async (cost: number) => {
  const policy = limits.policy("interactive");
  const { allowed, remaining, capacity } = await (cost === 0 ? limiter.peek("ann", { cost, policy }) : limiter.consume("ann", { cost, policy }));
  process.send?.({ allowed, remaining, capacity });
});
process.send?.("ready");
