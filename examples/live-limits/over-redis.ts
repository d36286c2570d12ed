/** Numbers that reach every process through Redis: a hash holds them, and a message says that they have changed. */
import type { Redis } from "ioredis";
import { keepReading, type Follower, type ReadingOptions } from "./keep-reading.js";
import { policyIn, type LiveLimits, type Numbers } from "./live-limits.js";

/**
 * Reads the numbers now, after each change and reconnect, and each minute. Resolves when the first ones hold. Without
 * Redis it resolves after a second with the numbers of the code, and reads on in the background.
 */
export async function followRedis<N extends Numbers>(limits: LiveLimits<N>, redis: Redis, name = "live-limits", options?: ReadingOptions): Promise<Follower<N>> {
  const reader = keepReading(async () => limits.take(new Map(Object.entries(await redis.hgetall(name)))), options);
  const listener = redis.duplicate({ connectionName: name }); // a connection that listens can do nothing else
  listener.on("error", () => undefined); // the connection is made again, and the numbers stay as they are meanwhile
  listener.on("message", () => void reader.readNow());
  // Messages of an outage are lost, so the numbers are read after it. The first of all may have failed to subscribe.
  listener.on("ready", () => void listen());

  async function listen(): Promise<void> {
    await listener.subscribe(name).catch(() => undefined);
    await reader.readNow();
  }

  void listen();
  await reader.started();
  return {
    async set(policy, numbers) {
      limits.check(policy, numbers);
      await done(redis.multi().hset(name, policy, JSON.stringify(numbers)).publish(name, policy).exec());
      limits.set(policy, numbers); // here at once, before the message
    },
    async unset(policy) {
      limits.policy(policyIn(policy));
      await done(redis.multi().hdel(name, policy).publish(name, policy).exec());
      limits.unset(policy);
    },
    close() {
      reader.close();
      listener.disconnect();
    },
  };
}

/** A transaction resolves also when one of its commands failed. */
async function done(results: Promise<readonly (readonly [error: Error | null, result: unknown])[] | null>): Promise<void> {
  for (const [error] of (await results) ?? []) if (error !== null) throw error;
}
