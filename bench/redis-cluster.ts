/**
 * `npm run bench redis-cluster`: one decision over a Redis Cluster of three masters, which it starts. It is
 * compared with rate-limiter-flexible and a bare `GET`. Decisions for one node share calls. This script prints results and fails on none. `--quick` makes it short,
 * `--only=alone`, `callers` or `http` runs one part, and `--client="node-redis 6"` runs one client.
 */
import { Redis } from "ioredis";
import { startCluster } from "../test/helpers/own-redis.js";
import { callersOf, inRounds, printSamples, sample, type Sample } from "./measure.js";
import { besideControl, compare } from "./ratios.js";
import { alone } from "./redis-alone.js";
import { throughHttp } from "./redis-http.js";
import { workOf } from "./redis-server.js";
import { CONTROL, overCluster, PEER, SLUICE, type Client } from "./redis-sides.js";
import { finish, goal, quick } from "./results.js";

const KEYS = callersOf(20_000);

const wordAfter = (start: string): string | undefined => process.argv.find((word) => word.startsWith(start))?.slice(start.length);
const only = wordAfter("--only=");
const one = wordAfter("--client=");

const cluster = await startCluster();
const masters = cluster.ports.map((port) => new Redis(port));
const work = workOf(masters);
const version = /redis_version:(\S+)/.exec(await (masters[0] as Redis).info("server"))?.[1] ?? "unknown";
try {
  for (const name of ["ioredis", "ioredis 6", "node-redis", "node-redis 6"] as const) {
    if (one !== undefined && one !== name) continue;
    const client = await overCluster(name, cluster.ports);
    if (only === undefined || only === "alone") await alone(`${name}, cluster`, client, work.cpu, { known: 0.97, paused: 0.97 });
    if (only === undefined || only === "callers") for (const callers of [64, 512] as const) await allowed(client, callers);
    if (only === undefined || only === "http") await throughHttp(`${name}, cluster`, name, cluster.ports, work);
    await client.close();
  }
} finally {
  for (const master of masters) master.disconnect();
  await cluster.stop();
}
finish("cluster", ["ioredis", "ioredis6", "redis", "redis6", "rate-limiter-flexible"], { Redis: version });

async function allowed({ name, allowed: sides }: Client, callers: 64 | 512): Promise<void> {
  const wanted = name.startsWith("ioredis") ? { 64: 2.3, 512: 4 } : name === "node-redis" ? { 64: 1.5, 512: 3 } : { 64: 2.3, 512: 4.5 };
  const load = { callers, calls: 20_000, keys: KEYS, expected: true, serverCpu: work.cpu };
  const results = await inRounds(`${name}, cluster, ${callers}`, sides, quick ? 10 : 15, (side) => sample(side, load));
  printSamples(`${name}, cluster of three, ${callers} callers, ${KEYS.count} keys`, results, PEER);
  const side = (one: string): readonly Sample[] => results.get(one) ?? [];
  const against = (of: (sample: Sample) => number) => besideControl(compare(side(SLUICE), side(PEER), side(CONTROL), of));
  goal(`${name}, cluster, ${callers}: decisions/s`, against(({ perSecond }) => perSecond), { atLeast: wanted[callers] });
  if (callers === 512) goal(`${name}, cluster, ${callers}: client CPU`, against(({ clientUs }) => clientUs), { atMost: 0.2 });
}
