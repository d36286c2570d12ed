// A client with which the batch script decides everything.
import type { Redis } from "ioredis";
import type { IoredisLike } from "../../src/stores/redis/client.js";

/** Answers the script for lone decisions with nil, and the other one decides. The other has 12 arguments at least. */
export function withoutLone(client: Redis): IoredisLike {
  const isLone = (count: number, rest: readonly string[]): boolean => rest.length - count < 8;
  return {
    evalsha: (sha, count, ...rest) => (isLone(count, rest) ? Promise.resolve(null) : client.evalsha(sha, count, ...rest)),
    eval: (script, count, ...rest) => (isLone(count, rest) ? Promise.resolve(null) : client.eval(script, count, ...rest)),
  };
}
