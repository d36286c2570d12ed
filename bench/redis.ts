/**
 * `npm run bench redis`: one decision over Redis, compared with the peers and with the floor.
 *
 * It starts a server. Every round runs all sides in turn, and ratios are taken within a round: a machine that slows
 * down for a minute slows all sides. This script prints results and fails on none. `--quick` makes it short.
 * `--only=alone`, `callers`, `denied`, `http` or `growth` runs one part, and `--client="node-redis 6"` runs one client.
 * `--only=callers --beside=<the dist folder of an earlier build>` also compares with that build.
 */
import { callersOf, inRounds, printSamples, ratio, sample, type Sample } from "./measure.js";
import { besideControl, compare, likelyRatio, textOf } from "./ratios.js";
import { alone } from "./redis-alone.js";
import { asCallersGrow, asProcessesGrow } from "./redis-growth.js";
import { throughHttp } from "./redis-http.js";
import { startRedis } from "./redis-server.js";
import { CONTROL, EARLIER, overIoredis, overNodeRedis, PEER, SLUICE, type Client } from "./redis-sides.js";
import { finish, goal, quick } from "./results.js";

const ROUNDS = quick ? 10 : 16;
const CALLS = { 64: quick ? 10_000 : 20_000, 512: quick ? 20_000 : 40_000 };
const KEYS = callersOf(20_000);
const DENIED_KEYS = callersOf(1_000);
/** The default of {@link RedisStoreOptions.denyCacheMs}. */
const DENY_CACHE_MS = 1_000;
const wordAfter = (start: string): string | undefined => process.argv.find((word) => word.startsWith(start))?.slice(start.length);
const only = wordAfter("--only=");
const one = wordAfter("--client=");

const server = await startRedis();
try {
  for (const name of ["ioredis", "ioredis 6", "node-redis", "node-redis 6"] as const) {
    if (one !== undefined && one !== name) continue;
    const client = await (name === "ioredis" || name === "ioredis 6" ? overIoredis(server.port, name) : overNodeRedis(server.port, name));
    if (only === undefined || only === "alone") await alone(client.name, client, server.cpu);
    if (only === undefined || only === "callers") for (const callers of [64, 512] as const) await allowed(client, callers);
    if (only === undefined || only === "denied") await denied(client);
    if (only === undefined || only === "http") await throughHttp(client.name, client.name, [server.port], server);
    if ((only === undefined || only === "growth") && !client.name.endsWith("6")) await asCallersGrow(client, server);
    await client.close();
  }
  if (only === undefined || only === "growth") await asProcessesGrow(server);
} finally {
  await server.stop();
}
finish("redis", ["ioredis", "ioredis6", "redis", "redis6", "rate-limiter-flexible", "rate-limit-redis"], { Redis: server.version });

async function allowed(client: Client, callers: keyof typeof CALLS): Promise<void> {
  const title = `${client.name}, ${callers} callers, ${KEYS.count} keys`;
  const load = { callers, calls: CALLS[callers], keys: KEYS, expected: true, serverCpu: server.cpu };
  const results = await inRounds(title, client.allowed, ROUNDS, (side) => sample(side, load));
  printSamples(title, results, PEER);

  const side = (one: string): readonly Sample[] => results.get(one) ?? [];
  const against = (of: (sample: Sample) => number) => besideControl(compare(side(SLUICE), side(PEER), side(CONTROL), of));
  const name = `${client.name}, ${callers}`;
  if (results.has(EARLIER)) {
    const speed = likelyRatio(side(SLUICE), side(EARLIER), ({ perSecond }) => perSecond);
    const noise = likelyRatio(side(CONTROL), side(PEER), ({ perSecond }) => perSecond);
    const spread = `${textOf(speed)}; control ${textOf(noise)}`;
    goal(`${name}: decisions/s, beside the earlier build`, { median: speed.median, spread }, { atLeast: 0.97 });
  }
  const wanted = client.name.startsWith("ioredis") ? { 64: 2.8, 512: 3.2 } : { 64: 2, 512: 3 };
  goal(`${name}: decisions/s`, against(({ perSecond }) => perSecond), { atLeast: wanted[callers] });
  if (callers === 512) {
    goal(`${name}: client CPU`, against(({ clientUs }) => clientUs), { atMost: 0.2 });
    goal(`${name}: server CPU`, against(({ serverUs }) => serverUs), { atMost: 0.5 });
  }
}

async function denied(client: Client): Promise<void> {
  const title = `${client.name}, denied, 512 callers, ${DENIED_KEYS.count} keys, each library with its memory of denials`;
  const load = { callers: 512, calls: quick ? 50_000 : 100_000, keys: DENIED_KEYS, expected: false, serverCpu: server.cpu };
  // Not measured: the first call for each key, which is allowed, and the second, which gives the first refusal to
  // remember.
  for (const side of client.denied) {
    for (let time = 0; time < 2; time++) {
      await Promise.all(Array.from({ length: DENIED_KEYS.count }, (_, i) => side.ask(DENIED_KEYS.key(i)).catch(() => undefined)));
    }
  }
  let asked = 0;
  let bound = 0;
  const results = await inRounds(title, client.denied, ROUNDS, async (side) => {
    const before = await server.lookups();
    const start = performance.now();
    const result = await sample(side, load);
    if (side.name === SLUICE) {
      asked += (await server.lookups()) - before;
      bound += DENIED_KEYS.count * (1 + Math.floor((performance.now() - start) / DENY_CACHE_MS));
    }
    return result;
  });
  printSamples(title, results, PEER);
  goal(`${client.name}, denied: keys asked for, of one each denyCacheMs`, { median: asked / bound, spread: `${asked} of ${bound}` }, { atMost: 1 });
  goal(`${client.name}, denied: decisions/s`, ratio(results.get(SLUICE) ?? [], results.get(PEER) ?? [], ({ perSecond }) => perSecond), { atLeast: 5 });
}
