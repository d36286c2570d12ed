/**
 * `npm run bench window`: sliding windows. Decisions a second and bytes over Redis, the cost in memory, and the most that
 * each lets through in any window, beside a rate, @upstash/ratelimit's sliding window, and a log in a sorted set.
 *
 * It starts a server. `--quick` makes it short. It prints results and fails on none.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "ioredis";
import { afterMs, createLimiter, MemoryStore, perHour, perMinute, type Decision } from "../dist/index.js";
import { RedisStore } from "../dist/redis.js";
import { callersOf, fromStore, inRounds, printSamples, sample, type Side } from "./measure.js";
import { median } from "./ratios.js";
import { startRedis } from "./redis-server.js";
import { finish, goal, quick, rounded, show } from "./results.js";

const RATE = "sluice, rate";
const WINDOW = "sluice, window";
const THREE = "sluice, three windows";
const BESIDE = "sluice, a window beside a rate";
const UPSTASH = "@upstash/ratelimit, sliding window";
const LOG = "sorted set, log";

const MINUTE = 60_000;
// Short enough that each key has all of its 18 amounts, and a log of some hundred entries.
const BUSY_MS = 1_600;
const PLENTY = 1_000_000;
const ROUNDS = quick ? 4 : 12;
const CALLS = quick ? 10_000 : 30_000;
const KEYS = callersOf(2_000);

const server = await startRedis();
const redis = new Redis({ port: server.port });
try {
  await speed();
  await bytes();
  await most();
} finally {
  redis.disconnect();
  await server.stop();
}
inMemory();
await inBytes();
finish("window", ["@upstash/ratelimit", "ioredis"], { Redis: server.version });

/**
 * The commands of @upstash/redis that the peer calls, over ioredis. Its script begins with a flag that only Upstash's own
 * server knows; Redis runs the script without it.
 */
function upstashOver(client: Redis): never {
  const known = new Map<string, string>();
  let asked = "";
  const run = (sha: string, keys: string[], args: unknown[]) => client.evalsha(sha, keys.length, ...keys, ...args.map(String));
  return {
    async evalsha(sha: string, keys: string[], args: unknown[]) {
      asked = sha;
      const own = known.get(sha);
      if (own === undefined) throw new Error("NOSCRIPT");
      return run(own, keys, args);
    },
    async eval(script: string, keys: string[], args: unknown[]) {
      const own = (await client.script("LOAD", script.replace(/^#!.*\n/, ""))) as string;
      known.set(asked, own);
      return run(own, keys, args);
    },
  } as never;
}

/** A log of all calls: exact, and as long as the capacity. */
function logOver(client: Redis, name: string, capacity: number, ms: number): (key: string, now?: number) => Promise<boolean> {
  const script = `
    local now = tonumber(ARGV[1])
    redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
    if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
    redis.call('ZADD', KEYS[1], now, ARGV[4])
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return 1`;
  let count = 0;
  return async (key, now = Date.now()) =>
    (await client.eval(script, 1, `${name}:${key}`, now, ms, capacity, `${process.pid}-${count++}`)) === 1;
}

function sluiceOver(name: string, limit: object): (key: string) => Promise<Decision> {
  const store = new RedisStore(redis, { prefix: name, denyCacheMs: 0, timeoutMs: 10_000 });
  const limiter = createLimiter({ policy: { name: "api", ...limit } as never, store, onStoreError: "unavailable" });
  return async (key) => fromStore(await limiter.consume(key));
}

function sidesOf(capacity: number, ms: number, name: string): readonly Side[] {
  const peer = new Ratelimit({ redis: upstashOver(redis), limiter: Ratelimit.slidingWindow(capacity, `${ms} ms`), ephemeralCache: false, prefix: `${name}-u` });
  return [
    { name: RATE, ask: sluiceOver(`${name}-r`, { capacity, refill: perMinute(capacity) }), allows: (answer) => (answer as Decision).allowed },
    { name: WINDOW, ask: sluiceOver(`${name}-w`, { capacity, returns: afterMs(ms) }), allows: (answer) => (answer as Decision).allowed },
    { name: UPSTASH, ask: (key) => peer.limit(key), allows: (answer) => (answer as { success: boolean }).success },
    { name: LOG, ask: logOver(redis, `${name}-l`, capacity, ms), allows: (answer) => answer as boolean },
  ];
}

async function speed(): Promise<void> {
  const load = { callers: 64, calls: CALLS, keys: KEYS, expected: true, serverCpu: server.cpu };
  const results = await inRounds(`64 callers, ${KEYS.count} keys, ${BUSY_MS} ms`, sidesOf(PLENTY, BUSY_MS, "speed"), ROUNDS, (side) => sample(side, load));
  printSamples(`Redis, 64 callers, ${KEYS.count} keys, all allowed`, results, RATE);
  const perSecond = (name: string): number[] => (results.get(name) ?? []).map((each) => each.perSecond);
  const part = median(perSecond(WINDOW).map((each, i) => each / (perSecond(RATE)[i] as number)));
  goal("decisions of a window over Redis, of those of a rate", { median: part }, { atLeast: 0.4 });
  await several(load);
  await refused();
}

/** Policies of several limits. */
async function several(load: Parameters<typeof sample>[1]): Promise<void> {
  const rate = { name: "rate", capacity: PLENTY, refill: perMinute(PLENTY) };
  const limits = { [THREE]: threeWindows(PLENTY, BUSY_MS), [BESIDE]: [rate, ...threeWindows(PLENTY, BUSY_MS).slice(0, 1)] };
  const sides = Object.entries(limits).map(([name, list], i): Side => ({ name, ask: sluiceOver(`several-${i}`, { limits: list }), allows: (answer) => (answer as Decision).allowed }));
  const alone = sidesOf(PLENTY, BUSY_MS, "several").filter(({ name }) => name === WINDOW);
  const results = await inRounds("several limits in a policy", [...alone, ...sides], ROUNDS, (side) => sample(side, load));
  printSamples(`Redis, several limits in a policy, 64 callers, ${KEYS.count} keys`, results, WINDOW);
  for (const [name, text] of [[THREE, "three windows over Redis, times one"], [BESIDE, "a window beside a rate over Redis, times a window"]] as const) {
    const times = (results.get(WINDOW) ?? []).map((each, i) => each.perSecond / (results.get(name)?.[i]?.perSecond ?? NaN));
    goal(text, { median: median(times) }, { atMost: 3 });
  }
}

/** Refusals of full records, each asked of the server. Usually a refused caller is answered from memory. */
async function refused(): Promise<void> {
  const keys = callersOf(200);
  const limits = { [RATE]: { capacity: 18, refill: perHour(18) }, [WINDOW]: { capacity: 18, returns: afterMs(3_600_000) } };
  const sides = Object.entries(limits).map(([name, limit], i): Side => ({ name, ask: sluiceOver(`refused-${i}`, limit), allows: (answer) => (answer as Decision).allowed }));
  for (const side of sides) {
    for (let take = 0; take < 18; take++) await Promise.all(Array.from({ length: keys.count }, (_, i) => side.ask(keys.key(i))));
  }
  const load = { callers: 64, calls: CALLS, keys, expected: false, serverCpu: server.cpu };
  const results = await inRounds("refusals", sides, ROUNDS, (side) => sample(side, load));
  printSamples(`Redis, 64 callers, ${keys.count} keys, all refused, without a deny cache`, results, RATE);
  const part = (results.get(RATE) ?? []).map((each, i) => (results.get(WINDOW)?.[i]?.perSecond ?? NaN) / each.perSecond);
  goal("refusals of a window over Redis without a deny cache, of those of a rate", { median: median(part) }, { atLeast: 0.4 });
}

/** Three windows of other lengths. */
function threeWindows(capacity: number, ms: number): readonly object[] {
  return [1, 2, 4].map((times) => ({ name: `w${times}`, capacity: capacity * times, returns: afterMs(ms * times) }));
}

/** Bytes of a caller that took 100 tokens in a minute. */
async function bytes(): Promise<void> {
  const rows: Record<string, Record<string, number>> = {};
  for (const [i, { name, ask }] of sidesOf(100, 2_000, "bytes").entries()) {
    for (let call = 0; call < 100; call++) {
      await ask("one");
      if (call % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const keys = (await redis.keys("*")).filter((key) => key.startsWith(`bytes-${"rwul"[i]}`));
    const sizes = await Promise.all(keys.map((key) => redis.memory("USAGE", key)));
    rows[name] = { "bytes of a caller": sizes.reduce<number>((sum, size) => sum + Number(size), 0) };
  }
  show("Redis, bytes of a caller with 100 calls in a window", rows);
}

/**
 * The most calls in any minute of a limit of 100 a minute, for a caller that looks for it: a burst just before the edge of a
 * minute, and then whenever it is let through. Two counters take the calls of the minute before for evenly spread. Time is a
 * number.
 */
async function most(): Promise<void> {
  const { now } = Date;
  const start = Math.ceil(now() / MINUTE) * MINUTE;
  let time = start;
  Date.now = () => time;
  const limiterOf = (limit: object) => createLimiter({ policy: { name: "api", capacity: 100, ...limit } as never, store: new MemoryStore({ clock: () => time }) });
  const [rate, window] = [limiterOf({ refill: perMinute(100) }), limiterOf({ returns: afterMs(MINUTE) })];
  const peer = new Ratelimit({ redis: upstashOver(redis), limiter: Ratelimit.slidingWindow(100, "60 s"), ephemeralCache: false, prefix: "most-u" });
  const log = logOver(redis, "most-l", 100, MINUTE);
  const asks: Record<string, () => Promise<boolean> | boolean> = {
    [RATE]: () => rate.consume("one").allowed, [WINDOW]: () => window.consume("one").allowed,
    [UPSTASH]: async () => (await peer.limit("one")).success, [LOG]: () => log("one", time),
  };
  const rows: Record<string, Record<string, number>> = {};
  try {
    for (const [name, ask] of Object.entries(asks)) {
      const taken: number[] = [];
      for (const at of instants(start)) {
        time = at;
        for (let call = 0; call < 100 && (await ask()); call++) taken.push(at);
      }
      const inMinute = Math.max(...taken.map((end) => taken.filter((each) => each > end - MINUTE && each <= end).length));
      rows[name] = { "most in any minute": inMinute, "in five minutes": taken.length };
    }
  } finally {
    Date.now = now;
  }
  show("100 a minute, a caller that looks for more", rows);
  goal("most in any minute under a window of 100", { median: rows[WINDOW]?.["most in any minute"] ?? NaN }, { atMost: 100 });
}

// Every tenth of a second of five minutes, from just before the edge of a minute on.
function instants(start: number): readonly number[] {
  return Array.from({ length: 3_000 }, (_, i) => start + MINUTE - 100 + 100 * i);
}

/** Processor time of a decision in memory, in nanoseconds, of keys that each have 18 amounts. */
function inMemory(): void {
  const calls = quick ? 100_000 : 300_000;
  const timed = (limit: object, count = 1_000): number => {
    const keys = Array.from({ length: count }, (_, i) => `user:${i}`);
    let clock = 1_790_000_000_000;
    const limiter = createLimiter({ policy: { name: "api", ...limit } as never, store: new MemoryStore({ clock: () => clock }) });
    let began = process.cpuUsage().user;
    for (let i = 0; i < 2 * calls; i++) {
      if (i === calls) began = process.cpuUsage().user;
      clock += 640 / count;
      limiter.consume(keys[i % count] as string);
    }
    return ((process.cpuUsage().user - began) * 1_000) / calls;
  };
  const [rate, window] = [{ capacity: 100, refill: perMinute(100) }, { capacity: 100, returns: afterMs(MINUTE) }];
  const sides: Record<string, () => number> = {
    [RATE]: () => timed(rate),
    [WINDOW]: () => timed(window),
    [THREE]: () => timed({ limits: threeWindows(100, MINUTE) }),
    [`${RATE}, one key`]: () => timed(rate, 1),
    [`${WINDOW}, one key`]: () => timed(window, 1),
  };
  const rounds = Array.from({ length: quick ? 5 : 11 }, () => Object.fromEntries(Object.entries(sides).map(([name, run]) => [name, run()])));
  const times = (name: string, other: string): number => median(rounds.map((round) => (round[name] as number) / (round[other] as number)));
  show("In memory, 94 calls in a minute for each key, 1,000 keys in turn or one", Object.fromEntries(
    Object.keys(sides).map((name) => [name, { "ns a decision": rounded(median(rounds.map((round) => round[name] as number))) }]),
  ));
  goal("a window in memory, times a rate", { median: times(WINDOW, RATE) }, { atMost: 2.5 });
  goal("a window in memory with one key alone, times a rate", { median: times(`${WINDOW}, one key`, `${RATE}, one key`) }, { atMost: 2.5 });
  goal("three windows in memory, times one", { median: times(THREE, WINDOW) }, { atMost: 3 });
}

/** Bytes a key in memory, of keys that each took once, and of keys that took 36 times in a minute. */
async function inBytes(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const held = async (): Promise<number> => {
    // Arrays of the store before are freed after a collection, in a later turn.
    for (let i = 0; i < 4; i++) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const count = quick ? 20_000 : 100_000;
  const bytesOf = async (limit: object, takes: number): Promise<number> => {
    let clock = 1_790_000_000_000;
    const before = await held();
    const store = new MemoryStore({ clock: () => clock, maxKeys: 2 * count });
    const limiter = createLimiter({ policy: { name: "api", capacity: 100, ...limit } as never, store });
    for (let take = 0; take < takes; take++) {
      for (let key = 0; key < count; key++) limiter.consume(`user:${key}`);
      clock += (MINUTE - 1) / takes;
    }
    const bytes = ((await held()) - before) / count;
    limiter.peek("user:0"); // the store lives until here
    return bytes;
  };
  await bytesOf({ returns: afterMs(MINUTE) }, 1); // what the code itself holds
  const rate = await bytesOf({ refill: perMinute(100) }, 1);
  const one = await bytesOf({ returns: afterMs(MINUTE) }, 1);
  const full = await bytesOf({ returns: afterMs(MINUTE) }, 36);
  show(`In memory, bytes a key of ${count}`, {
    [RATE]: { "bytes a key": rounded(rate) },
    [`${WINDOW}, one call`]: { "bytes a key": rounded(one) },
    [`${WINDOW}, 36 calls`]: { "bytes a key": rounded(full) },
  });
  goal("bytes a key of a window with one call", { median: one }, { atMost: 150 });
  goal("bytes a key of a window with 36 calls", { median: full }, { atMost: 450 });
}
