// One of the processes that hammer one key: asks as fast as it can, then tells every decision with the server's instant.
import { Redis } from "ioredis";
import { definePolicy, type LimitOptions } from "sluice";
import { RedisStore, type IoredisLike } from "sluice/redis";

const [url, prefix, limit, ms] = process.argv.slice(2) as [string, string, string, string];

/** One decision of the server: its instant, and whether it was granted. */
export type Told = readonly [now: number, granted: boolean];

const told: Told[] = [];
const redis = new Redis(url);
// Every call is about one bucket of one limit: the instant, then verdict, spent and lag for each decision.
const note = async (call: Promise<unknown>): Promise<unknown> => {
  const reply = (await call) as number[];
  for (let i = 1; i < reply.length; i += 3) told.push([reply[0] as number, reply[i] === 1]);
  return reply;
};
const client: IoredisLike = {
  evalsha: (sha, count, ...rest) => note(redis.evalsha(sha, count, ...rest)),
  eval: (script, count, ...rest) => note(redis.eval(script, count, ...rest)),
};
const policy = definePolicy({ name: "hammer", ...(JSON.parse(limit) as LimitOptions) });
const store = new RedisStore(client, { prefix, denyCacheMs: 0 });

process.once("disconnect", () => process.exit());
await store.peek(policy, "one", 1); // connected, and ready to start with the others
told.length = 0;
process.send?.("ready");
await new Promise((resolve) => process.once("message", resolve));

let granted = 0;
const end = performance.now() + Number(ms);
await Promise.all(
  Array.from({ length: 8 }, async () => {
    while (performance.now() < end) if ((await store.consume(policy, "one", 1)).allowed) granted += 1;
  }),
);
redis.disconnect();
if (granted !== told.filter(([, was]) => was).length) throw new Error("What callers were told is not what the server said");
process.send?.(told, () => process.disconnect());
