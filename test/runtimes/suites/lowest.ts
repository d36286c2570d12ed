// The lowest version that each peer range of package.json names, under the contract. A test keeps this list and the ranges equal.
import type { createAdaptorServer } from "@hono/node-server";
import type { Redis as Upstash } from "@upstash/redis";
import type express from "express";
import type { fastify } from "fastify";
import type * as Ioredis from "ioredis";
import type pg from "pg";
import type * as redis from "redis";
import { adapterSuite, type AdapterSuiteOptions } from "sluice/testing";
import { describe, test } from "vitest";
import { bodySuite, fastifyBounded, honoBounded } from "../../advice/bodies.js";
import { postgresSetupSuite } from "../../advice/postgres-setups.js";
import { ioredisAdvised, nodeRedisAdvised } from "../../advice/redis-clients.js";
import { redisSetupSuite } from "../../advice/redis-setups.js";
import { expressTrusting, fastifyTrusting, trustSuite } from "../../advice/trust.js";
import { trustTexts } from "../../advice/trust-texts.js";
import { serveExpress } from "../../adapters/rows/express.js";
import { serveFastify } from "../../adapters/rows/fastify.js";
import { lacks, serveHono, type HonoParts } from "../../adapters/rows/hono.js";
import { nodeLacks } from "../../adapters/rows/node.js";
import { redisUrl } from "../../helpers/services.js";
import { overPg, overRedis, overUpstash } from "./clients.js";

// By a name in a variable, so that neither the compiler nor the bundler looks for a package that is not in the root.
const load = async <Module>(name: string): Promise<Module> => (await import(name)) as Module;
type Default<Value> = { readonly default: Value };

function row(name: string, serve: AdapterSuiteOptions["serve"], without: AdapterSuiteOptions["lacks"] = {}): void {
  describe(name, () => adapterSuite({ test, serve, lacks: without }));
}

for (const name of ["express4-lowest", "express5-lowest"]) {
  const framework = await load<Default<typeof express>>(name);
  row(name, (setup) => serveExpress(framework.default, setup), nodeLacks);
  trustSuite(name, "express", expressTrusting(framework.default), trustTexts);
}
for (const name of ["fastify4-lowest", "fastify5-lowest"]) {
  const framework = await load<Default<typeof fastify>>(name);
  row(name, (setup) => serveFastify(framework.default, setup), name.startsWith("fastify4") ? { responses: "Fastify 4.10 sends no Response" } : {});
  trustSuite(name, "fastify", fastifyTrusting(framework.default as never), trustTexts);
  bodySuite(name, fastifyBounded(framework.default as never));
}
const hono = {
  ...(await load<Pick<HonoParts, "Hono">>("hono-lowest")),
  ...(await load<Pick<HonoParts, "cors">>("hono-lowest/cors")),
  ...(await load<Pick<HonoParts, "stream" | "streamSSE">>("hono-lowest/streaming")),
};
const server = await load<{ readonly createAdaptorServer: typeof createAdaptorServer }>("hono-node-server-lowest");
const limits = await load<{ readonly bodyLimit: never }>("hono-lowest/body-limit");
const { getRequestListener } = await load<{ readonly getRequestListener: never }>("hono-node-server-lowest");
bodySuite("hono-lowest", honoBounded({ Hono: hono.Hono, ...limits, getRequestListener }));
row("hono-lowest", (setup) => serveHono(setup, hono, server.createAdaptorServer), lacks);

for (const name of ["ioredis5-lowest", "ioredis6-lowest", "iovalkey-lowest"]) {
  const { Redis, Cluster } = await load<typeof Ioredis>(name);
  redisSetupSuite(ioredisAdvised(name, { Redis, Cluster }));
  overRedis(name, () => {
    const client = new Redis(redisUrl());
    return { client, close: () => client.disconnect() };
  });
}
for (const name of ["redis5-lowest", "redis6-lowest"]) {
  const { createClient, createCluster, createSentinel } = await load<typeof redis>(name);
  redisSetupSuite(nodeRedisAdvised(name, { createClient, createCluster, createSentinel }, name !== "redis5-lowest"));
  overRedis(name, async () => {
    const client = createClient({ url: redisUrl() }).on("error", () => undefined);
    await client.connect();
    return { client, close: () => client.destroy() };
  });
}
const { Redis: UpstashLowest } = await load<{ readonly Redis: typeof Upstash }>("upstash-redis-lowest");
overUpstash("upstash-redis-lowest", UpstashLowest);
const lowestPg = await load<Default<typeof pg>>("pg-lowest");
overPg("pg-lowest", lowestPg.default.Pool);
postgresSetupSuite("pg-lowest", lowestPg.default);
