// A client that gives up calls early, under a limit in flight.
import { createLimiter, perSecond, whenDone } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { RedisStore, type RedisClient } from "sluice/redis";
import { expect, test } from "vitest";
import { hearWarnings } from "../helpers/warned.js";

const parallel = { name: "reports", capacity: 4, returns: whenDone({ staleAfterMs: 12_345 }) };
const rate = { name: "api", capacity: 4, refill: perSecond(1) };
const methods = { evalsha: () => undefined, eval: () => undefined, evalSha: () => undefined };
const redis = (options: object): RedisStore => new RedisStore({ ...methods, options } as unknown as RedisClient);
const postgres = (members: object): PostgresStore => new PostgresStore({ query: async () => ({ rows: [] }), ...members } as never);

test.each([
  ["ioredis", () => redis({ commandTimeout: 500 }), "commandTimeout", 500],
  ["a cluster of ioredis", () => redis({ redisOptions: { commandTimeout: 1_999 } }), "commandTimeout", 1_999],
  ["node-redis", () => redis({ socket: { socketTimeout: 300 } }), "socketTimeout", 300],
  ["a pool of pg", () => postgres({ options: { query_timeout: 1_000 } }), "query_timeout", 1_000],
  ["a client of pg", () => postgres({ connectionParameters: { query_timeout: "700" } }), "query_timeout", 700],
] as const)("%s", (_, store, option, ms) => {
  const warnings = hearWarnings();
  createLimiter({ policy: rate, store: store() });
  expect(warnings).toEqual([]);
  createLimiter({ policy: parallel, store: store() });
  expect(warnings).toEqual([expect.stringMatching(new RegExp(`after ${ms} ms.*for 12345 ms. Write .${option}: 10_000.: callers`))]);
});

test.each([
  ["two seconds", () => redis({ commandTimeout: 2_000 })],
  ["none", () => redis({})],
  ["pg's default, which is none", () => postgres({ connectionParameters: { query_timeout: false } })],
  ["a client that tells nothing", () => new RedisStore(methods as unknown as RedisClient)],
] as const)("%s gives no warning", (_, store) => {
  const warnings = hearWarnings();
  createLimiter({ policy: parallel, store: store() });
  expect(warnings).toEqual([]);
});
