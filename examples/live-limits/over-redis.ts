/** Numbers that reach every process through Redis: a hash holds them, and a message says that they have changed. */
import type { Redis } from "ioredis";
import type { LiveLimits, Numbers } from "./live-limits.js";

/** Reads the numbers now, after each change, and after each reconnect. Resolves when the first ones hold. */
export async function followRedis(limits: LiveLimits, redis: Redis, name = "live-limits") {
  const read = async (): Promise<void> => {
    for (const [policy, text] of Object.entries(await redis.hgetall(name))) take(limits, policy, text);
  };
  const listener = redis.duplicate({ connectionName: name }); // a connection that listens can do nothing else
  listener.on("error", () => undefined); // the connection is made again, and the numbers stay as they are meanwhile
  listener.on("message", () => void read().catch(console.error));
  listener.on("ready", () => void read().catch(console.error)); // messages of an outage are lost
  await listener.subscribe(name);
  await read();
  return {
    /** Changes the numbers in all processes. Throws for impossible ones, and then tells no one. */
    async set(policy: string, numbers: Numbers): Promise<void> {
      limits.check(policy, numbers);
      await redis.multi().hset(name, policy, JSON.stringify(numbers)).publish(name, policy).exec();
    },
    close: () => listener.disconnect(),
  };
}

/** Somebody else may have written anything: what cannot be read leaves the numbers as they are. */
function take(limits: LiveLimits, policy: string, text: string): void {
  try {
    limits.set(policy, JSON.parse(text) as Numbers);
  } catch (error) {
    console.error(`The numbers of ${policy} stay as they are:`, (error as Error).message);
  }
}
