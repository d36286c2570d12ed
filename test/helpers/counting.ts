// A Redis store that counts the calls to its server.
import type { Redis } from "ioredis";
import { RedisStore, type RedisStoreOptions } from "sluice/redis";
import type { IoredisLike } from "../../src/stores/redis/client.js";

/** `calls` gets one entry for each call: the number of its keys. */
export function counting(client: Redis, options: RedisStoreOptions = {}): { calls: number[]; store: RedisStore } {
  const calls: number[] = [];
  const counted: IoredisLike = {
    evalsha: (sha, count, ...rest) => (calls.push(count), client.evalsha(sha, count, ...rest)),
    eval: (script, count, ...rest) => client.eval(script, count, ...rest),
  };
  return { calls, store: new RedisStore(counted, options) };
}
