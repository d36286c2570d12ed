// A redirect that `respond` or `unidentified` sends has no field of a limit: neither of its own, nor of one before it.
import express from "express";
import { fastify } from "fastify";
import { fastify as fastify4 } from "fastify4";
import { Hono } from "hono";
import * as forExpress from "sluice/express";
import * as forFastify from "sluice/fastify";
import * as forHono from "sluice/hono";
import { draft11, triple, xRateLimit } from "sluice/http";
import * as forNode from "sluice/node";
import * as forWeb from "sluice/web";
import { definePolicy, MemoryStore, perSecond } from "sluice";
import { createServer, type Server } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen } from "./rows/listen.js";

const LOGIN = "https://example.com/login";
const of = (name: string, capacity: number) => ({ policy: definePolicy({ name, capacity, refill: perSecond(1) }), store: new MemoryStore({ clock: () => 0 }) });
/** A limit that lets nine requests through, with a style of its own, and one behind it that lets one through. */
const outer = () => ({ ...of("outer", 9), headers: [triple(), draft11(), xRateLimit()] as const, key: () => "all" });
const inner = () => of("inner", 1);

/** Sends a request of a user, or of none. The redirect is not followed. */
type Ask = (user?: string) => Promise<Response>;

const asks = (port: number): Ask => (user) => fetch(`http://127.0.0.1:${port}/`, { redirect: "manual", ...(user && { headers: { user } }) });

async function serve(server: Server): Promise<Ask> {
  const { port, close } = await listen(server);
  onTestFinished(async () => void (await close()));
  return asks(port);
}

async function fastifyOf(framework: typeof fastify, answer: (reply: { redirect(url: string): unknown }) => unknown): Promise<Ask> {
  const app = framework();
  onTestFinished(() => void app.close());
  await app.register(forFastify.rateLimit, outer());
  const limited = app.rateLimit({
    ...inner(), headers: [triple(), draft11()], key: ({ headers }) => headers["user"]?.toString(),
    respond: (_, __, reply) => answer(reply), unidentified: (_, __, reply) => answer(reply),
  });
  app.get("/", { onRequest: limited }, async () => "ok");
  await app.listen({ port: 0, host: "127.0.0.1" });
  return asks((app.server.address() as { port: number }).port);
}

const servers: Readonly<Record<string, () => Promise<Ask>>> = {
  async Express() {
    const app = express();
    app.use(forExpress.rateLimit(outer()));
    app.use(forExpress.rateLimit({
      ...inner(), key: ({ headers }) => headers["user"]?.toString(), respond: (_, __, response) => response.redirect(LOGIN), unidentified: (_, __, response) => response.redirect(LOGIN),
    }));
    app.get("/", (_, response) => void response.send("ok"));
    return serve(createServer(app));
  },
  async Node() {
    const redirect = (_: unknown, __: unknown, response: forNode.NodeResponse): void => {
      response.writeHead(302, { Location: LOGIN });
      response.end("");
    };
    const limited = forNode.rateLimit({ ...inner(), key: ({ headers }) => headers["user"]?.toString(), respond: redirect, unidentified: redirect });
    return serve(createServer(forNode.rateLimit(outer())(limited((_, response) => response.end("ok")))));
  },
  "Fastify 5": () => fastifyOf(fastify, (reply) => reply.redirect(LOGIN)),
  "Fastify 4": () => fastifyOf(fastify4 as unknown as typeof fastify, (reply) => reply.redirect(LOGIN)),
  "Fastify 5, a Response": () => fastifyOf(fastify, () => Response.redirect(LOGIN)),
  async Hono() {
    const app = new Hono();
    app.use(forHono.rateLimit(outer()));
    app.use(forHono.rateLimit({ ...inner(), key: (c) => c.req.header("user"), respond: (_, c) => c.redirect(LOGIN), unidentified: (_, c) => c.redirect(LOGIN) }));
    app.get("/", (c) => c.text("ok"));
    return async (user) => app.request("/", user ? { headers: { user } } : {});
  },
  async web() {
    const limited = forWeb.rateLimit({
      ...inner(), key: ({ headers }) => headers.get("user"), respond: () => Response.redirect(LOGIN), unidentified: async () => Response.redirect(LOGIN),
    });
    const handler = forWeb.rateLimit(outer())(limited(() => new Response("ok")));
    return async (user) => handler(new Request("http://localhost/", user ? { headers: { user } } : {}));
  },
};

describe.each(Object.entries(servers))("%s", (_, start) => {
  test("a redirect of `respond` or `unidentified` has no field of a limit, and the other answers have all", async () => {
    const ask = await start();
    const limitFields = ({ headers }: Response): string[] => [...headers.keys()].filter((name) => /ratelimit|retry-after|www-auth/.test(name));
    const allowed = await ask("ann");
    expect([allowed.status, limitFields(allowed)]).toHaveProperty("1.length", 8);
    for (const user of ["ann", undefined]) {
      const redirect = await ask(user);
      expect([redirect.status, redirect.headers.get("location"), redirect.headers.get("cache-control")]).toEqual([302, LOGIN, "no-store"]);
      expect(limitFields(redirect)).toEqual([]);
    }
  });
});
