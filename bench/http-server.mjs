// `node http-server.mjs <framework> <side>`, forked by http.ts: one server with one way to limit, in a separate
// process. It sends its port, and on each message its CPU time. This file is plain JavaScript, because a transpiler's
// helpers would be measured too.
import { createServer } from "node:http";
import { serve } from "@hono/node-server";
import express from "express";
import { rateLimit as expressPeer } from "express-rate-limit";
import Fastify from "fastify";
import fastifyPeer from "@fastify/rate-limit";
import { Hono } from "hono";
import { rateLimiter as honoPeer } from "hono-rate-limiter";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { rateLimit as onExpress } from "../dist/express.js";
import { rateLimit as onFastify } from "../dist/fastify.js";
import { rateLimit as onHono } from "../dist/hono.js";
import { rateLimit as onNode } from "../dist/node.js";

const [framework, side] = process.argv.slice(2);
const LIMIT = 1_000_000;
const HOUR_MS = 3_600_000;
const limit = side.endsWith("429") ? 1 : LIMIT;

// The default fields of sluice, and the first three of them.
const FIELDS = [
  ["RateLimit-Limit", "1000000"],
  ["RateLimit-Remaining", "999999"],
  ["RateLimit-Reset", "1"],
  ["RateLimit-Policy", '"default";q=1000000;w=3600'],
  ["RateLimit", '"default";r=999999;t=3600'],
];
const byHand = { "five by hand": FIELDS, "three by hand": FIELDS.slice(0, 3) }[side] ?? [];

/** The options of sluice. `header` reads the caller from a request of the framework. */
const options = (header) => ({
  policy: { capacity: limit, refill: { tokens: limit, everyMs: HOUR_MS } },
  key: (request) => ["user", header(request)],
  ...(side.startsWith("sluice, three") ? { headers: ["triple"] } : {}),
});
const isSluice = side.startsWith("sluice");
const isPeer = side.startsWith("peer");

const start = {
  node() {
    const listener = (_request, response) => {
      for (let i = 0; i < byHand.length; i++) response.setHeader(byHand[i][0], byHand[i][1]);
      response.end("ok");
    };
    if (isSluice) return createServer(onNode(options((request) => request.headers["x-id"]))(listener));
    if (isPeer) return createServer(flexible(listener));
    return createServer(listener);
  },
  express() {
    const app = express();
    const key = (request) => request.get("x-id");
    if (isSluice) app.use(onExpress(options(key)));
    if (isPeer) app.use(expressPeer({ windowMs: HOUR_MS, limit, keyGenerator: key, standardHeaders: "draft-6", legacyHeaders: false }));
    app.get("/", (_request, response) => {
      for (let i = 0; i < byHand.length; i++) response.setHeader(byHand[i][0], byHand[i][1]);
      response.send("ok");
    });
    return createServer(app);
  },
  async fastify() {
    const app = Fastify();
    const key = (request) => request.headers["x-id"];
    if (isSluice) await app.register(onFastify, options(key));
    if (isPeer) await app.register(fastifyPeer, { max: limit, timeWindow: HOUR_MS, keyGenerator: key, enableDraftSpec: true });
    app.get("/", (_request, reply) => {
      for (let i = 0; i < byHand.length; i++) reply.header(byHand[i][0], byHand[i][1]);
      reply.send("ok");
    });
    await app.ready();
    return app;
  },
  hono() {
    const app = new Hono();
    const key = (c) => c.req.header("x-id");
    if (isSluice) app.use(onHono(options(key)));
    if (side === "five by a middleware") app.use(async (c, next) => {
      await next();
      for (let i = 0; i < FIELDS.length; i++) c.res.headers.set(FIELDS[i][0], FIELDS[i][1]);
    });
    if (isPeer) app.use(honoPeer({ windowMs: HOUR_MS, limit, keyGenerator: key, standardHeaders: "draft-6" }));
    app.get("/", (c) => {
      for (let i = 0; i < byHand.length; i++) c.header(byHand[i][0], byHand[i][1]);
      return c.text("ok");
    });
    return { listen: (port, host, then) => serve({ fetch: app.fetch, port, hostname: host }, then) };
  },
};

/**
 * rate-limiter-flexible has no HTTP part, so its users set the fields. Here they are the three fields of the others.
 */
function flexible(listener) {
  const limiter = new RateLimiterMemory({ points: limit, duration: HOUR_MS / 1_000 });
  const set = (response, { remainingPoints, msBeforeNext }) => {
    response.setHeader("RateLimit-Limit", limit);
    response.setHeader("RateLimit-Remaining", remainingPoints);
    response.setHeader("RateLimit-Reset", Math.ceil(msBeforeNext / 1_000));
  };
  return async (request, response) => {
    try {
      set(response, await limiter.consume(request.headers["x-id"]));
    } catch (refusal) {
      response.statusCode = 429;
      set(response, refusal);
      response.setHeader("Retry-After", Math.ceil(refusal.msBeforeNext / 1_000));
      return response.end("Too Many Requests");
    }
    listener(request, response);
  };
}

const listening = (server) =>
  new Promise((resolve) => {
    if (framework === "fastify") return server.listen({ port: 0, host: "127.0.0.1" }, () => resolve(server.server.address().port));
    const told = server.listen(0, "127.0.0.1", (address) => resolve((address ?? told.address()).port));
  });

const server = await start[framework]();
process.on("disconnect", () => process.exit());
process.on("message", () => process.send(process.cpuUsage()));
process.send(await listening(server));
