// The servers that tests need: where they are, and whether they are there.
import { connect } from "node:net";
import { chromiumProgram } from "./chromium.js";
import { hasMemcachedProgram } from "./own-memcached.js";
import { hasRedisProgram } from "./own-redis.js";
import { describeUnless } from "./skip.js";

/** A server that is there already, or a program that starts one: `redis-server` is for tests that harm their server. */
export type Service = "redis" | "postgres" | "mysql" | "nats" | "redis-server" | "memcached" | "chromium";

/** The shared Redis: use a prefix of your own, never flush it. */
export const redisUrl = (): string => process.env["SLUICE_REDIS_URL"] ?? "redis://127.0.0.1:6379";
/** The shared Postgres: use a table of your own. */
export const postgresUrl = (): string => process.env["SLUICE_POSTGRES_URL"] ?? "postgres://postgres@127.0.0.1:5432/test";
/** The shared MySQL or MariaDB: use a table of your own. */
export const mysqlUrl = (): string => process.env["SLUICE_MYSQL_URL"] ?? "mysql://root@127.0.0.1:3306/test";
/** The shared NATS, with JetStream: use a bucket of your own. */
export const natsUrl = (): string => process.env["SLUICE_NATS_URL"] ?? "nats://127.0.0.1:4222";

const howToGet: Readonly<Record<Service, string>> = {
  redis: "start redis-server, or set SLUICE_REDIS_URL",
  postgres: "start PostgreSQL with a database that SLUICE_POSTGRES_URL names",
  mysql: "start MySQL or MariaDB with a database that SLUICE_MYSQL_URL names",
  nats: "start nats-server -js, or set SLUICE_NATS_URL",
  "redis-server": "install Redis 6.2 or later, or Valkey; SLUICE_REDIS_SERVER names the program if it is not redis-server on the PATH",
  memcached: "run scripts/install-test-servers.sh as root",
  chromium: "run scripts/install-test-servers.sh as root, or set SLUICE_CHROMIUM to the program",
};

const present: Readonly<Record<Service, boolean>> = {
  redis: await answers(redisUrl(), 6379),
  postgres: await answers(postgresUrl(), 5432),
  mysql: await answers(mysqlUrl(), 3306),
  nats: await answers(natsUrl(), 4222),
  "redis-server": hasRedisProgram(),
  memcached: hasMemcachedProgram(),
  chromium: chromiumProgram() !== undefined,
};

/**
 * A `describe` that needs a service. Without it the suite is skipped by name, with a line that says how to get it; with
 * `SLUICE_REQUIRE_SERVICES=1` it fails instead.
 */
export function describeWith(service: Service, name: string, fn: () => void): void {
  describeUnless(present[service] ? null : `needs ${service}: ${howToGet[service]}`, name, fn);
}

function answers(url: string, defaultPort: number): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port || defaultPort) });
    const end = (result: boolean) => (socket.destroy(), resolve(result));
    socket.setTimeout(5_000, () => end(false)); // a busy one answers late; none at all refuses at once
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
