// `rateLimit.with(defaults)` of every adapter: a `rateLimit` with a company's own defaults.
import { createServer, type RequestListener } from "node:http";
import express, { type RequestHandler } from "express";
import { fastify, type FastifyPluginAsync } from "fastify";
import { Hono, type MiddlewareHandler } from "hono";
import { createLimiter, createObserver, definePolicy, MemoryStore, type SyncStore } from "sluice";
import * as forExpress from "sluice/express";
import * as forFastify from "sluice/fastify";
import * as forHono from "sluice/hono";
import * as forNode from "sluice/node";
import { ManualClock } from "sluice/testing";
import * as forWeb from "sluice/web";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen } from "./rows/listen.js";
import { storeOf } from "../helpers/store-of.js";

type Told = readonly [status: number, limit: string | null, remaining: string | null];
type Own = ((options: object) => unknown) & { with(defaults: object): Own };

const told = ({ status, headers }: Response): Told => [status, headers.get("ratelimit-policy")?.split(";")[0] ?? null, headers.get("ratelimit-remaining")];

async function serve(listener: unknown): Promise<() => Promise<Told>> {
  const server = await listen(createServer(listener as RequestListener));
  onTestFinished(() => void server.close());
  return async () => told(await fetch(`http://127.0.0.1:${server.port}/`));
}

/** Each starts a server behind `own(options)`. */
const adapters: Record<string, { rateLimit: unknown; start(own: Own, options: object): Promise<() => Promise<Told>> | (() => Promise<Told>) }> = {
  Node: { rateLimit: forNode.rateLimit, start: (own, options) => serve((own(options) as (listener: RequestListener) => unknown)((_request, response) => response.end("ok"))) },
  Express: { rateLimit: forExpress.rateLimit, start: (own, options) => serve(express().use(own(options) as RequestHandler).get("/", (_request, response) => void response.send("ok"))) },
  Fastify: {
    rateLimit: forFastify.rateLimit,
    async start(own, options) {
      const app = fastify();
      onTestFinished(() => void app.close());
      await app.register(own as unknown as FastifyPluginAsync, options);
      app.get("/", async () => "ok");
      return async () => {
        const { statusCode, headers } = await app.inject("/");
        return told(new Response(null, { status: statusCode, headers: headers as Record<string, string> }));
      };
    },
  },
  Hono: {
    rateLimit: forHono.rateLimit,
    start(own, options) {
      const app = new Hono().use(own(options) as MiddlewareHandler).get("/", (c) => c.text("ok"));
      return async () => told(await app.request("/"));
    },
  },
  web: {
    rateLimit: forWeb.rateLimit,
    start(own, options) {
      const handle = (own(options) as (handler: () => Response) => (request: Request) => Response)(() => new Response("ok"));
      return async () => told(handle(new Request("http://localhost/")));
    },
  },
};

const limits = (name: string, capacity: number) => ({ name, capacity, refill: { tokens: 1, everyMs: 1_000 } });
const newStore = () => new MemoryStore({ clock: new ManualClock().now });

describe.each(Object.keys(adapters))("%s", (name) => {
  const { rateLimit, start } = adapters[name] as (typeof adapters)[string];
  const own = rateLimit as Own;

  test("the options of a call replace the defaults, and undefined does not", async () => {
    const ours = own.with({ store: newStore(), policy: limits("ours", 3), key: () => "ann", cost: 2 });
    const [plain, cheap, wide] = [await start(ours, {}), await start(ours, { cost: 1, key: undefined }), await start(ours, { policy: limits("wide", 9) })];
    expect(await plain()).toEqual([200, '"ours"', "1"]);
    expect(await cheap()).toEqual([200, '"ours"', "0"]); // one store: one bucket
    expect(await plain()).toEqual([429, '"ours"', "0"]);
    expect(await wide()).toEqual([200, '"wide"', "7"]);
  });

  test("`with` adds to earlier defaults, which stay as they are", async () => {
    const company = own.with({ store: newStore(), key: () => "ann" });
    const team = company.with({ policy: limits("team", 2), key: () => "bob" });
    const [first, second] = [await start(team, {}), await start(company, { policy: limits("team", 2) })];
    expect(await first()).toEqual([200, '"team"', "1"]);
    expect(await second()).toEqual([200, '"team"', "1"]);
    expect(await first()).toEqual([200, '"team"', "0"]);
  });

  test("a `limiter` in the call drops the defaults that belong to a limiter", async () => {
    const failing: SyncStore = storeOf({ sync: true, clock: () => 0, consume: () => expect.unreachable() });
    const seen: unknown[] = [];
    const ours = own.with({
      store: failing, policy: limits("ours", 3), onStoreError: "unavailable", shadow: true, observe: createObserver((event) => void seen.push(event)), key: () => "ann", cost: 2,
    });
    const limiter = createLimiter({ policy: limits("given", 5), store: newStore() });
    const ask = await start(ours, { limiter });
    expect(await ask()).toEqual([200, '"given"', "3"]);
    expect(seen).toEqual([]);
  });

  test("a `policy` function of the request goes with a `limiter` of the call", async () => {
    const wide = definePolicy(limits("given", 50));
    const ask = await start(own.with({ policy: limits("ours", 3), key: () => "ann" }), { limiter: createLimiter({ policy: limits("given", 5), store: newStore() }), policy: () => wide });
    expect(await ask()).toEqual([200, '"given"', "49"]);
  });

  test("a wrong default, and a missing option, are refused where the limit is made", async () => {
    await expect(async () => start(own.with({ capasity: 3, key: () => "ann" }), { policy: limits("ours", 3) })).rejects.toThrow("Unknown option `capasity`");
    await expect(async () => start(own.with({ key: "x-user" }), { policy: limits("ours", 3) })).rejects.toThrow("Expected `key` to be a function");
    await expect(async () => start(own.with({ policy: limits("ours", 3) }), {})).rejects.toThrow("Expected `key` to be a function");
    await expect(async () => start(own.with({ key: () => "ann" }), {})).rejects.toThrow("policy");
  });

  test("an unknown default is refused by `with`", () => {
    expect(() => own.with({ capasity: 3, key: () => "ann" })).toThrow("Unknown option `capasity`");
    expect(() => own.with({ keyz: 1 })).toThrow("Unknown option `keyz`. Did you mean `key`?");
    expect(() => own.with({ keyGenerator: () => "ann" })).toThrow("Unknown option `keyGenerator` (of ");
    expect(() => own.with(() => "ann")).toThrow("Expected `defaults` to be an object");
    expect(() => own.with({ key: () => "ann" }).with({ keyz: 1 })).toThrow("Unknown option `keyz`");
  });

  test("a polluted Object.prototype adds no default", async () => {
    const { prototype } = Object as unknown as { prototype: Record<string, unknown> };
    try {
      prototype["skip"] = () => true;
      const ask = await start(own.with({ policy: limits("ours", 1), store: newStore() }), { key: () => "ann" });
      expect([(await ask())[0], (await ask())[0]]).toEqual([200, 429]);
    } finally {
      delete prototype["skip"];
    }
  });
});

test("Node: `onError` may be a default", async () => {
  const fail = (): never => {
    throw new Error("no session");
  };
  const ours = forNode.rateLimit.with({ policy: limits("ours", 1), onError: (_error, _request, response) => void response.writeHead(418).end() });
  const ask = await serve(ours({ key: fail })((_request, response) => response.end("ok")));
  expect((await ask())[0]).toBe(418);
});

test("Fastify: the hook and `global` may be defaults, and a route's options replace those of the registration", async () => {
  const ours = forFastify.rateLimit.with({ store: newStore(), key: () => "ann", global: false, hook: "preHandler" });
  const app = fastify();
  onTestFinished(() => void app.close());
  await app.register(ours, { policy: limits("ours", 3) });
  app.get("/free", async () => "ok");
  app.get("/limited", { config: { rateLimit: { cost: 2 } } }, async () => "ok");
  expect((await app.inject("/free")).headers["ratelimit-remaining"]).toBeUndefined();
  expect((await app.inject("/limited")).headers["ratelimit-remaining"]).toBe("1");
});
