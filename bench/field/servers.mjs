// One server for each library with middleware. All have the same route, read the caller from `x-id`, and keep buckets
// in memory.
import { createServer } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import expressRateLimit from "express-rate-limit";
import fastify from "fastify";
import fastifyRateLimit from "@fastify/rate-limit";
import { Hono } from "hono";
import { rateLimiter } from "hono-rate-limiter";
import { rateLimit as onExpress } from "../../src/adapters/express.ts";
import { rateLimit as onFastify } from "../../src/adapters/fastify.ts";
import { rateLimit as onHono } from "../../src/adapters/hono.ts";
import { listening } from "./drive.mjs";

const named = (header) => header ?? "somebody";

/**
 * Runs `use(port)` on a server of `peer` that allows `limit` requests per `windowMs`. `more` holds other options of the
 * library, and `route` returns the answer of the route.
 */
export async function withServer(peer, { limit = 1, windowMs = 1_000, more = {}, setUp, route = async () => "ok" }, use) {
  const policy = { capacity: limit, refill: { tokens: limit, everyMs: windowMs } };

  if (peer === "express-rate-limit" || peer === "sluice/express") {
    const app = express().set("env", "test"); // prints no errors
    const key = (request) => named(request.get("x-id"));
    app.use(
      peer === "sluice/express"
        ? onExpress({ policy, key, ...more })
        : expressRateLimit({ windowMs, limit, keyGenerator: key, validate: false, ...more }),
    );
    app.get("/", async (_, response) => void response.send(await route()));
    setUp?.(app);
    return listening(createServer(app), use);
  }
  if (peer === "@fastify/rate-limit" || peer === "sluice/fastify") {
    const app = fastify();
    setUp?.(app);
    const key = (request) => named(request.headers["x-id"]);
    if (peer === "sluice/fastify") await app.register(onFastify, { policy, key, ...more });
    else await app.register(fastifyRateLimit, { max: limit, timeWindow: windowMs, keyGenerator: key, ...more });
    app.get("/", async () => route());
    await app.listen({ port: 0, host: "127.0.0.1" });
    try {
      return await use(app.server.address().port);
    } finally {
      app.server.closeAllConnections();
      await app.close();
    }
  }
  const app = new Hono();
  const key = (c) => named(c.req.header("x-id"));
  app.use(peer === "sluice/hono" ? onHono({ policy, key, ...more }) : rateLimiter({ windowMs, limit, keyGenerator: key, ...more }));
  app.get("/", async (c) => c.text(await route()));
  setUp?.(app);
  return listening(createAdaptorServer({ fetch: app.fetch }), use);
}
