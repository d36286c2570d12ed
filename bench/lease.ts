/**
 * `npm run bench lease`: hot keys over Redis with leases, compared with the same store without leases and with
 * the peer.
 *
 * 512 callers use 20 keys, and each sends the next request when it has its answer. Every round runs all sides, and
 * ratios are taken within a round. The calls of each key to the store are counted. The last table is a flood. This script prints results and fails
 * on none. `--quick` makes it short.
 */
import { Redis } from "ioredis";
import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { createClient } from "redis";
import { createLimiter, perSecond, type AsyncStore, type Decision } from "../dist/index.js";
import { leased } from "../dist/lease.js";
import { RedisStore } from "../dist/redis.js";
import type { StoreCall } from "../dist/store.js";
import { floods } from "./lease-flood.js";
import { callersOf, fromStore, inRounds, PATIENT_MS, ratio, type Side } from "./measure.js";
import { median } from "./ratios.js";
import { startRedis } from "./redis-server.js";
import { finish, goal, quick, show } from "./results.js";

const LEASE_MS = 100;
const CALLERS = 512;
const KEYS = callersOf(20);
const ROUNDS = quick ? 3 : 7;
const ROUND_MS = quick ? 500 : 1_000;
/** Not measured. A lease is as large as recent demand, and between its rounds a side has no lease. */
const WARM_MS = 3 * LEASE_MS;
const [LEASED, DIRECT, PEER] = ["sluice, leased", "sluice", "rate-limiter-flexible"];
const policy = { name: "hot", capacity: 1_000_000_000, refill: perSecond(1_000_000) };

/** The result of one side in one round. */
interface LeaseSample {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** Microseconds of this process for each decision, user and system. */
  readonly clientUs: number;
  /** Calls to the store for each key in each `leaseMs`. NaN where they are not counted. */
  readonly calls: number;
}

/** One side, and the number of its calls to the store so far. */
interface CountedSide extends Side {
  readonly calls: () => number;
}

const server = await startRedis();
try {
  const ioredis = Array.from({ length: 3 }, () => new Redis({ port: server.port, host: "127.0.0.1" }));
  await Promise.all(ioredis.map((client) => client.ping()));
  await measure("ioredis", ioredis);
  for (const client of ioredis) client.disconnect();
  await server.flush();
  const nodeRedis = await Promise.all(Array.from({ length: 3 }, () => createClient({ socket: { port: server.port, host: "127.0.0.1" } }).connect()));
  await measure("node-redis", nodeRedis);
  for (const client of nodeRedis) client.destroy();
  await floods(server);
} finally {
  await server.stop();
}
finish("lease", ["ioredis", "redis", "rate-limiter-flexible"], { Redis: server.version });

async function measure(name: string, clients: readonly unknown[]): Promise<void> {
  const sides = [overLease(clients[0]), direct(clients[1]), peer(clients[2])];
  const results = await inRounds(`${name}, ${CALLERS} callers, ${KEYS.count} keys, leaseMs ${LEASE_MS}`, sides, ROUNDS, run);
  const against = results.get(PEER) as readonly LeaseSample[];
  show(
    `${name}, ${CALLERS} callers, ${KEYS.count} hot keys, leaseMs ${LEASE_MS}`,
    Object.fromEntries(
      [...results].map(([side, own]) => {
        const speed = ratio(own, against, ({ perSecond }) => perSecond);
        const calls = median(own.map(({ calls }) => calls));
        return [
          side,
          {
            "decisions/s": Math.round(median(own.map(({ perSecond }) => perSecond))),
            [`times ${PEER}`]: Number(speed.median.toFixed(2)),
            spread: speed.spread,
            "p99 ms": Number(median(own.map(({ p99Ms }) => p99Ms)).toFixed(2)),
            "client µs": Number(median(own.map(({ clientUs }) => clientUs)).toFixed(2)),
            "calls a key in leaseMs": Number.isNaN(calls) ? "" : Number(calls.toFixed(2)),
          },
        ];
      }),
    ),
  );
  const own = results.get(LEASED as string) as readonly LeaseSample[];
  goal(`${name}, ${CALLERS} callers, ${KEYS.count} keys, leased: decisions/s`, ratio(own, against, ({ perSecond }) => perSecond), { atLeast: 15 });
  goal(`${name}, leased: calls a key in leaseMs`, { median: median(own.map(({ calls }) => calls)) }, { atMost: 1 });
}

/**
 * Each caller sends the next request in the turn of the event loop after its answer, until the time is over. Callers
 * that continued in the same turn would keep the loop from reading the server's answers.
 */
async function run(side: CountedSide): Promise<LeaseSample> {
  const took: number[] = [];
  const warm = performance.now() + WARM_MS;
  let [asked, start, calls] = [0, Infinity, 0];
  let cpu = process.cpuUsage();
  let isOver = false;
  let turn = nextTurn();
  const caller = async (): Promise<void> => {
    while (!isOver) {
      const i = asked++;
      const before = i % 32 === 0 ? performance.now() : 0;
      const answer = await side.ask(KEYS.key(i)).catch((thrown: unknown) => thrown);
      if (!side.allows(answer)) throw new Error(`${side.name}: a decision was denied`);
      if (before > 0) took.push(performance.now() - before);
      await turn;
    }
  };
  function nextTurn(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        isOver = performance.now() >= start + ROUND_MS;
        if (start === Infinity && performance.now() >= warm) {
          [asked, took.length, start, calls, cpu] = [0, 0, performance.now(), side.calls(), process.cpuUsage()];
        }
        if (!isOver) turn = nextTurn();
        resolve();
      });
    });
  }
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const ms = performance.now() - start;
  const used = process.cpuUsage(cpu);
  took.sort((a, b) => a - b);
  return {
    perSecond: (asked / ms) * 1_000,
    p99Ms: took[Math.floor(took.length * 0.99)] as number,
    clientUs: (used.user + used.system) / asked,
    // The first lease may have begun just before.
    calls: (side.calls() - calls) / KEYS.count / (1 + Math.floor(ms / LEASE_MS)),
  };
}

function overLease(client: unknown): CountedSide {
  const store = new RedisStore(client as Redis, { prefix: "leased", timeoutMs: PATIENT_MS });
  let calls = 0;
  const counted: AsyncStore = Object.assign(Object.create(store) as AsyncStore, {
    ask: (call: StoreCall) => ((calls += 1), store.ask(call)),
    recall: undefined,
  });
  const limiter = createLimiter({ policy, store: leased(counted, { leaseMs: LEASE_MS }) });
  return { name: LEASED as string, ask: (key) => limiter.consume(key), allows: (decision) => fromStore(decision as Decision).allowed, calls: () => calls };
}

function direct(client: unknown): CountedSide {
  const limiter = createLimiter({ policy, store: new RedisStore(client as Redis, { prefix: "direct", timeoutMs: PATIENT_MS }) });
  return { name: DIRECT as string, ask: (key) => limiter.consume(key), allows: (decision) => fromStore(decision as Decision).allowed, calls: () => Number.NaN };
}

function peer(client: unknown): CountedSide {
  const limiter = new RateLimiterRedis({ storeClient: client, useRedisPackage: !(client instanceof Redis), keyPrefix: "flexible", points: 2 ** 31, duration: 3_600 });
  return { name: PEER as string, ask: (key) => limiter.consume(key), allows: (answer) => (answer as RateLimiterRes).remainingPoints > 0, calls: () => Number.NaN };
}
