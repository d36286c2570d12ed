import { pathToFileURL } from "node:url";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster6, Redis as Redis6 } from "ioredis6";
import type { ClientRateLimitInfo } from "express-rate-limit";
import { RedisStore as PeerStore } from "rate-limit-redis";
import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { createClient, createCluster } from "redis";
import { createClient as createClient6, createCluster as createCluster6 } from "redis6";
import { createLimiter, perHour, perSecond, type Decision } from "../dist/index.js";
import { RedisStore, type RedisStoreOptions } from "../dist/redis.js";
import { fromStore, PATIENT_MS, type Side } from "./measure.js";

export const SLUICE = "sluice";
export const PEER = "rate-limiter-flexible";
/** A second side of the peer, equal to the first: the ratio of the two is noise. */
export const CONTROL = "rate-limiter-flexible, again";
/** sluice of an earlier build, where the option `--beside` names one. */
export const EARLIER = "sluice, earlier";
export const EXPRESS = "rate-limit-redis";
export const FLOOR = "bare GET (floor)";

/** The client libraries with the measured major version, which is 5 where none is given. */
export type ClientName = "ioredis" | "ioredis 6" | "node-redis" | "node-redis 6";

/** One client library, connected. Each side has its own connection, because sides must not wait in one queue. */
export interface Client {
  readonly name: ClientName;
  readonly allowed: readonly Side[];
  readonly denied: readonly Side[];
  /** For one caller at a time. The bucket of sluice is full again soon after a call. */
  readonly alone: readonly Side[];
  /** The same with a limit of 100 an hour, so that each call moves the end of the bucket. */
  readonly slow: readonly Side[];
  close(): Promise<void>;
}

/** The methods that the sides need of a client. */
interface Connection {
  readonly client: unknown;
  get(key: string): Promise<string | null>;
  raw(command: readonly string[]): Promise<unknown>;
}

const HUGE = 2 ** 31;

/** The sides over ioredis. */
export async function overIoredis(port: number, name: "ioredis" | "ioredis 6" = "ioredis"): Promise<Client> {
  const clients: Array<Redis | Redis6> = [];
  const connect = async (): Promise<Connection> => {
    const client = name === "ioredis" ? new Redis({ port, host: "127.0.0.1" }) : new Redis6({ port, host: "127.0.0.1" });
    clients.push(client);
    await client.ping();
    return {
      client,
      get: (key) => client.get(key),
      raw: ([command, ...rest]) => client.call(command as string, ...rest),
    };
  };
  return { name, ...(await sides(connect)), close: async () => clients.forEach((client) => client.disconnect()) };
}

/** The sides over a cluster. The peer is left out where it needs plain commands. */
export async function overCluster(name: ClientName, ports: readonly number[]): Promise<Client> {
  const closings: Array<() => void> = [];
  const raw = (): Promise<never> => Promise.reject(new Error("Not over a cluster"));
  const connect = async (): Promise<Connection> => {
    if (name === "ioredis" || name === "ioredis 6") {
      const client = new (name === "ioredis" ? Cluster : (Cluster6 as unknown as typeof Cluster))(ports.map((port) => ({ port, host: "127.0.0.1" })));
      closings.push(() => client.disconnect());
      await client.ping();
      return { client, get: (key) => client.get(key), raw };
    }
    const create = name === "node-redis" ? createCluster : (createCluster6 as unknown as typeof createCluster);
    const client = create({ rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })) });
    closings.push(() => client.destroy());
    await client.connect();
    return { client, get: (key) => client.get(key), raw };
  };
  const floor = await connect();
  const bare: Side = { name: FLOOR, ask: (key) => floor.get(`bare:${key}`), allows: (found) => found === null };
  const [peer, control, own] = [flexible(await connect(), false), again(await connect()), await connect()];
  return {
    name, allowed: [sluice(await connect(), false), peer, control, bare], denied: [],
    alone: [sluiceAlone(own), peer, control, bare], slow: [sluiceAlone(own, true), peer, control],
    close: async () => closings.forEach((close) => close()),
  };
}

/** The sides over node-redis. */
export async function overNodeRedis(port: number, name: "node-redis" | "node-redis 6" = "node-redis"): Promise<Client> {
  const clients: Array<{ destroy(): void }> = [];
  const connect = async (): Promise<Connection> => {
    const client = name === "node-redis" ? createClient({ socket: { port, host: "127.0.0.1" } }) : createClient6({ socket: { port, host: "127.0.0.1" } });
    clients.push(client);
    await client.connect();
    return { client, get: (key) => client.get(key), raw: (command) => client.sendCommand([...command]) };
  };
  return { name, ...(await sides(connect)), close: async () => clients.forEach((client) => client.destroy()) };
}

async function sides(connect: () => Promise<Connection>): Promise<Pick<Client, "allowed" | "denied" | "alone" | "slow">> {
  const floor = await connect();
  const bare = (allows: boolean): Side => ({ name: FLOOR, ask: (key) => floor.get(`bare:${key}`), allows: (found) => (found === null) === allows });
  const [peer, control, own] = [flexible(await connect(), false), again(await connect()), await connect()];
  return {
    allowed: [
      sluice(await connect(), false), peer, control, express(await connect()), bare(true), ...(await earlier(await connect())),
    ],
    denied: [sluice(await connect(), true), flexible(await connect(), true), bare(false)],
    alone: [sluiceAlone(own), peer, control, bare(true)],
    slow: [sluiceAlone(own, true), peer, control],
  };
}

function sluice({ client }: Connection, denied: boolean, options: RedisStoreOptions = {}): Side {
  const limiter = createLimiter({
    policy: denied
      ? { name: "denied", capacity: 1, refill: perHour(1) }
      : // Slow enough that buckets live on from visit to visit, as the peer's counters do.
        { name: "allowed", capacity: 10_000, refill: perHour(10_000) },
    store: new RedisStore(client as Redis, { ...options, timeoutMs: PATIENT_MS }),
  });
  return { name: SLUICE, ask: (key) => limiter.consume(key), allows: (decision) => fromStore(decision as Decision).allowed };
}

/** Full again after 1 ms, as the bucket of a caller who comes now and then. Or slow: each token takes 36 s to come back. */
function sluiceAlone({ client }: Connection, slow = false): Side {
  const policy = slow
    ? { name: "slow", capacity: 10_000_000, refill: perHour(100) }
    : { name: "alone", capacity: 1_000, refill: perSecond(1_000) };
  const limiter = createLimiter({ policy, store: new RedisStore(client as Redis, { timeoutMs: PATIENT_MS }) });
  return { name: SLUICE, ask: (key) => limiter.consume(key), allows: (decision) => fromStore(decision as Decision).allowed };
}

/** With keys of its own: on the peer's keys it would find them known. */
function again(connection: Connection): Side {
  return { ...flexible(connection, false, "flexible-again"), name: CONTROL };
}

/**
 * The sluice of an earlier build, whose `dist` the option `--beside=<folder>` names. It uses other keys than today's.
 */
async function earlier({ client }: Connection): Promise<readonly Side[]> {
  const folder = process.argv.find((word) => word.startsWith("--beside="))?.slice("--beside=".length);
  if (folder === undefined) return [];
  const [own, redis] = await Promise.all(
    ["index.js", "redis.js"].map((file) => import(pathToFileURL(`${folder}/${file}`).href) as Promise<object>),
  ) as unknown as [typeof import("../dist/index.js"), typeof import("../dist/redis.js")];
  const limiter = own.createLimiter({
    policy: { name: "earlier", capacity: 10_000, refill: perHour(10_000) },
    store: new redis.RedisStore(client as Redis, { prefix: "earlier", timeoutMs: PATIENT_MS }),
  });
  return [{ name: EARLIER, ask: (key) => limiter.consume(key), allows: (decision) => fromStore(decision as Decision).allowed }];
}

function flexible({ client }: Connection, denied: boolean, keyPrefix = denied ? "flexible-denied" : "flexible"): Side {
  const limiter = new RateLimiterRedis({
    storeClient: client,
    useRedisPackage: !(client instanceof Redis || client instanceof Redis6 || client instanceof Cluster || client instanceof Cluster6),
    keyPrefix,
    points: denied ? 1 : HUGE,
    duration: 3_600,
    // The peer's memory of refusals, which its documentation recommends against attacks.
    ...(denied ? { inMemoryBlockOnConsumed: 1 } : {}),
  });
  return {
    name: PEER,
    ask: (key) => limiter.consume(key),
    // The peer throws refusals.
    allows(answer) {
      if (!(answer instanceof RateLimiterRes)) throw answer;
      return answer.remainingPoints > 0;
    },
  };
}

function express({ raw }: Connection): Side {
  const store = new PeerStore({ prefix: "express:", sendCommand: (...command: string[]) => raw(command) as Promise<never> });
  void store.init({ windowMs: 3_600_000 } as never);
  return { name: EXPRESS, ask: (key) => store.increment(key), allows: (hits) => (hits as ClientRateLimitInfo).totalHits < HUGE };
}
