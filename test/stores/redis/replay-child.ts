// One of the processes whose interleaving is replayed: asks at random, and tells all that it did.
import { isDeepStrictEqual } from "node:util";
import { Redis } from "ioredis";
import type { Decision, Policy } from "sluice";
import { RedisStore } from "sluice/redis";
import { simplest, type Costs } from "../../../src/core/limit.js";
import { keys, modes, policies, type Asked, type Mode, type Told } from "./replay.js";
import { policyOfScript, type Call } from "./replay-wire.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import type { IoredisLike } from "../../../src/stores/redis/client.js";

const [url, seed, steps, mode] = process.argv.slice(2) as [string, string, string, Mode];

let state = Number(seed);
const random = (below: number): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};

const redis = new Redis(url);
const calls: Call[] = [];
const asked: Asked[] = [];
let events = 0;
// What the server did not know by its hash, and what is yet to be sent as text; its decisions left when the hash did.
const unknown: Call[] = [];
const note = (script: string, rest: string[], count: number, run: Promise<unknown>): Promise<unknown> => {
  const [names, args] = [rest.slice(0, count), rest.slice(count)];
  const again = script.length > 40; // a text, not a hash
  const first = again ? unknown.findIndex((call) => isDeepStrictEqual([call.keys, call.args], [names, args])) : -1;
  const event = ++events;
  const limit = policyOfScript(script, policies);
  const call: Call = { event, left: unknown.splice(first, first < 0 ? 0 : 1)[0]?.left ?? event, limit, keys: names, args, reply: null };
  calls.push(call);
  run.catch(() => unknown.push(call));
  return run.then((reply) => {
    call.reply = reply ?? false;
    return reply;
  });
};
const client: IoredisLike = {
  evalsha: (sha, count, ...rest) => note(sha, rest, count, redis.evalsha(sha, count, ...rest)),
  eval: (script, count, ...rest) => note(script, rest, count, redis.eval(script, count, ...rest)),
};

// The clock of the deny cache moves only between steps and while nothing is about to leave, so that every call and every answer
// from memory has one instant. Where the script is told the time, it is that clock's, which wanders; else this process's clock
// is slowed to steps, and the server's is its own.
const passing = performance.now.bind(performance);
const reading = (): number => (mode === "told" ? Date.now() + random(80) - 40 : Math.floor(passing()));
let time = reading();
const times: [event: number, time: number][] = [[0, time]];
if (mode === "server") performance.now = () => time;
const store = mode === "told" ? new RedisStore(client, { clock: () => time, ...modes.told }) : new RedisStore(client);

process.once("disconnect", () => process.exit());
const address = / addr=(\S+)/.exec(String(await redis.client("INFO")))?.[1] ?? "";
process.send?.("ready");
await new Promise((resolve) => process.once("message", resolve));

let policy = 0;
let waiting: Promise<unknown>[] = [];
ask(); // from now on the script's hash is known, and calls leave in the tick that they are made in
await waiting.pop();
for (let step = 0; step < Number(steps); step++) {
  if (random(3) === 0) {
    await new Promise(setImmediate);
    times.push([++events, (time = reading())]);
  }
  if (random(40) === 0) await redis.script("FLUSH");
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
  const what = ["reset", "adjust", "adjust", "block", "peek", "peek", "together", "together"][random(45)] ?? "consume";
  const each = what === "adjust" ? 7 - random(12) : what === "block" ? Math.max(0, random(40) - 10) : random(4);
  // A policy of two limits has a cost for each, half of the time.
  const tokens: Costs = chosen.limits.length > 1 && what !== "block" && random(2) === 0 ? simplest([each, random(6)]) : each;
  const entry: Asked = { what, policy, keys: what === "together" ? [key, other] : [key], tokens, asked: ++events, answered: 0, decisions: [] };
  asked.push(entry);
  const answer =
    what === "together"
      ? callsOf(store).together([{ policy: chosen, key, cost: tokens }, { policy: chosen, key: other, cost: 1 }])
      : callsOf(store)[what as "consume" | "peek" | "adjust"](chosen, key, tokens as number);
  waiting.push(
    Promise.resolve(answer).then((decision: Decision | readonly Decision[] | boolean | undefined) => {
      Object.assign(entry, { answered: ++events, decisions: typeof decision === "object" ? [decision].flat() : [] });
    }),
  );
}
