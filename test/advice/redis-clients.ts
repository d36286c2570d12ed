import { once } from "node:events";
import type * as Ioredis from "ioredis";
import type * as NodeRedis from "redis";
import type { RedisAdvised } from "./redis-setups.js";

const quiet = (): undefined => undefined;
const HOST = "127.0.0.1";

export const ioredisAdvised = (name: string, { Redis, Cluster }: Pick<typeof Ioredis, "Redis" | "Cluster">): RedisAdvised => ({
  name,
  reconnects: true,
  ends: { ...Object.fromEntries(([
    ["maxRetriesPerRequest: 1", "away", { maxRetriesPerRequest: 1 }],
    ["enableOfflineQueue: false", "away", { enableOfflineQueue: false }],
    ["commandTimeout", "silent", { commandTimeout: 1_000 }],
  ] as const).map(([option, server, settings]) => [option, [server, (port) => {
    const client = new Redis({ host: HOST, port, retryStrategy: () => 20, ...settings }).on("error", quiet);
    return { call: () => client.get("key"), close: () => client.disconnect() };
  }]])), "redisOptions: { commandTimeout }": ["a silent node", (port) => {
    const client = new Cluster([{ host: HOST, port }], { redisOptions: { commandTimeout: 1_000 } }).on("error", quiet);
    return { call: () => client.get("key"), close: () => client.disconnect() };
  }] },
  connect(port, { reconnects = false, ...login } = {}) {
    const cure = reconnects ? { reconnectOnError: (error: Error) => error.message.includes("READONLY") } : {};
    const client = new Redis({ host: HOST, port, ...login, ...cure }).on("error", quiet);
    return { client, close: () => client.disconnect() };
  },
  once(port, isOnce) {
    const cure = isOnce ? { autoResendUnfulfilledCommands: false, commandTimeout: 2_000 } : {};
    const client = new Redis({ host: HOST, port, retryStrategy: () => 20, ...cure }).on("error", quiet);
    return { call: () => client.incr("calls"), close: () => client.disconnect() };
  },
  cluster(ports) {
    const client = new Cluster(ports.map((port) => ({ host: HOST, port })), { clusterRetryStrategy: () => 20 }).on("error", quiet);
    return { client, close: () => client.disconnect() };
  },
});

export const nodeRedisAdvised = (name: string, { createClient, createCluster, createSentinel }: Pick<typeof NodeRedis, "createClient" | "createCluster" | "createSentinel">, hasTimeouts = true): RedisAdvised => ({
  name,
  ends: Object.fromEntries(([
    ["disableOfflineQueue: true", "away", { disableOfflineQueue: true }, {}],
    // The lowest version has neither, as redis.md says.
    ...(hasTimeouts ? [["commandOptions: { timeout }", "away", { commandOptions: { timeout: 50 } }, {}] as const] : []),
    ...(hasTimeouts ? [["socket.socketTimeout", "silent", {}, { socketTimeout: 500 }] as const] : []),
  ] as const).map(([option, server, settings, ofSocket]) => [option, [server, (port) => {
    const client = createClient({ ...settings, socket: { host: HOST, port, reconnectStrategy: 20, ...ofSocket } }).on("error", quiet);
    client.connect().catch(quiet);
    return { call: () => client.get("key"), close: () => client.destroy() };
  }]])),
  async connect(port, { username, password } = {}) {
    const login = { ...(username && { username }), ...(password && { password }) };
    const client = createClient({ socket: { host: HOST, port }, ...login }).on("error", quiet);
    // After a refused login the client tries again for ever, and tells each error.
    client.connect().catch(quiet);
    await Promise.race(["ready", "error"].map((event) => once(client, event).catch(quiet)));
    return { client, close: () => (client.isOpen ? client.destroy() : undefined) };
  },
  async cluster(ports) {
    const client = createCluster({ rootNodes: ports.map((port) => ({ url: `redis://${HOST}:${port}` })) }).on("error", quiet);
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  unconnected: {
    "a client": (port) => ({ client: createClient({ socket: { host: HOST, port } }).on("error", quiet), close: quiet }),
    "a cluster client": (port) => ({ client: createCluster({ rootNodes: [{ url: `redis://${HOST}:${port}` }] }).on("error", quiet), close: quiet }),
    "a Sentinel client": (port) => ({ client: createSentinel({ name: "primary", sentinelRootNodes: [{ host: HOST, port }] }).on("error", quiet), close: quiet }),
  },
});
