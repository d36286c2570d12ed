// The request listener of each framework with one way to limit. gate-worker.mjs calls it without sockets, http-server.mjs
// serves it. This file is plain JavaScript, because a transpiler's helpers would be measured too.
import { getRequestListener } from "@hono/node-server";
import express from "express";
import { rateLimit as expressPeer } from "express-rate-limit";
import Fastify from "fastify";
import fastifyPeer from "@fastify/rate-limit";
import { Hono } from "hono";
import { rateLimiter as honoPeer } from "hono-rate-limiter";
import { RateLimiterMemory } from "rate-limiter-flexible";

const ENOUGH = 1_000_000;
const HOUR_MS = 3_600_000;
// A token comes back after 1.7 s, so that the buckets of sluice stay in use during the measurement.
const REFILL_MS = 1_728_000_000;
const OK = { ok: true };
/** The fields that sluice sets by default. The peers have the first three. */
const FIELDS = [
  ["RateLimit-Limit", "1000000"],
  ["RateLimit-Remaining", "999999"],
  ["RateLimit-Reset", "2"],
  ["RateLimit-Policy", '"api";q=1000000;w=1728000'],
  ["RateLimit", '"api";r=999999;t=1727999'],
];

/**
 * The listener of a framework. `way` is "bare", "hand" (fields set by hand), "sluice" or "peer". `fields` is 3 or 5.
 * With `refuse`, only the first request of a caller is allowed. `limits` is 4 for a policy of four limits. `dist` is
 * the URL of the build to measure.
 */
export async function listenerOf(framework, side) {
  return frameworks[framework](side);
}

const frameworks = {
  async node(side) {
    const body = JSON.stringify(OK);
    const set = byHand(side, (response, name, value) => response.setHeader(name, value));
    const listener = (_request, response) => {
      set?.(response);
      response.setHeader("content-type", "application/json");
      response.end(body);
    };
    if (side.way === "peer") return flexible(side, listener);
    if (side.way !== "sluice") return listener;
    const { rateLimit } = await adapter(side, "node");
    return rateLimit(await optionsOf(side, (request) => request.headers["x-id"]))(listener);
  },
  async express(side) {
    const app = express();
    const key = (request) => request.headers["x-id"];
    if (side.way === "sluice") app.use((await adapter(side, "express")).rateLimit(await optionsOf(side, key)));
    if (side.way === "peer") {
      app.use(expressPeer({ windowMs: HOUR_MS, limit: limitOf(side), keyGenerator: key, standardHeaders: "draft-6", legacyHeaders: false }));
    }
    const set = byHand(side, (response, name, value) => response.setHeader(name, value));
    app.get("/", (_request, response) => {
      set?.(response);
      response.json(OK);
    });
    return app;
  },
  async fastify(side) {
    const app = Fastify();
    const key = (request) => request.headers["x-id"];
    if (side.way === "sluice") await app.register((await adapter(side, "fastify")).rateLimit, await optionsOf(side, key));
    if (side.way === "peer") await app.register(fastifyPeer, { max: limitOf(side), timeWindow: HOUR_MS, keyGenerator: key, enableDraftSpec: true });
    const set = byHand(side, (reply, name, value) => reply.header(name, value));
    app.get("/", (_request, reply) => {
      set?.(reply);
      reply.send(OK);
    });
    await app.ready();
    return (request, response) => app.routing(request, response);
  },
  async hono(side) {
    const app = new Hono();
    const key = (c) => c.req.header("x-id");
    if (side.way === "sluice") app.use((await adapter(side, "hono")).rateLimit(await optionsOf(side, key)));
    if (side.way === "peer") app.use(honoPeer({ windowMs: HOUR_MS, limit: limitOf(side), keyGenerator: key, standardHeaders: "draft-6" }));
    const set = byHand(side, (c, name, value) => c.header(name, value));
    app.get("/", (c) => {
      set?.(c);
      return c.json(OK);
    });
    return getRequestListener(app.fetch);
  },
};

const adapter = ({ dist }, name) => import(new URL(`${name}.js`, dist).href);
const limitOf = ({ refuse }) => (refuse ? 1 : ENOUGH);

/** A function that sets the fields of a side by hand. Null for the other sides. */
function byHand({ way, fields }, setOne) {
  if (way !== "hand") return null;
  const own = FIELDS.slice(0, fields);
  return (response) => {
    for (let i = 0; i < own.length; i++) setOne(response, own[i][0], own[i][1]);
  };
}

/** The options of sluice. `idOf` reads the caller from a request of the framework. */
async function optionsOf(side, idOf) {
  return {
    policy: side.limits === 4 ? await fourLimits(side) : { name: "api", capacity: limitOf(side), refill: { tokens: limitOf(side), everyMs: REFILL_MS } },
    key: (request) => ["user", idOf(request)],
    ...(side.fields === 3 ? { headers: [(await adapter(side, "http")).triple()] } : {}),
  };
}

/** Two rates, a quota and a limit in flight, with capacities that no caller spends. */
async function fourLimits({ dist }) {
  const { definePolicy, monthly, whenDone } = await import(new URL("index.js", dist).href);
  const refill = (tokens) => ({ tokens, everyMs: REFILL_MS });
  return definePolicy({
    name: "api",
    limits: [
      { name: "requests", capacity: ENOUGH, refill: refill(ENOUGH) },
      { name: "tokens", capacity: ENOUGH * 2_000, refill: refill(ENOUGH * 2_000), cost: 2_000 },
      { name: "month", capacity: ENOUGH * 2_000, renews: monthly(), cost: 2_000 },
      { name: "parallel", capacity: 4, returns: whenDone() },
    ],
  });
}

/** rate-limiter-flexible has no HTTP part, so its users set the fields. Here they are the three fields of the others. */
function flexible(side, listener) {
  const limit = limitOf(side);
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
