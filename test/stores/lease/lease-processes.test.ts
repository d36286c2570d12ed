// The law of leases over real servers: four processes with clocks that step and answers that come late, one of which is
// stopped for a while and one killed.
import { Redis } from "ioredis";
import pg from "pg";
import { definePolicy } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { RedisStore } from "sluice/redis";
import type { AsyncStore } from "sluice/store";
import { expect, test } from "vitest";
import { describeWith, postgresUrl, redisUrl } from "../../helpers/services.js";
import { leaseProcesses } from "./lease-processes.js";
import { callsOf } from "../../../src/testing/store-calls.js";

/** Runs the processes over a server. Afterwards the bucket is full again: a crash loses nothing that does not refill. */
async function leases(what: string, kind: "redis" | "postgres", url: string, name: string, store: AsyncStore): Promise<void> {
  const limit = await leaseProcesses(what, { kind, url, name });
  const policy = definePolicy({ name: "shared", ...limit });
  expect(await callsOf(store).peek(policy, "one", limit.capacity)).toMatchObject({ allowed: true, remaining: limit.capacity, resetMs: 0 });
  await callsOf(store).reset(policy, "one");
}

describeWith("redis", "leases over Redis", () => {
  test("L1 · leases: four processes together grant at most capacity + rate * (T + leaseMs) in every window", async () => {
    const client = new Redis(redisUrl());
    const prefix = `lease-${process.pid}-${Date.now()}`;
    try {
      await leases("Redis", "redis", redisUrl(), prefix, new RedisStore(client, { prefix }));
    } finally {
      client.disconnect();
    }
  });
});

describeWith("postgres", "leases over Postgres", () => {
  test("L1 · leases: four processes together grant at most capacity + rate * (T + leaseMs) in every window", async () => {
    const pool = new pg.Pool({ connectionString: postgresUrl(), max: 2 });
    const table = `sluice_lease_${process.pid}`;
    const store = new PostgresStore(pool, { table });
    try {
      await store.migrate();
      await leases("Postgres", "postgres", postgresUrl(), table, store);
    } finally {
      await pool.query(`DROP TABLE IF EXISTS ${table}; DROP FUNCTION IF EXISTS ${table}_decide`);
      await pool.end();
    }
  });
});
