// One of the processes that hammer one key: asks as fast as it can, then tells every decision with the server's instant.
import { Redis } from "ioredis";
import { definePolicy } from "sluice";
import { RedisStore, type RedisStoreOptions } from "sluice/redis";
import { readReply, type StoreRequest } from "../../../src/stores/redis/protocol.js";
import { isLone, readLone } from "./replay-wire.js";
import type { Tale, Told } from "../../helpers/hammer.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import type { RateOptions } from "../../../src/core/limit.js";
import type { IoredisLike } from "../../../src/stores/redis/client.js";

const [url, options, limit, ms] = process.argv.slice(2) as [string, string, string, string];

const policy = definePolicy({ name: "hammer", ...(JSON.parse(limit) as RateOptions) });
const told: Told[] = [];
const redis = new Redis(url);
// Every call asks for one token of the one bucket, as many times as it has keys.
const note = async (count: number, rest: string[], call: Promise<unknown>): Promise<unknown> => {
  const reply = await call;
  const one: StoreRequest = { what: "c", parts: [{ policy, name: "one", tokens: 1 }] };
  const args = rest.slice(count);
  if (isLone({ args })) {
    // Without an answer, the other script decides next.
    if (reply !== null) {
      const { now, fits } = readLone({ args, reply }, one);
      told.push([now, fits, 1]);
    }
    return reply;
  }
  for (const answer of readReply(reply, Array<StoreRequest>(count).fill(one))) {
    if (answer instanceof Error) throw answer;
    for (const { now, fits } of answer) told.push([now, fits, 1]);
  }
  return reply;
};
const client: IoredisLike = {
  evalsha: (sha, count, ...rest) => note(count, rest, redis.evalsha(sha, count, ...rest)),
  eval: (script, count, ...rest) => note(count, rest, redis.eval(script, count, ...rest)),
};
const store = new RedisStore(client, JSON.parse(options) as RedisStoreOptions);

process.once("disconnect", () => process.exit());
await callsOf(store).peek(policy, "one", 1); // connected, and ready to start with the others
told.length = 0;
process.send?.("ready");
await new Promise((resolve) => process.once("message", resolve));

let asked = 0;
let allowed = 0;
const end = performance.now() + Number(ms);
await Promise.all(
  Array.from({ length: 8 }, async () => {
    while (performance.now() < end) {
      asked += 1;
      if ((await callsOf(store).consume(policy, "one", 1)).allowed) allowed += 1;
      else await new Promise(setImmediate); // what is answered from memory gives way to nobody
    }
  }),
);
redis.disconnect();
process.send?.({ told, asked, allowed } satisfies Tale, () => process.disconnect());
