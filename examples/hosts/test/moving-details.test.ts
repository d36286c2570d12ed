// Checks the guides' claims about single options, before and after, on real servers.
import fastifyRateLimit from "@fastify/rate-limit";
import express, { type RequestHandler } from "express";
import { rateLimit as expressRateLimit } from "express-rate-limit";
import fastify, { type FastifyInstance } from "fastify";
import { Hono } from "hono";
import { rateLimiter } from "hono-rate-limiter";
import { rateLimit as onExpress } from "sluice/express";
import { rateLimit as onFastify } from "sluice/fastify";
import { rateLimit as onHono } from "sluice/hono";
import { triple, vendorHeaders, xRateLimit } from "sluice/http";
import { describe, expect, test } from "vitest";
import { limitFields, NOON, start, stopTime } from "./moving.js";

const policy = { name: "api", capacity: 100, refill: { tokens: 100, everyMs: 900_000 } };
const one = { name: "one", capacity: 1, refill: { tokens: 1, everyMs: 900_000 } };
const key = () => "ann";
const windowed = { windowMs: 900_000, limit: 100 };

const expressApp = (limit: RequestHandler) => express().use(limit).get("/", (_, response) => void response.send("hello"));
const fastifyApp = async (set: (app: FastifyInstance) => Promise<unknown>): Promise<FastifyInstance> => {
  const app = fastify();
  await set(app);
  app.get("/", async () => "hello");
  return app;
};

describe("old field names", () => {
  const xNames = { limit: "X-RateLimit-Limit", remaining: "X-RateLimit-Remaining", reset: "X-RateLimit-Reset" };
  const inSeconds = vendorHeaders({ ...xNames, resetFormat: "delta-seconds" });

  test.each([
    ["express-rate-limit: legacyHeaders", "express", () => expressApp(expressRateLimit(windowed)), () => expressApp(onExpress({ policy, key, headers: [xRateLimit()] })), NOON / 1_000],
    ["express-rate-limit: draft-6", "express", () => expressApp(expressRateLimit({ ...windowed, legacyHeaders: false, standardHeaders: true })), () => expressApp(onExpress({ policy, key, headers: [triple()] })), 0],
    ["hono-rate-limiter: its default", "hono", () => new Hono().use(rateLimiter({ ...windowed, keyGenerator: key })).get("/", (c) => c.text("hello")), () => new Hono().use(onHono({ policy, key, headers: [triple()] })).get("/", (c) => c.text("hello")), 0],
    ["@fastify/rate-limit: its default", "fastify", () => fastifyApp(async (app) => app.register(fastifyRateLimit, { max: 100, timeWindow: 900_000 })), () => fastifyApp(async (app) => app.register(onFastify, { policy, key, headers: [inSeconds] })), 0],
    ["@fastify/rate-limit: enableDraftSpec", "fastify", () => fastifyApp(async (app) => app.register(fastifyRateLimit, { max: 100, timeWindow: 900_000, enableDraftSpec: true })), () => fastifyApp(async (app) => app.register(onFastify, { policy, key, headers: [triple()] })), 0],
  ] as const)("%s: the same names but RateLimit-Policy, and another reset", async (_, framework, before, after, since) => {
    stopTime();
    const [old, now] = [await start(framework, before()), await start(framework, after())];
    const [{ "ratelimit-policy": _old, ...was }, is] = [limitFields((await old.get()).headers), limitFields((await now.get()).headers)];
    expect(Object.keys(is)).toEqual(Object.keys(was));
    const reset = Object.keys(was).find((name) => name.endsWith("-reset")) as string;
    expect([Number(was[reset]) - since, Number(is[reset]) - since]).toEqual([900, 9]);
    expect({ ...is, [reset]: 0 }).toEqual({ ...was, [reset]: 0 });
  });
});

test.each([
  ["skipSuccessfulRequests", expressRateLimit({ ...windowed, limit: 1, skipSuccessfulRequests: true })],
  ["actualCost", onExpress({ policy: one, key, actualCost: ({ status }) => (status < 400 ? 0 : undefined) })],
])("%s: a request that succeeded is given back", async (_, limit) => {
  const app = await start("express", express().use(limit).get("/fail", (_request, response) => void response.sendStatus(404)).get("/", (_request, response) => void response.send("hello")));
  expect(await app.send(3)).toMatchObject({ served: 3 });
  expect(await app.get("/fail")).toMatchObject({ status: 404 });
  expect(await app.get()).toMatchObject({ status: 429 });
});

test.each([
  ["@fastify/rate-limit", 500, async (app: FastifyInstance) => app.register(fastifyRateLimit, { max: 1 })],
  ["sluice", 429, async (app: FastifyInstance) => app.register(onFastify, { policy: one, key })],
])("%s: an error handler that answers 500 makes a refusal %i", async (_, status, limit) => {
  const app = await start("fastify", fastifyApp(async (each) => {
    each.setErrorHandler((_error, _request, reply) => void reply.code(500).send("wrong"));
    await limit(each);
  }));
  expect((await app.send(2)).last).toMatchObject({ status });
});

test.each([
  ["@fastify/rate-limit", 200, async (app: FastifyInstance) => app.register(fastifyRateLimit, { max: 1 }), { max: 1 }],
  ["sluice", 429, async (app: FastifyInstance) => app.register(onFastify, { policy: one, key }), { cost: 1 }],
])("%s: a route with options of its own, after the budget of the others is spent, gets %i", async (_, status, limit, rateLimit) => {
  const app = await start("fastify", fastifyApp(async (each) => {
    await limit(each);
    each.get("/own", { config: { rateLimit: rateLimit as object } }, async () => "own");
  }));
  await app.get();
  expect(await app.get("/own")).toMatchObject({ status });
});
