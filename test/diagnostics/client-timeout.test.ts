// A client that gives up calls early, under a limit in flight.
import { createCluster } from "redis";
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
  ["ioredis", () => redis({ commandTimeout: 500 }), "commandTimeout: 10_000", 500],
  ["a cluster of ioredis", () => redis({ redisOptions: { commandTimeout: 1_999 } }), "redisOptions: \\{ commandTimeout: 10_000 \\}", 1_999],
  ["a cluster of ioredis whose own option bounds nothing", () => redis({ commandTimeout: 10_000, redisOptions: { commandTimeout: 400 } }), "redisOptions: \\{ commandTimeout: 10_000 \\}", 400],
  ["ioredis by its connection", () => redis({ commandTimeout: 1_500, socketTimeout: 600 }), "socketTimeout: 10_000", 600],
  ["a cluster of node-redis", () => new RedisStore(createCluster({ rootNodes: [{ url: "redis://127.0.0.1:1" }], defaults: { socket: { socketTimeout: 450 } } }) as unknown as RedisClient), "socketTimeout: 10_000", 450],
  ["node-redis", () => redis({ socket: { socketTimeout: 300 } }), "socketTimeout: 10_000", 300],
  ["a pool of pg", () => postgres({ options: { query_timeout: 1_000 } }), "query_timeout: 10_000", 1_000],
  ["a client of pg", () => postgres({ connectionParameters: { query_timeout: "700" } }), "query_timeout: 10_000", 700],
] as const)("%s", (_, store, option, ms) => {
  const warnings = hearWarnings();
  createLimiter({ policy: rate, store: store() });
  expect(warnings).toEqual([]);
  createLimiter({ policy: parallel, store: store() });
  expect(warnings).toEqual([expect.stringMatching(new RegExp(`after ${ms} ms.*for 12345 ms. Write .${option}.: callers`))]);
});

test.each([
  ["two seconds", () => redis({ commandTimeout: 2_000 })],
  ["none", () => redis({})],
  ["an option of a cluster of ioredis that bounds nothing", () => new RedisStore({ ...methods, isCluster: true, slots: [], nodes: () => [], options: { commandTimeout: 300 } } as unknown as RedisClient)],
  ["pg's default, which is none", () => postgres({ connectionParameters: { query_timeout: false } })],
  ["a client that tells nothing", () => new RedisStore(methods as unknown as RedisClient)],
] as const)("%s gives no warning", (_, store) => {
  const warnings = hearWarnings();
  createLimiter({ policy: parallel, store: store() });
  expect(warnings).toEqual([]);
});
