// A Redis store whose calls are counted on their way to the server.
import type { Redis } from "ioredis";
import { RedisStore, type IoredisLike, type RedisStoreOptions } from "sluice/redis";

/** `calls` grows by one number for each call: how many keys it has. */
export function counting(client: Redis, options: RedisStoreOptions = {}): { calls: number[]; store: RedisStore } {
  const calls: number[] = [];
  const counted: IoredisLike = {
    evalsha: (sha, count, ...rest) => (calls.push(count), client.evalsha(sha, count, ...rest)),
    eval: (script, count, ...rest) => client.eval(script, count, ...rest),
  };
  return { calls, store: new RedisStore(counted, options) };
}
