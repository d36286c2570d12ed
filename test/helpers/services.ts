// The servers that tests need: their addresses, and whether they can be reached.
import { connect } from "node:net";
import { chromiumProgram } from "./chromium.js";
import { hasMemcachedProgram } from "./own-memcached.js";
import { hasPrometheusProgram } from "./own-prometheus.js";
import { hasRedisProgram } from "./own-redis.js";
import { describeUnless } from "./skip.js";

/** A running server, or a program that starts one. `redis-server` is for tests that damage their server. */
export type Service = "redis" | "postgres" | "mysql" | "nats" | "redis-server" | "memcached" | "prometheus" | "chromium";

/** The shared Redis. Use your own prefix, and never flush it. */
export const redisUrl = (): string => process.env["SLUICE_REDIS_URL"] ?? "redis://127.0.0.1:6379";
/** The shared Postgres. Use your own table. */
export const postgresUrl = (): string => process.env["SLUICE_POSTGRES_URL"] ?? "postgres://postgres@127.0.0.1:5432/test";
/** The shared MySQL or MariaDB. Use your own table. */
export const mysqlUrl = (): string => process.env["SLUICE_MYSQL_URL"] ?? "mysql://root@127.0.0.1:3306/test";
/** The shared NATS, with JetStream. Use your own bucket. */
export const natsUrl = (): string => process.env["SLUICE_NATS_URL"] ?? "nats://127.0.0.1:4222";

const howToGet: Readonly<Record<Service, string>> = {
  redis: "start redis-server, or set SLUICE_REDIS_URL",
  postgres: "start PostgreSQL with a database that SLUICE_POSTGRES_URL names",
  mysql: "start MySQL or MariaDB with a database that SLUICE_MYSQL_URL names",
  nats: "start nats-server -js, or set SLUICE_NATS_URL",
  "redis-server": "install Redis 6.2 or later, or Valkey; SLUICE_REDIS_SERVER names the program if it is not redis-server on the PATH",
  memcached: "run scripts/install-test-servers.sh as root",
  prometheus: "run scripts/install-test-servers.sh as root",
  chromium: "run scripts/install-test-servers.sh as root, or set SLUICE_CHROMIUM to the program",
};

const present: Readonly<Record<Service, boolean>> = {
  redis: await answers(redisUrl(), 6379),
  postgres: await answers(postgresUrl(), 5432),
  mysql: await answers(mysqlUrl(), 3306),
  nats: await answers(natsUrl(), 4222),
  "redis-server": hasRedisProgram(),
  memcached: hasMemcachedProgram(),
  prometheus: hasPrometheusProgram(),
  chromium: chromiumProgram() !== undefined,
};

/**
 * A `describe` for tests that need a service. Without the service the suite is skipped by name, with a line that says
 * how to get it. With `SLUICE_REQUIRE_SERVICES=1` it fails instead.
 */
export function describeWith(service: Service, name: string, fn: () => void): void {
  describeUnless(present[service] ? null : `needs ${service}: ${howToGet[service]}`, name, fn);
}

function answers(url: string, defaultPort: number): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port || defaultPort) });
    const end = (result: boolean) => (socket.destroy(), resolve(result));
    socket.setTimeout(5_000, () => end(false)); // a busy server answers late, a missing one refuses at once
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
