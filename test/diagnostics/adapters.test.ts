// What is warned of over real servers: the same mistake in every framework.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import express, { type Request as ExpressRequest } from "express";
import express4 from "express4";
import fastify from "fastify";
import { Hono } from "hono";
import { perSecond } from "sluice";
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
  async function codesWith(trust: boolean, headers: Record<string, string>): Promise<string[]> {
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
    expect(await codesWith(true, { "x-forwarded-for": "203.0.113.5" })).toEqual([]);
  });

  test("is the caller's where there is no proxy: no warning", async () => {
    expect(await codesWith(false, {})).toEqual([]);
  });
});
