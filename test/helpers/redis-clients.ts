// Every Redis client that the store supports, connected to one node or to a cluster.
import * as ioredis from "ioredis";
import * as ioredis6 from "ioredis6";
import * as iovalkey from "iovalkey";
import { createClient, createClientPool, createCluster } from "redis";
import * as redis6 from "redis6";
import type { RedisClient } from "sluice/redis";
import { startUpstash } from "./upstash-rest.js";

/** A client, and the function that disconnects it. */
export interface Connected {
  readonly client: RedisClient;
  close(): unknown;
}

const quiet = (): undefined => undefined;

/** Clients of one node, by name. */
export const onOneNode: Readonly<Record<string, (port: number) => Promise<Connected>>> = {
  async "ioredis 5"(port) {
    const client = new ioredis.Redis(port);
    return { client, close: () => client.disconnect() };
  },
  async "ioredis 6"(port) {
    const client = new ioredis6.Redis(port);
    return { client, close: () => client.disconnect() };
  },
  async "ioredis with strings for numbers"(port) {
    const client = new ioredis.Redis(port, { stringNumbers: true, keyPrefix: "app:", enableAutoPipelining: true });
    return { client, close: () => client.disconnect() };
  },
  async iovalkey(port) {
    const client = new iovalkey.Redis(port);
    return { client, close: () => client.disconnect() };
  },
  async "node-redis 5"(port) {
    const client = createClient({ url: `redis://127.0.0.1:${port}` }).on("error", quiet);
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  async "node-redis 6"(port) {
    const client = redis6.createClient({ url: `redis://127.0.0.1:${port}` }).on("error", quiet);
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  async "node-redis in RESP 3"(port) {
    const client = createClient({ url: `redis://127.0.0.1:${port}`, RESP: 3 }).on("error", quiet);
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  async "a pool of node-redis"(port) {
    const client = createClientPool({ url: `redis://127.0.0.1:${port}` }).on("error", quiet);
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  async Upstash(port) {
    const server = await startUpstash(`redis://127.0.0.1:${port}`);
    return { client: server.connect(), close: () => server.stop() };
  },
  async "Upstash with a request for each command"(port) {
    const server = await startUpstash(`redis://127.0.0.1:${port}`);
    return { client: server.connect({ enableAutoPipelining: false, readYourWrites: false }), close: () => server.stop() };
  },
  async "Upstash without encoding and parsing"(port) {
    const server = await startUpstash(`redis://127.0.0.1:${port}`);
    return { client: server.connect({ automaticDeserialization: false, responseEncoding: false }), close: () => server.stop() };
  },
};

/** Clients of a cluster, by name. */
export const onCluster: Readonly<Record<string, (ports: readonly number[]) => Promise<Connected>>> = {
  async "ioredis 5"(ports) {
    const client = new ioredis.Cluster(ports.map((port) => ({ host: "127.0.0.1", port })));
    return { client, close: () => client.disconnect() };
  },
  async "ioredis 6"(ports) {
    const client = new ioredis6.Cluster(ports.map((port) => ({ host: "127.0.0.1", port })));
    return { client, close: () => client.disconnect() };
  },
  async "ioredis with a prefix of its own"(ports) {
    const client = new ioredis.Cluster([...ports], { redisOptions: { keyPrefix: "app:" } });
    return { client, close: () => client.disconnect() };
  },
  async iovalkey(ports) {
    const client = new iovalkey.Cluster(ports.map((port) => ({ host: "127.0.0.1", port })));
    return { client, close: () => client.disconnect() };
  },
  async "node-redis 5"(ports) {
    const client = createCluster({ rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })) }).on("error", quiet);
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  async "node-redis 6"(ports) {
    const client = redis6.createCluster({ rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })) }).on("error", quiet);
    await client.connect();
    return { client, close: () => client.destroy() };
  },
};
