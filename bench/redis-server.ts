import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { freePort } from "../test/helpers/free-port.js";

/** The work of a server, or of all servers of a cluster, so far. */
export interface ServerWork {
  /** Microseconds of CPU time used. */
  cpu(): Promise<number>;
  /** Script calls answered. */
  scriptCalls(): Promise<number>;
}

/** A Redis for this measurement, and a second connection that reads its counters. */
export interface RedisServer extends ServerWork {
  readonly port: number;
  readonly version: string;
  /** Keys looked up so far, found or not. */
  lookups(): Promise<number>;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server on a free loopback port that writes nothing to disk. */
export async function startRedis(): Promise<RedisServer> {
  const port = await freePort();
  const dir = await mkdtemp(join(tmpdir(), "sluice-bench-"));
  const child = spawn("redis-server", ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir], {
    stdio: "ignore",
  });
  child.once("error", () => {
    console.error("redis-server is not installed: nothing can be measured. Debian and Ubuntu: apt-get install redis-server");
    process.exit(1);
  });
  const control = new Redis({ port, host: "127.0.0.1", retryStrategy: () => 20, maxRetriesPerRequest: null });
  control.on("error", () => undefined); // refused until the server listens
  const version = (await infoOf(control, "server")).get("redis_version") ?? "unknown";

  return {
    port,
    version,
    ...workOf([control]),
    async lookups() {
      const stats = await infoOf(control, "stats");
      return Number(stats.get("keyspace_hits")) + Number(stats.get("keyspace_misses"));
    },
    async flush() {
      await control.flushall();
    },
    async stop() {
      control.disconnect();
      child.kill();
      await once(child, "exit");
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The work of the servers of these connections, together. */
export function workOf(servers: readonly Redis[]): ServerWork {
  const sum = async (of: (server: Redis) => Promise<number>): Promise<number> => (await Promise.all(servers.map(of))).reduce((a, b) => a + b, 0);
  return {
    cpu: () =>
      sum(async (server) => {
        const used = await infoOf(server, "cpu");
        return (Number(used.get("used_cpu_user")) + Number(used.get("used_cpu_sys"))) * 1e6;
      }),
    scriptCalls: () => sum(async (server) => Number(/calls=(\d+)/.exec((await infoOf(server, "commandstats")).get("cmdstat_evalsha") ?? "")?.[1] ?? 0)),
  };
}

async function infoOf(server: Redis, section: string): Promise<Map<string, string>> {
  return new Map((await server.info(section)).split("\r\n").map((line) => line.split(":") as [string, string]));
}
