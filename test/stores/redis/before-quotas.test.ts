// A deployment: the script and the function of the version before quotas, on the records of quotas.
import { readFileSync } from "node:fs";
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { definePolicy, monthly, perMinute, type AsyncStore } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { RedisStore } from "sluice/redis";
import { writeRequests } from "../../../src/stores/redis/protocol.js";
import { describeWith, postgresUrl, redisUrl } from "../../helpers/services.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const NOON = Date.parse("2026-11-23T12:00Z");
const END = Date.parse("2026-12-01T00:00Z");
const tag = `before${Math.random().toString(36).slice(2, 8)}`;
const requests = { name: "requests", capacity: 60, refill: perMinute(60) };
const both = definePolicy({ name: "api", limits: [requests, { name: "month", capacity: 100, renews: monthly() }] });
const rates = definePolicy({ name: "api", limits: [requests] });
/** What that version sent to Redis and Postgres. Neither is ever edited. */
const script = readFileSync(new URL("before-quotas.lua", import.meta.url), "utf8");
const schema = readFileSync(new URL("../postgres/older-schema.sql", import.meta.url), "utf8").replaceAll("sluice_Schema", tag);

interface Versions {
  readonly store: (clock: () => number) => AsyncStore;
  /** Takes a request by the version before, and returns what is kept of the limits afterwards. */
  readonly takeOlder: (now: number) => Promise<unknown>;
  readonly names: () => Promise<readonly string[]>;
}

function check(open: () => Promise<Versions>): void {
  test("L20 · it keeps the record of a quota until its period is over, and then drops it", async () => {
    const { store, takeOlder, names } = await open();
    let now = NOON;
    const own = store(() => now);
    const left = async (): Promise<number | undefined> => (await callsOf(own).peek(both, "ann", 0))?.limits?.[1]?.remaining;
    expect((await callsOf(own).consume(both, "ann", 30)).allowed).toBe(true);
    for (now of [NOON + 60_000, NOON + 3_600_000, END - 1]) await takeOlder(now);
    expect([await left(), [...(await names())].sort()]).toEqual([70, ["month", "requests"]]);
    now = END;
    await takeOlder(now);
    expect([await left(), await names()]).toEqual([100, ["requests"]]);
  });
}

describeWith("redis", "the script of the version before", () => {
  const client = new Redis(redisUrl());
  afterAll(() => client.quit());
  check(async () => {
    const name = `${tag}:api ann`;
    await client.del(name);
    return {
      store: (clock) => new RedisStore(client, { prefix: tag, clock, denyCacheMs: 0, timeoutMs: 5_000 }),
      async takeOlder(now) {
        const { keys, args } = writeRequests([{ what: "c", parts: [{ policy: rates, name, tokens: 1 }] }], String(now));
        return client.eval(script, keys.length, ...keys, ...args);
      },
      async names() {
        const value = (await client.getBuffer(name))?.toString("latin1") ?? "";
        return ["month", "requests"].filter((each) => value.includes(each));
      },
    };
  });
});

describeWith("postgres", "the function of the version before", () => {
  const pool = new pg.Pool({ connectionString: postgresUrl() });
  afterAll(async () => {
    await pool.query(`DROP SCHEMA IF EXISTS ${tag} CASCADE`);
    await pool.end();
  });
  check(async () => {
    await pool.query(`DROP SCHEMA IF EXISTS ${tag} CASCADE; CREATE SCHEMA ${tag}; ${schema}`);
    const store = (clock: () => number): PostgresStore => new PostgresStore(pool, { table: `${tag}.Limits`, clock, denyCacheMs: 0, timeoutMs: 5_000 });
    await store(() => NOON).migrate();
    const [{ name, capacity, unitsPerMs, unitsPerToken, fullMs }] = rates.limits;
    return {
      store,
      takeOlder(now) {
        const text = `SELECT * FROM "${tag}"."Limits_decide"($1::text, $2::text[], $3::bigint[], $4::int[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint)`;
        return pool.query(text, ["c", ["api ann"], [1], [1], [name], [capacity], [unitsPerMs], [unitsPerToken], [fullMs], now]);
      },
      names: async () => ((await pool.query(`SELECT names FROM "${tag}"."Limits" WHERE bucket = 'api ann'`)).rows as { names: string[] }[])[0]?.names ?? [],
    };
  });
});
