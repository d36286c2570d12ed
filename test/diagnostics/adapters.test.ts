// What is warned of over real servers: the same mistake in every framework.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import express, { type Request as ExpressRequest } from "express";
import express4 from "express4";
import fastify from "fastify";
import fastify4 from "fastify4";
import { Hono } from "hono";
import { addressKey, perSecond, type Key } from "sluice";
import { afterEach, describe, expect, test, vi } from "vitest";
import { freshSluice } from "../helpers/warned.js";

afterEach(() => void vi.restoreAllMocks());

const policy = { name: "api", capacity: 5, refill: perSecond(1) };

/** What answers the requests, with a limiter mounted so many times. */
type Mount = (times: number) => Promise<Server>;

const mounts: Record<string, Mount> = {
  async node(times) {
    const { rateLimit } = await import("sluice/node");
    const limited = rateLimit({ policy, key: () => "ann" });
    let listener: Parameters<typeof limited>[0] = (_, response) => response.end("hello");
    for (let i = 0; i < times; i++) listener = limited(listener);
    return createServer((request, response) => void listener(request, response));
  },
  async express(times) {
    const { rateLimit } = await import("sluice/express");
    const app = express();
    const limited = rateLimit({ policy, key: () => "ann" });
    for (let i = 0; i < times; i++) app.use(express.Router().use(limited));
    return createServer(app.get("/", (_, response) => void response.send("hello")));
  },
  async "express 4"(times) {
    const { rateLimit } = await import("sluice/express");
    const app = express4();
    const limited = rateLimit({ policy, key: () => "ann" });
    for (let i = 0; i < times; i++) app.use(limited as unknown as express4.RequestHandler);
    return createServer(app.get("/", (_, response) => void response.send("hello")));
  },
  async fastify(times) {
    const { rateLimit } = await import("sluice/fastify");
    const { createLimiter } = await import("sluice");
    const app = fastify();
    const limiter = createLimiter({ policy });
    for (let i = 0; i < times; i++) await app.register(rateLimit, { limiter, key: () => "ann" });
    app.get("/", () => "hello");
    await app.ready();
    return app.server;
  },
  async hono(times) {
    const { rateLimit } = await import("sluice/hono");
    const app = new Hono();
    const limited = rateLimit({ policy, key: () => "ann" });
    for (let i = 0; i < times; i++) app.use(limited);
    return createServer(getRequestListener(app.get("/", (c) => c.text("hello")).fetch));
  },
  async web(times) {
    const { rateLimit } = await import("sluice/web");
    const limited = rateLimit({ policy, key: () => "ann" });
    let handler: (request: Request) => Response | Promise<Response> = () => new Response("hello");
    for (let i = 0; i < times; i++) handler = limited(handler);
    return createServer(getRequestListener(handler));
  },
};

/** Asks a server three times for its front page, and says what was left to say after the last. */
async function ask(server: Server, headers: Record<string, string> = {}): Promise<string | null> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    let answer: Response | undefined;
    for (let i = 0; i < 3; i++) {
      answer = await fetch(url, { headers });
      await answer.arrayBuffer();
    }
    return answer?.headers.get("ratelimit-remaining") ?? null;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe.each(Object.entries(mounts))("%s", (_, mount) => {
  test("a limiter that is mounted once is no reason to warn, however many requests come", async () => {
    const { codes } = await freshSluice();
    const remaining = Number(await ask(await mount(1)));
    expect([remaining >= 2, codes()]).toEqual([true, []]);
  });

  test("one that is mounted twice is SLUICE_COUNTED_TWICE, told once", async () => {
    const { codes } = await freshSluice();
    await ask(await mount(2));
    expect(codes()).toEqual(["SLUICE_COUNTED_TWICE"]);
  });
});

describe("an address as a key, in Express behind a proxy", () => {
  /** The codes for callers known by `request.ip`, as a proxy on this machine passes them on. */
  async function codesWith(trust: boolean | number, headers: Record<string, string>): Promise<string[]> {
    const { codes } = await freshSluice();
    const { rateLimit } = await import("sluice/express");
    const app = express().set("trust proxy", trust);
    app.use(rateLimit({ policy, key: (request: ExpressRequest) => ["address", request.ip] }));
    await ask(createServer(app.get("/", (_, response) => void response.send("hello"))), headers);
    return codes();
  }

  test("is the proxy's where nobody said to trust it: SLUICE_KEY_IS_ADDRESS", async () => {
    expect(await codesWith(false, { "x-forwarded-for": "203.0.113.5" })).toEqual(["SLUICE_KEY_IS_ADDRESS"]);
  });

  test("is the caller's where the proxy is trusted: no warning", async () => {
    expect(await codesWith(1, { "x-forwarded-for": "203.0.113.5" })).toEqual([]);
  });

  test("is the caller's where there is no proxy: no warning", async () => {
    expect(await codesWith(false, {})).toEqual([]);
  });
});

describe("SLUICE_TRUSTS_EVERY_PROXY", () => {
  /** What is warned of by callers known by `request.ip`, over an app that trusts so many proxies. */
  type Serve = (trust: unknown, keyOf: (ip: string | undefined) => Key | undefined) => Promise<Server>;
  const anyTrust = (trust: unknown): never => trust as never;

  const apps: Record<string, Serve> = {
    async express(trust, keyOf) {
      const { rateLimit } = await import("sluice/express");
      const app = express().set("trust proxy", trust);
      app.use(rateLimit({ policy, key: (request: ExpressRequest) => keyOf(request.ip) }));
      return createServer(app.get("/", (_, response) => void response.send("hello")));
    },
    async "express 4"(trust, keyOf) {
      const { rateLimit } = await import("sluice/express");
      const app = express4().set("trust proxy", trust);
      app.use(rateLimit({ policy, key: (request: ExpressRequest) => keyOf(request.ip) }) as unknown as express4.RequestHandler);
      return createServer(app.get("/", (_, response) => void response.send("hello")));
    },
    async fastify(trust, keyOf) {
      const { rateLimit } = await import("sluice/fastify");
      const app = fastify({ trustProxy: anyTrust(trust) });
      await app.register(rateLimit, { policy, key: (request) => keyOf(request.ip) });
      app.get("/", () => "hello");
      await app.ready();
      return app.server;
    },
    async "fastify 4"(trust, keyOf) {
      const { rateLimit } = await import("sluice/fastify");
      const app = fastify4({ trustProxy: anyTrust(trust) });
      await app.register(rateLimit as never, { policy, key: (request: { ip: string }) => keyOf(request.ip) } as never);
      app.get("/", async () => "hello");
      await app.ready();
      return app.server;
    },
  };

  async function warned(serve: Serve, trust: unknown, keyOf: (ip: string | undefined) => Key | undefined = addressKey): Promise<string[]> {
    const { given } = await freshSluice();
    await ask(await serve(trust, keyOf));
    return given.map(({ code, message }) => `${code} ${message}`);
  }

  test.each(Object.entries(apps))("%s: at the first request whose key is an address, once, with the cure", async (_, serve) => {
    expect(await warned(serve, true)).toEqual([
      'SLUICE_TRUSTS_EVERY_PROXY A key under policy "api" is an address that callers can make up, because the framework trusts every proxy: ' +
        'name yours, as in `app.set("trust proxy", 1)` of Express or `trustProxy: "10.0.0.0/8"` of Fastify',
    ]);
    expect(await warned(serve, () => true)).toHaveLength(1);
    expect(await warned(serve, true, (ip) => ip)).toHaveLength(1);
    expect(await warned(serve, true, (ip) => `ip:${ip}`)).toHaveLength(1);
    expect(await warned(serve, true, () => `ip:${String(addressKey("2001:db8:1:2:3::"))}`)).toHaveLength(1);
    expect(await warned(serve, true, () => addressKey("2001:db8:1:2:3::"))).toHaveLength(1);
  });

  test.each(Object.entries(apps))("%s: not for named proxies, and not where the key is no address", async (_, serve) => {
    for (const trust of [false, 1, 3, "loopback", "10.0.0.0/8"]) expect(await warned(serve, trust)).toEqual([]);
    expect(await warned(serve, true, () => ["user", 42])).toEqual([]);
  });
});
