// The servers that tests need: where they are, whether they are there, and how to start one that may be harmed.
import { execFile, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, test } from "vitest";

/** A server that is there already, or a program that starts one: `redis-server` is for tests that harm their server. */
export type Service = "redis" | "postgres" | "nats" | "redis-server";

/** The shared Redis: use a prefix of your own, never flush it. */
export const redisUrl = (): string => process.env["SLUICE_REDIS_URL"] ?? "redis://127.0.0.1:6379";
/** The shared Postgres: use a table of your own. */
export const postgresUrl = (): string => process.env["SLUICE_POSTGRES_URL"] ?? "postgres://postgres@127.0.0.1:5432/test";
/** The shared NATS, with JetStream: use a bucket of your own. */
export const natsUrl = (): string => process.env["SLUICE_NATS_URL"] ?? "nats://127.0.0.1:4222";

const howToGet: Readonly<Record<Service, string>> = {
  redis: "start redis-server, or set SLUICE_REDIS_URL",
  postgres: "start PostgreSQL with a database that SLUICE_POSTGRES_URL names",
  nats: "start nats-server -js, or set SLUICE_NATS_URL",
  "redis-server": "install Redis 6.2 or later, so that redis-server and redis-cli are on the PATH",
};

const present: Readonly<Record<Service, boolean>> = {
  redis: await answers(redisUrl(), 6379),
  postgres: await answers(postgresUrl(), 5432),
  nats: await answers(natsUrl(), 4222),
  "redis-server": spawnSync("redis-server", ["--version"]).status === 0,
};

/**
 * A `describe` that needs a service. Without it the suite is skipped by name, with a line that says how to get it; with
 * `SLUICE_REQUIRE_SERVICES=1` it fails instead.
 */
export function describeWith(service: Service, name: string, fn: () => void): void {
  if (present[service]) return void describe(name, fn);
  const missing = `needs ${service}: ${howToGet[service]}`;
  if (process.env["SLUICE_REQUIRE_SERVICES"] === "1") {
    describe(name, () => {
      test(missing, () => Promise.reject(new Error(missing)));
    });
  } else {
    console.warn(`SKIPPED: ${name} ${missing}`);
    describe.skip(`${name} (skipped: ${missing})`, fn);
  }
}

/** A server that one test started. */
export interface OwnRedis {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  /** Ends it, whatever state it is in, and removes its files. */
  stop(): Promise<void>;
  /** Sends a signal; after one that ends it, resolves when it is gone. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** Starts a Redis without persistence on a free loopback port, or on `port` when one is to come back. */
export async function startRedis(args: readonly string[] = [], port?: number): Promise<OwnRedis> {
  const at = port ?? (await freePort());
  const dir = mkdtempSync(join(tmpdir(), "sluice-redis-"));
  const base = ["--port", String(at), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir];
  const child = spawn("redis-server", [...base, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  running.add(child);
  const gone = new Promise<void>((resolve) => child.once("exit", () => (running.delete(child), resolve())));
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => chunk.includes("Ready to accept") && resolve());
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`redis-server on port ${at} ended before it was ready`)));
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

/** A cluster of three masters that one test started. */
export interface OwnCluster {
  readonly ports: readonly number[];
  stop(): Promise<void>;
}

/** Starts a cluster of three masters on free loopback ports; takes about two seconds, which is how long masters wait for each other. */
export async function startCluster(): Promise<OwnCluster> {
  const nodes = await Promise.all([0, 1, 2].map(() => startRedis(["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"])));
  const ports = nodes.map(({ port }) => port);
  const cli = promisify(execFile);
  await cli("redis-cli", ["--cluster", "create", ...ports.map((port) => `127.0.0.1:${port}`), "--cluster-replicas", "0", "--cluster-yes"]);
  const end = Date.now() + 10_000;
  for (const port of ports) {
    while (!(await cli("redis-cli", ["-p", String(port), "cluster", "info"])).stdout.includes("cluster_state:ok")) {
      if (Date.now() > end) throw new Error("The cluster did not come up within 10 s");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  return { ports, stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))) };
}

// Nothing that was started outlives this process, however it ends.
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

// Below the range that systems take ports for outgoing connections from, with room for a cluster's own port 10 000 higher.
async function freePort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 10_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

function answers(url: string, defaultPort: number): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port || defaultPort) });
    const end = (result: boolean) => (socket.destroy(), resolve(result));
    socket.setTimeout(1_000, () => end(false));
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
