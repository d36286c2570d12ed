// One of the processes whose interleaving is replayed: asks at random by a clock that wanders, and tells all that it did.
import { Redis } from "ioredis";
import type { Policy } from "sluice";
import { RedisStore, type IoredisLike } from "sluice/redis";
import { DENY_CACHE_MS, keys, policies, type Asked, type Call, type Told } from "./redis-replay.js";

const [url, seed, steps] = process.argv.slice(2) as [string, string, string];

let state = Number(seed);
const random = (below: number): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};

const redis = new Redis(url);
const calls: Call[] = [];
const asked: Asked[] = [];
let events = 0;
const note = (rest: string[], count: number, run: Promise<unknown>): Promise<unknown> => {
  const call: Call = { event: ++events, keys: rest.slice(0, count), args: rest.slice(count), reply: null };
  calls.push(call);
  return run.then((reply) => (call.reply = reply as number[]));
};
const client: IoredisLike = {
  evalsha: (sha, count, ...rest) => note(rest, count, redis.evalsha(sha, count, ...rest)),
  eval: (script, count, ...rest) => note(rest, count, redis.eval(script, count, ...rest)),
};

// Moves only between steps, so that every call and every answer from memory has one instant.
let time = Date.now();
const times: [event: number, time: number][] = [[0, time]];
const store = new RedisStore(client, { clock: () => time, denyCacheMs: DENY_CACHE_MS });

process.once("disconnect", () => process.exit());
const address = / addr=(\S+)/.exec(String(await redis.client("INFO")))?.[1] ?? "";
process.send?.("ready");
await new Promise((resolve) => process.once("message", resolve));

let policy = 0;
let waiting: Promise<unknown>[] = [];
for (let step = 0; step < Number(steps); step++) {
  if (random(3) === 0) times.push([++events, (time = Date.now() + random(80) - 40)]);
  if (random(200) === 0) await redis.script("FLUSH");
  for (let i = random(6); i >= 0; i--) ask();
  const pause = random(10);
  if (pause < 4) await new Promise(setImmediate);
  else if (pause < 7) {
    await Promise.all(waiting);
    waiting = [];
  }
}
await Promise.all(waiting);
redis.disconnect();
process.send?.({ address, calls, asked, times } satisfies Told, () => process.disconnect());

function ask(): void {
  if (random(8) === 0) policy = random(policies.length);
  const chosen = policies[policy] as Policy;
  const first = random(keys.length);
  const [key, other] = [keys[first] as string, keys[(first + 1) % keys.length] as string];
  const tokens = random(4);
  const what = ["reset", "refund", "refund", "peek", "peek", "together", "together"][random(40)] ?? "consume";
  const entry: Asked = { what, policy, keys: what === "together" ? [key, other] : [key], tokens, asked: ++events, answered: 0, decisions: [] };
  asked.push(entry);
  const answer: Promise<unknown> =
    what === "together"
      ? store.consumeTogether([{ policy: chosen, key, cost: tokens }, { policy: chosen, key: other, cost: 1 }])
      : store[what as "consume" | "peek" | "refund" | "reset"](chosen, key, tokens);
  waiting.push(
    answer.then((decision) => {
      Object.assign(entry, { answered: ++events, decisions: decision === undefined ? [] : [decision].flat() });
    }),
  );
}
