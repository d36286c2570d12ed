import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";

/** A Redis for this measurement, and a second connection that reads its counters. */
export interface RedisServer {
  readonly port: number;
  readonly version: string;
  /** Microseconds of CPU time used so far. */
  cpu(): Promise<number>;
  /** Script calls answered so far. */
  scriptCalls(): Promise<number>;
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
  const info = async (section: string): Promise<Map<string, string>> =>
    new Map((await control.info(section)).split("\r\n").map((line) => line.split(":") as [string, string]));
  const version = (await info("server")).get("redis_version") ?? "unknown";

  return {
    port,
    version,
    cpu: () => cpuOf(control),
    async scriptCalls() {
      const calls = /calls=(\d+)/.exec((await info("commandstats")).get("cmdstat_evalsha") ?? "");
      return Number(calls?.[1] ?? 0);
    },
    async lookups() {
      const stats = await info("stats");
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

/** Microseconds of CPU time that the server of this connection has used. */
export async function cpuOf(server: Redis): Promise<number> {
  const used = [...(await server.info("cpu")).matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm)];
  return used.reduce((sum, [, seconds]) => sum + Number(seconds) * 1e6, 0);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
