// Blocks, answers of your own, what was decided and hooks: each with the old package and with sluice.
import fastifyRateLimit from "@fastify/rate-limit";
import express, { type RequestHandler } from "express";
import { rateLimit as expressRateLimit } from "express-rate-limit";
import fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { Hono } from "hono";
import { rateLimiter } from "hono-rate-limiter";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { addressKey, createLimiter, definePolicy } from "sluice";
import { decisionOf as ofExpress, rateLimit as onExpress } from "sluice/express";
import { rateLimit as onFastify } from "sluice/fastify";
import { decisionOf as ofHono, rateLimit as onHono } from "sluice/hono";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { start, stopTime } from "./moving.js";

const one = definePolicy({ name: "one", capacity: 1, refill: { tokens: 1, everyMs: 10_000 } });
const key = () => "ann";
const windowed = { windowMs: 10_000, limit: 1 };

const expressApp = (limit: RequestHandler, handler: RequestHandler = (_, response) => void response.send("hello")) => express().use(limit).get("/", handler);
const fastifyApp = async (set: (app: FastifyInstance) => Promise<unknown>): Promise<FastifyInstance> => {
  const app = fastify();
  onTestFinished(() => void app.close());
  await set(app);
  return app;
};

describe("rate-limiter-flexible: blockDuration", () => {
  /** One request, and whether it was allowed. */
  const callers = {
    before() {
      const limiter = new RateLimiterMemory({ points: 1, duration: 10, blockDuration: 60 });
      return () => limiter.consume("ann").then(() => true, () => false);
    },
    async after() {
      const limiter = createLimiter({ policy: one });
      const strikes = createLimiter({ policy: { name: "strikes", capacity: 1, refill: { tokens: 1, everyMs: 60_000 } } });
      const onDecision = ({ reason }: { reason: string | null }): void => {
        if (reason === "limited" && strikes.consume("ann").allowed) limiter.block("ann", 60_000);
      };
      const app = await start("express", expressApp(onExpress({ limiter, key, onDecision })));
      return async () => (await app.get()).status === 200;
    },
  };

  test.each(Object.entries(callers))("%s: a refusal blocks for 60 s, and refusals in this time do not lengthen it", async (_, open) => {
    stopTime();
    const ask = await open();
    expect([await ask(), await ask()]).toEqual([true, false]);
    vi.advanceTimersByTime(30_000);
    expect(await ask()).toBe(false);
    vi.advanceTimersByTime(29_999);
    expect(await ask()).toBe(false);
    vi.advanceTimersByTime(1);
    expect([await ask(), await ask()]).toEqual([true, false]);
  });
});

test("rate-limiter-flexible: penalty, reward, block, get and delete", async () => {
  stopTime();
  const old = new RateLimiterMemory({ points: 5, duration: 60 });
  const limiter = createLimiter({ policy: { capacity: 5, refill: { tokens: 5, everyMs: 60_000 } } });
  const left = async () => [(await old.get("ann"))?.remainingPoints ?? 5, limiter.peek("ann", 0).remaining];
  const steps: readonly [before: () => Promise<unknown>, after: () => unknown, left: number][] = [
    [() => old.penalty("ann", 3), () => limiter.debit("ann", 3), 2],
    [() => old.reward("ann", 2), () => limiter.credit("ann", 2), 4],
    [() => old.block("ann", 60), () => limiter.block("ann", 60_000), 0],
    [() => old.delete("ann"), () => limiter.reset("ann"), 5],
  ];
  for (const [before, after, expected] of steps) {
    await before();
    after();
    expect(await left()).toEqual([expected, expected]);
  }
});

describe("@fastify/rate-limit: ban", () => {
  const addressOf = (request: FastifyRequest) => addressKey(request.ip, { ipv6Prefix: 56 });
  const plugins = {
    before: (app: FastifyInstance) => app.register(fastifyRateLimit, { max: 1, timeWindow: 10_000, ban: 2 }),
    after(app: FastifyInstance) {
      const limiter = createLimiter({ policy: one });
      const strikes = createLimiter({ policy: { name: "strikes", capacity: 2, refill: { tokens: 2, everyMs: 3_600_000 } } });
      return app.register(onFastify, {
        limiter,
        key: addressOf,
        onDecision(decision, request) {
          const address = addressOf(request);
          if (decision.reason !== "limited" || decision.blocked || address === undefined) return;
          if (strikes.consume(address).remaining === 0) limiter.block(address, 3_600_000);
        },
        respond({ problem, decision }, _request, reply) {
          if (decision.blocked) reply.code(403);
          return problem;
        },
      });
    },
  };

  test.each(Object.entries(plugins))("%s: 2 refusals are 429s, the next one is a 403", async (_, plugin) => {
    stopTime();
    const app = await start("fastify", fastifyApp(async (each) => {
      await plugin(each);
      each.get("/", async () => "hello");
    }));
    const statuses: number[] = [];
    while (statuses.length < 5) statuses.push((await app.get()).status);
    expect(statuses).toEqual([200, 429, 429, 403, 403]);
    expect(await app.get("/", "127.0.0.2")).toMatchObject({ status: 200 });
  });
});

describe("an answer of your own", () => {
  test.each([
    ["express-rate-limit: handler", "express", expressApp(expressRateLimit({ ...windowed, handler: (_, response) => void response.status(420).send("Slow down") }))],
    ["sluice/express: respond", "express", expressApp(onExpress({ policy: one, key, respond: (_refusal, _request, response) => response.status(420).send("Slow down") }))],
    ["hono-rate-limiter: handler", "hono", new Hono().use(rateLimiter({ ...windowed, keyGenerator: key, handler: (c) => c.text("Slow down", 420 as never) })).get("/", (c) => c.text("hello"))],
    ["sluice/hono: respond", "hono", new Hono().use(onHono({ policy: one, key, respond: (_refusal, c) => c.text("Slow down", 420 as never) })).get("/", (c) => c.text("hello"))],
  ] as const)("%s", async (_, framework, app) => {
    const { last } = await (await start(framework, app)).send(2);
    expect([last.status, last.body, Number(last.headers["retry-after"]) > 0]).toEqual([420, "Slow down", true]);
  });

  test.each([
    ["@fastify/rate-limit: errorResponseBuilder", async (app: FastifyInstance) => app.register(fastifyRateLimit, { max: 1, errorResponseBuilder: () => ({ statusCode: 429, slow: "down" }) })],
    ["sluice/fastify: respond", async (app: FastifyInstance) => app.register(onFastify, { policy: one, key, respond: () => ({ statusCode: 429, slow: "down" }) })],
  ])("%s", async (_, plugin) => {
    const app = await start("fastify", fastifyApp(async (each) => {
      await plugin(each);
      each.get("/", async () => "hello");
    }));
    const { last } = await app.send(2);
    expect([last.status, JSON.parse(last.body)]).toEqual([429, { statusCode: 429, slow: "down" }]);
  });
});

describe("what was decided, in a handler", () => {
  interface Info { readonly limit: number; readonly used: number; readonly remaining: number }
  const facts = ({ limit, used, remaining }: Info): Info => ({ limit, used, remaining });
  const decided = (decision: { capacity: number; remaining: number } | undefined): Info | null =>
    decision === undefined ? null : { limit: decision.capacity, used: decision.capacity - decision.remaining, remaining: decision.remaining };
  const five = definePolicy({ name: "five", capacity: 5, refill: { tokens: 5, everyMs: 900_000 } });
  const old = { windowMs: 900_000, limit: 5, requestPropertyName: "limits" };

  test.each([
    ["express-rate-limit: requestPropertyName", "express", expressApp(expressRateLimit(old), (request, response) => void response.json(facts((request as unknown as { limits: Info }).limits)))],
    ["sluice/express: decisionOf", "express", expressApp(onExpress({ policy: five, key }), (request, response) => void response.json(decided(ofExpress(request))))],
    ["hono-rate-limiter: requestPropertyName", "hono", new Hono<{ Variables: { limits: Info } }>().use(rateLimiter({ ...old, keyGenerator: key })).get("/", (c) => c.json(facts(c.get("limits"))))],
    ["sluice/hono: decisionOf", "hono", new Hono().use(onHono({ policy: five, key })).get("/", (c) => c.json(decided(ofHono(c))))],
  ] as const)("%s", async (_, framework, app) => {
    const { last } = await (await start(framework, app)).send(2);
    expect(JSON.parse(last.body)).toEqual({ limit: 5, used: 2, remaining: 3 });
  });
});

describe("Fastify: where a limit runs", () => {
  const accountOf = (request: FastifyRequest): string => (request.body as { account: string }).account;
  const login = (app: FastifyInstance) => app.post("/login", async () => "hello");
  const postTo = async (app: FastifyInstance, account: string): Promise<number> => (await app.inject({ method: "POST", url: "/login", payload: { account } })).statusCode;

  test.each([
    ["@fastify/rate-limit", async (app: FastifyInstance) => app.register(fastifyRateLimit, { max: 1, hook: "preHandler", keyGenerator: accountOf })],
    ["sluice/fastify", async (app: FastifyInstance) => app.register(onFastify, { policy: one, hook: "preHandler", key: accountOf })],
  ])("%s: the hook preHandler has a key in the body", async (_, plugin) => {
    const app = await fastifyApp(async (each) => {
      await plugin(each);
      login(each);
    });
    expect([await postTo(app, "ann"), await postTo(app, "ann"), await postTo(app, "bob")]).toEqual([200, 429, 200]);
  });

  test.each([
    ["@fastify/rate-limit", async (app: FastifyInstance) => app.register(fastifyRateLimit, { max: 1, global: false })],
    ["sluice/fastify", async (app: FastifyInstance) => app.register(onFastify, { policy: one, key, global: false })],
  ])("%s: global false limits the routes with app.rateLimit()", async (_, plugin) => {
    const app = await fastifyApp(async (each) => {
      await plugin(each);
      each.get("/limited", { onRequest: (each.rateLimit as () => never)() }, async () => "hello");
      each.get("/", async () => "hello");
    });
    const statuses: number[] = [];
    for (const url of ["/limited", "/limited", "/", "/"]) statuses.push((await app.inject(url)).statusCode);
    expect(statuses).toEqual([200, 429, 200, 200]);
  });

  test.each([["@fastify/rate-limit", true], ["sluice/fastify", false]])("both packages at once, %s first: one in shadow mode refuses nothing", async (_, isOldFirst) => {
    const seen: (string | undefined)[] = [];
    const oldPlugin = (app: FastifyInstance) => app.register(fastifyRateLimit, { max: 2 });
    const app = await fastifyApp(async (each) => {
      if (isOldFirst) await oldPlugin(each);
      await each.register(onFastify, { policy: one, key, shadow: true, onDecision: (decision) => void seen.push(decision.allowed ? decision.shadow?.reason : decision.reason) });
      if (!isOldFirst) await oldPlugin(each);
      each.get("/", async () => "hello");
      expect(() => each.get("/own", { config: { rateLimit: { max: 5 } } }, async () => "own")).toThrow("Unknown option `max`");
    });
    const statuses: number[] = [];
    while (statuses.length < 3) statuses.push((await app.inject("/")).statusCode);
    expect(statuses).toEqual([200, 200, 429]);
    expect(seen.slice(0, 2)).toEqual([undefined, "limited"]);
  });
});
