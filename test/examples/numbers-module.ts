// The module of limits of a service whose customers may have numbers of their own. Its processes and the command import it.
import { Redis } from "ioredis";
import pg from "pg";
import { createLimiter, type Store } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { RedisStore } from "sluice/redis";
import { LiveLimits } from "../../examples/live-limits/live-limits.js";
import { followPostgres } from "../../examples/live-limits/over-postgres.js";
import { followRedis } from "../../examples/live-limits/over-redis.js";

const { NUMBERS_WAY: way, NUMBERS_NAME: name = "numbers", REDIS_AT: redisAt = "", POSTGRES_AT: postgresAt = "" } = process.env;
export const limits = new LiveLimits({ interactive: { capacity: 10, tokens: 1, everyMs: 3_600_000 } });
export const interactive = createLimiter({ policy: limits.policy("interactive"), store: way === "Redis" ? await overRedis() : await overPostgres() });
/** For `npx sluice peek`. */
export const callers = limits.callers("interactive");

async function overRedis(): Promise<Store> {
  const redis = new Redis(redisAt);
  await followRedis(limits, redis, `${name}_limits`);
  return new RedisStore(redis, { prefix: name, timeoutMs: 5_000, denyCacheMs: 0 });
}

async function overPostgres(): Promise<Store> {
  const pool = new pg.Pool({ connectionString: postgresAt });
  await followPostgres(limits, pool, `${name}_limits`);
  return new PostgresStore(pool, { table: name, timeoutMs: 5_000, denyCacheMs: 0 });
}
