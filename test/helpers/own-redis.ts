// Redis or Valkey servers for one test, which may damage them: a single server, one with a replica, a Sentinel, a
// cluster.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { freePort } from "./free-port.js";

/**
 * The program that tests start as a server: `redis-server` from the PATH, or the one in `SLUICE_REDIS_SERVER`, such as
 * a `valkey-server`.
 */
const redisProgram = (): string => process.env["SLUICE_REDIS_SERVER"] ?? "redis-server";

/** Whether the program is installed. */
export const hasRedisProgram = (): boolean => spawnSync(redisProgram(), ["--version"]).status === 0;

/** A server that one test started. */
export interface OwnRedis {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  /** Ends the server in any state, and removes its files. */
  stop(): Promise<void>;
  /** Sends a signal. If the signal ends the server, resolves when it has ended. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** Starts a Redis without persistence on a free loopback port. `port` starts it again on an earlier port. */
export async function startRedis(args: readonly string[] = [], port?: number): Promise<OwnRedis> {
  return launch(port ?? (await freePort()), () => ["--save", "", "--appendonly", "no", ...args], "Ready to accept");
}

/** Removes all data of the servers. */
export async function flush(...servers: readonly OwnRedis[]): Promise<void> {
  const clients = servers.map(({ port }) => new Redis(port));
  await Promise.all(clients.map((client) => client.flushall()));
  for (const client of clients) client.disconnect();
}

/** Starts a Sentinel that watches a server under the name `primary`, with a short time until failover. */
export async function startSentinel({ port }: OwnRedis): Promise<OwnRedis> {
  const rules = [`monitor primary 127.0.0.1 ${port} 1`, "down-after-milliseconds primary 300", "failover-timeout primary 3000"];
  const file = (dir: string): string => {
    writeFileSync(join(dir, "sentinel.conf"), rules.map((rule) => `sentinel ${rule}\n`).join(""));
    return join(dir, "sentinel.conf");
  };
  return launch(await freePort(), (dir) => [file(dir), "--sentinel"], "+monitor");
}

async function launch(at: number, argsIn: (dir: string) => readonly string[], ready: string): Promise<OwnRedis> {
  const dir = mkdtempSync(join(tmpdir(), "sluice-redis-"));
  const args = [...argsIn(dir), "--port", String(at), "--bind", "127.0.0.1", "--dir", dir];
  const child = spawn(redisProgram(), args, { stdio: ["ignore", "pipe", "pipe"] });
  // Not inherited: a server that outlives its test would keep the output of the whole run open.
  child.stderr.on("data", (chunk: Buffer) => process.stderr.write(chunk));
  running.add(child);
  const gone = new Promise<void>((resolve) => child.once("exit", () => (running.delete(child), resolve())));
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => chunk.includes(ready) && resolve());
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`${redisProgram()} on port ${at} ended before it was ready`)));
  });
  return {
    port: at,
    url: `redis://127.0.0.1:${at}`,
    pid: child.pid as number,
    async stop() {
      child.kill("SIGKILL");
      await gone;
      rmSync(dir, { recursive: true, force: true });
    },
    async kill(signal) {
      child.kill(signal);
      if (signal === "SIGKILL" || signal === "SIGTERM") await gone;
    },
  };
}

/** A cluster that one test started. */
export interface OwnCluster {
  /** The ports of the three masters. */
  readonly ports: readonly number[];
  readonly masters: readonly OwnRedis[];
  /** One replica for each master, in their order. Empty by default. */
  readonly replicas: readonly OwnRedis[];
  stop(): Promise<void>;
}

const SLOTS = 16_384;
/** The time after which a server forgets another that did not answer: its node timeout. */
const HANDSHAKE_MS = 2_000;

/**
 * Starts a cluster of three masters, each with a replica if `replicas` is true. It takes about two seconds, because the
 * masters wait for each other.
 */
export async function startCluster(withReplicas = false): Promise<OwnCluster> {
  const args = ["--cluster-enabled", "yes", "--cluster-node-timeout", String(HANDSHAKE_MS), "--repl-diskless-sync-delay", "0"];
  const nodes = await Promise.all(Array.from({ length: withReplicas ? 6 : 3 }, () => startRedis(args)));
  const [masters, replicas] = [nodes.slice(0, 3), nodes.slice(3)];
  const stop = async (): Promise<void> => void (await Promise.all(nodes.map((node) => node.stop())));
  const clients = nodes.map(({ port }) => new Redis(port));
  try {
    await joinAll(nodes, clients);
    for (const [i] of replicas.entries()) {
      await (clients[3 + i] as Redis).cluster("REPLICATE", String(await (clients[i] as Redis).cluster("MYID")));
    }
    await each(clients, async (client) => (await client.cluster("INFO")).includes("cluster_state:ok"));
    await each(clients.slice(3), async (client) => (await client.info("replication")).includes("master_link_status:up"));
  } catch (error) {
    await stop();
    throw error;
  } finally {
    for (const client of clients) client.disconnect();
  }
  return { ports: masters.map(({ port }) => port), masters, replicas, stop };
}

/** Lets the masters of a cluster name `ports` as theirs, such as those of proxies, and waits until each of them knows. */
export async function announce({ masters }: OwnCluster, ports: readonly number[]): Promise<void> {
  const clients = masters.map(({ port }) => new Redis(port));
  for (const [i, client] of clients.entries()) await client.config("SET", "cluster-announce-port", String(ports[i]));
  await each(clients, async (client) => {
    const nodes = String(await client.cluster("NODES"));
    return ports.every((port) => nodes.includes(`:${port}@`));
  });
  for (const client of clients) client.disconnect();
}

/** Makes one cluster of the servers, with the slots on the first three. */
async function joinAll(nodes: readonly OwnRedis[], clients: readonly Redis[]): Promise<void> {
  for (const [i, client] of clients.entries()) {
    await client.cluster("SET-CONFIG-EPOCH", i + 1);
    const [from, to] = [0, 1].map((next) => Math.ceil(((i + next) * SLOTS) / 3)) as [number, number];
    if (i < 3) await client.cluster("ADDSLOTS", ...Array.from({ length: to - from }, (_, n) => from + n));
  }
  let metAt = -Infinity;
  await each(clients, async (client) => {
    // A busy machine may need longer for a handshake than the servers wait, and then they forget each other.
    if (Date.now() - metAt > HANDSHAKE_MS) {
      for (const { port } of nodes.slice(1)) await (clients[0] as Redis).cluster("MEET", "127.0.0.1", String(port));
      metAt = Date.now();
    }
    return new RegExp(`cluster_known_nodes:${nodes.length}\\r`).test(await client.cluster("INFO"));
  });
}

/** Waits until `holds` is true for each client's server, for at most 20 seconds. */
async function each(clients: readonly Redis[], holds: (client: Redis) => Promise<boolean>): Promise<void> {
  const end = Date.now() + 20_000;
  for (const client of clients) {
    while (!(await holds(client))) {
      if (Date.now() > end) throw new Error("The servers did not come together within 20 s");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/**
 * Makes the second server a replica of the first, through `port` if that is given. Resolves when it has all data of the
 * first.
 */
export async function replicate(primary: OwnRedis, replica: OwnRedis, port = primary.port): Promise<void> {
  const client = new Redis(replica.port);
  await client.replicaof("127.0.0.1", port);
  await each([client], async () => (await client.info("replication")).includes("master_link_status:up"));
  client.disconnect();
}

// The servers must end with this process, however it ends.
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
