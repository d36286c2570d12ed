import { readFileSync } from "node:fs";
import { fastify, type FastifyRequest } from "fastify";
import { fastify as fastify4 } from "fastify4";
import { combine, createLimiter, createWaiter, definePolicy, MemoryStore, perSecond } from "sluice";
import { rateLimit } from "sluice/fastify";
import { ManualClock } from "sluice/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { oneToken } from "./setup.js";

const versions = [
  { name: "Fastify 4", framework: fastify4 as unknown as typeof fastify },
  { name: "Fastify 5", framework: fastify },
];

describe.each(versions)("$name", ({ framework }) => {
  const options = () => ({ ...oneToken(), key: (request: FastifyRequest) => request.headers["x-user"]?.toString() });
  const two = { name: "two", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } };

  function make() {
    const app = framework();
    onTestFinished(() => void app.close());
    const get = async (url: string) => {
      const { statusCode, headers } = await app.inject({ url, headers: { "x-user": "ann" } });
      return [statusCode, headers["ratelimit-remaining"] ?? null, headers["retry-after"] ?? null];
    };
    return { app, get };
  }

  test("answers without a socket, by inject", async () => {
    const { app, get } = make();
    await app.register(rateLimit, options());
    app.get("/", () => Promise.resolve("ok"));
    expect(await get("/")).toEqual([200, "0", null]);
    const { statusCode, headers, body } = await app.inject({ url: "/", headers: { "x-user": "ann" } });
    expect([statusCode, headers["content-type"], headers["cache-control"]]).toEqual([429, "application/problem+json; charset=utf-8", "no-store"]);
    expect(JSON.parse(body)).toMatchObject({ code: "rate_limited", retry_after: 1 });
  });

  test("a route has its own policy and cost beside the plugin's key and store", async () => {
    const { app, get } = make();
    await app.register(rateLimit, options());
    app.get("/", () => Promise.resolve("ok"));
    app.get("/two", { config: { rateLimit: { policy: two } } }, () => Promise.resolve("ok"));
    app.get("/heavy", { config: { rateLimit: { policy: two, cost: 2 } } }, () => Promise.resolve("ok"));
    expect(await get("/two")).toEqual([200, "1", null]);
    expect(await get("/heavy")).toEqual([429, "1", "1"]); // one policy in one store is one bucket
    expect(await get("/two")).toEqual([200, "0", null]);
    expect(await get("/")).toEqual([200, "0", null]);
  });

  test("a route has its own store, which brings its clock", async () => {
    const { app, get } = make();
    await app.register(rateLimit, options());
    app.get("/", () => Promise.resolve("ok"));
    const store = new MemoryStore({ clock: new ManualClock().now });
    app.get("/apart", { config: { rateLimit: { store } } }, () => Promise.resolve("ok"));
    expect(await get("/")).toEqual([200, "0", null]);
    expect(await get("/apart")).toEqual([200, "0", null]);
    expect(await get("/apart")).toEqual([429, "0", "1"]);
  });

  test("a route's combination replaces the plugin's policy and store, and a route's policy a plugin's combination", async () => {
    const store = new MemoryStore({ clock: new ManualClock().now });
    const user = createLimiter({ policy: { name: "user", capacity: 1, refill: perSecond(1) }, store });
    const tenant = createLimiter({ policy: { name: "tenant", capacity: 3, refill: perSecond(1) }, store });
    const both = { limiter: combine({ user, tenant }), key: () => ({ user: "ann", tenant: "acme" }) };
    const one = make();
    await one.app.register(rateLimit, { ...options(), onStoreError: "unavailable", shadow: false });
    one.app.get("/both", { config: { rateLimit: both } }, () => Promise.resolve("ok"));
    one.app.get("/plugin", () => Promise.resolve("ok"));
    expect([await one.get("/both"), await one.get("/both"), await one.get("/plugin")]).toEqual([[200, "0", null], [429, "0", "1"], [200, "0", null]]);
    const several = make();
    await several.app.register(rateLimit, both);
    several.app.get("/one", { config: { rateLimit: { policy: { ...two, name: "one" }, key: () => "acme" } } }, () => Promise.resolve("ok"));
    several.app.get("/plugin", () => Promise.resolve("ok"));
    expect([await several.get("/plugin"), await several.get("/one")]).toEqual([[429, "0", "1"], [200, "1", null]]);
  });

  test("a waiter holds the requests of its routes alone", async () => {
    const { app, get } = make();
    const limiter = createLimiter({ policy: two });
    const other = createLimiter({ policy: { ...two, name: "other" }, store: new MemoryStore({ clock: () => 0 }) });
    await app.register(rateLimit, { limiter: createWaiter(limiter, { maxWaitMs: 30_000 }), key: () => "ann" });
    const others = { "/limiter": { limiter: other }, "/policy": { policy: two } };
    for (const [path, own] of Object.entries(others)) app.get(path, { config: { rateLimit: own } }, () => Promise.resolve("ok"));
    app.get("/plugin", () => Promise.resolve("ok"));
    for (const path of Object.keys(others)) expect(await get(path)).toEqual([200, "1", null]);
    expect(await get("/plugin")).toEqual([200, "1", null]);
    // The waiter refuses at once, with the wait of the block.
    limiter.block("ann", 60_000);
    expect(await get("/plugin")).toEqual([429, "0", "60"]);
  });

  test("a route picks its policy for each request", async () => {
    const { app, get } = make();
    await app.register(rateLimit, options());
    const policies = { "/pick?n=1": definePolicy({ ...two, name: "picked" }), "/pick?n=2": definePolicy({ ...two, name: "picked", capacity: 5 }) };
    app.get("/pick", { config: { rateLimit: { policy: ({ url }) => policies[url as keyof typeof policies] } } }, () => Promise.resolve("ok"));
    expect(await get("/pick?n=1")).toEqual([200, "1", null]);
    expect(await get("/pick?n=2")).toEqual([200, "3", null]);
  });

  test("a route under two plugins is charged for its own options by the nearer one alone", async () => {
    const { app, get } = make();
    const store = new MemoryStore({ clock: new ManualClock().now });
    const key = (request: FastifyRequest) => request.headers["x-user"]?.toString();
    const wide = { name: "wide", capacity: 10, refill: { tokens: 1, everyMs: 1_000 } };
    const own = { name: "own", capacity: 5, refill: { tokens: 1, everyMs: 1_000 } };
    await app.register(rateLimit, { policy: wide, store, key });
    await app.register(async (inner) => {
      await inner.register(rateLimit, { policy: { ...two, capacity: 3 }, store, key });
      inner.get("/own", { config: { rateLimit: { policy: own } } }, () => Promise.resolve("ok"));
      inner.get("/plain", () => Promise.resolve("ok"));
    });
    app.get("/outer", { config: { rateLimit: { cost: 4 } } }, () => Promise.resolve("ok"));
    expect(await get("/own")).toEqual([200, "4", null]);
    expect(await get("/plain")).toEqual([200, "2", null]);
    // Both of them were charged to the outer plugin as well, one token each.
    expect(await get("/outer")).toEqual([200, "4", null]);
  });

  test("config.rateLimit false is no limit, and HEAD goes by its GET's", async () => {
    const { app, get } = make();
    await app.register(rateLimit, options());
    app.get("/free", { config: { rateLimit: false } }, () => Promise.resolve("ok"));
    app.get("/two", { config: { rateLimit: { policy: two } } }, () => Promise.resolve("ok"));
    for (let i = 0; i < 3; i++) expect(await get("/free")).toEqual([200, null, null]);
    expect(await get("/two")).toEqual([200, "1", null]);
    const { headers } = await app.inject({ method: "HEAD", url: "/two", headers: { "x-user": "ann" } });
    expect(headers["ratelimit-remaining"]).toBe("0");
  });

  test("an undefined option of a route is the plugin's", async () => {
    const { app, get } = make();
    await app.register(rateLimit, { ...oneToken(), policy: two, cost: 2, key: () => "ann" });
    app.get("/same", { config: { rateLimit: { key: undefined, policy: undefined, cost: undefined } } }, () => Promise.resolve("ok"));
    expect(await get("/same")).toEqual([200, "0", null]);
  });

  test("limits its own scope and those below, not those beside it", async () => {
    const { app, get } = make();
    await app.register(async (scope) => {
      await scope.register(rateLimit, options());
      scope.get("/inside", () => Promise.resolve("ok"));
      await scope.register(async (below) => void below.get("/below", () => Promise.resolve("ok")));
    });
    await app.register(async (scope) => void scope.get("/beside", () => Promise.resolve("ok")));
    app.get("/outside", () => Promise.resolve("ok"));
    expect(await get("/inside")).toEqual([200, "0", null]);
    expect(await get("/below")).toEqual([429, "0", "1"]);
    expect(await get("/beside")).toEqual([200, null, null]);
    expect(await get("/outside")).toEqual([200, null, null]);
  });

  test("an error handler cannot turn a 429 into a 500, and onSend hooks see it", async () => {
    const { app, get } = make();
    const sent: number[] = [];
    app.setErrorHandler((_error, _request, reply) => void reply.code(500).send("turned"));
    app.addHook("onSend", async (_request, reply, payload) => {
      sent.push(reply.statusCode);
      reply.header("x-sent", "yes");
      return payload;
    });
    await app.register(rateLimit, options());
    app.get("/", () => Promise.resolve("ok"));
    await get("/");
    const { statusCode, headers } = await app.inject({ url: "/", headers: { "x-user": "ann" } });
    expect([statusCode, headers["x-sent"], headers["retry-after"]]).toEqual([429, "yes", "1"]);
    expect(sent).toEqual([200, 429]);
  });

  test("what a key throws or rejects with, even nothing, goes to the error handler", async () => {
    const { app, get } = make();
    app.setErrorHandler((error: Error, _request, reply) => void reply.code(418).send(error.message));
    const fail = (): never => {
      throw new Error("no session");
    };
    await app.register(rateLimit, options());
    app.get("/throws", { config: { rateLimit: { key: fail } } }, () => Promise.resolve("ok"));
    app.get("/rejects", { config: { rateLimit: { key: async () => fail() } } }, () => Promise.resolve("ok"));
    app.get("/nothing", { config: { rateLimit: { key: () => Promise.reject() } } }, () => Promise.resolve("ok"));
    for (const url of ["/throws", "/rejects", "/nothing"]) expect(await get(url)).toEqual([418, null, null]);
  });

  test("unknown routes are limited too, so that probing is not free", async () => {
    const { app, get } = make();
    await app.register(rateLimit, options());
    expect(await get("/nowhere")).toEqual([404, "0", null]);
    expect(await get("/nowhere")).toEqual([429, "0", "1"]);
  });

  test("a wrong option fails the registration", async () => {
    const { app } = make();
    await expect(async () => app.register(rateLimit, { ...oneToken(), cost: -1, key: () => "ann" })).rejects.toThrow("Expected `cost`");
    const { app: later } = make();
    void later.register(rateLimit, { ...oneToken(), key: "x-user" as never });
    await expect(async () => later.ready()).rejects.toThrow("Expected `key` to be a function");
  });

  test.each([
    ["misspelt", { capasity: 3 }, "Unknown option `capasity`"],
    ["capacity 0", { policy: { capacity: 0, refill: { tokens: 1, everyMs: 1 } } }, "Expected `capacity` to be a positive integer, got 0"],
    ["cost above the capacity", { cost: 2 }, "Expected `cost` to be at most the capacity, 1, got 2"],
    ["true", true, "Expected `config.rateLimit` to be false or an object with options, got true"],
    ["null", null, "Expected `config.rateLimit` to be false or an object with options, got null"],
  ])("a wrong option of a route fails that route: %s", async (_, wrong, message) => {
    const { app } = make();
    await app.register(rateLimit, options());
    expect(() => app.get("/", { config: { rateLimit: wrong as never } }, () => Promise.resolve("ok"))).toThrow(message);
  });
});

test("a polluted Object.prototype switches the limit of no route off", async () => {
  const { prototype } = Object as unknown as { prototype: Record<string, unknown> };
  const app = fastify();
  try {
    prototype["rateLimit"] = false;
    await app.register(rateLimit, { ...oneToken(), key: () => "ann" });
    app.get("/", { config: {} }, async () => "hello");
    expect([(await app.inject("/")).statusCode, (await app.inject("/")).statusCode]).toEqual([200, 429]);
  } finally {
    delete prototype["rateLimit"];
    await app.close();
  }
});

test("a version of Fastify outside of the peer range is refused at registration", async () => {
  const meta = Reflect.get(rateLimit, Symbol.for("plugin-meta")) as { readonly fastify: string };
  const { peerDependencies } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly peerDependencies: { readonly fastify: string } };
  expect(meta.fastify).toBe(peerDependencies.fastify);
});
