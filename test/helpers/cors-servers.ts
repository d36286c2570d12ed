// An API that pages of another origin call. CORS comes first, then the rate limit, then the route, as on the adapters'
// pages.
import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import { fastify } from "fastify";
import { Hono } from "hono";
import { perHour } from "sluice";
import { rateLimit as expressLimit } from "sluice/express";
import { rateLimit as fastifyLimit } from "sluice/fastify";
import { rateLimit as honoLimit } from "sluice/hono";
import { rateLimit as nodeLimit } from "sluice/node";
import { listen } from "../adapters/rows/listen.js";

/** Reads the caller's key from a request's headers. */
export type KeyOf = (header: (name: string) => string | undefined) => readonly [kind: string, name: string | undefined];

/** The end of preflights: the CORS middleware, or a route behind the gate. */
export type Mount = "CORS answers preflights" | "preflights pass the gate";

/** A running API, and the requests that it got. */
export interface CorsServer {
  readonly origin: string;
  /** Method, status and headers of every request but those to `/login`, in order. */
  readonly asked: { method: string; status: number; headers: IncomingHttpHeaders }[];
  close(): unknown;
}

const policy = { name: "inbox", capacity: 5, refill: perHour(5) };
const textOf = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value.join(", ") : value);

/** The fields of a CORS middleware. Browsers must not remember preflights, because each call is to need one. */
function corsHeaders(header: (name: string) => string | undefined): Record<string, string> {
  return {
    "Access-Control-Allow-Origin": header("origin") ?? "",
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": header("access-control-request-headers") ?? "",
    "Access-Control-Max-Age": "0",
    Vary: "Origin",
  };
}

type Framework = (mount: Mount, keyOf: KeyOf) => Promise<RequestListener>;

/** The setup of each framework, by name. */
export const frameworks: Readonly<Record<string, Framework>> = {
  async Node(mount, keyOf) {
    const limited = nodeLimit({ policy, key: ({ headers }) => keyOf((name) => textOf(headers[name])) });
    const inbox = limited((request, response) => {
      if (request.method === "OPTIONS") return void response.writeHead(204).end();
      response.writeHead(200, { "Content-Type": "application/json" }).end("{}");
    });
    return (request, response) => {
      for (const [name, value] of Object.entries(corsHeaders((each) => textOf(request.headers[each])))) response.setHeader(name, value);
      if (request.method === "OPTIONS" && mount === "CORS answers preflights") return void response.writeHead(204).end();
      inbox(request, response);
    };
  },
  async Express(mount, keyOf) {
    const app = express().set("env", "test");
    app.use((request, response, next) => {
      response.set(corsHeaders((name) => request.get(name)));
      if (request.method === "OPTIONS" && mount === "CORS answers preflights") response.status(204).end();
      else next();
    });
    app.use(expressLimit({ policy, key: (request) => keyOf((name) => request.get(name)) }));
    app.options("/inbox", (_request, response) => void response.status(204).end());
    app.all("/inbox", (_request, response) => void response.json({}));
    return app;
  },
  async Fastify(mount, keyOf) {
    const app = fastify();
    app.addHook("onRequest", async (request, reply) => {
      reply.headers(corsHeaders((name) => textOf(request.headers[name])));
      if (request.method === "OPTIONS" && mount === "CORS answers preflights") return reply.status(204).send();
    });
    await app.register(fastifyLimit, { policy, key: (request) => keyOf((name) => textOf(request.headers[name])) });
    app.options("/inbox", (_request, reply) => void reply.status(204).send());
    app.route({ method: ["GET", "POST"], url: "/inbox", handler: () => ({}) });
    await app.ready();
    return (request, response) => app.routing(request, response);
  },
  async Hono(mount, keyOf) {
    const app = new Hono();
    app.use(async (c, next) => {
      for (const [name, value] of Object.entries(corsHeaders((each) => c.req.header(each)))) c.header(name, value);
      if (c.req.method === "OPTIONS" && mount === "CORS answers preflights") return c.body(null, 204);
      return next();
    });
    app.use(honoLimit({ policy, key: (c) => keyOf((name) => c.req.header(name)) }));
    app.options("/inbox", (c) => c.body(null, 204));
    app.on(["GET", "POST"], "/inbox", (c) => c.json({}));
    return getRequestListener(app.fetch);
  },
};

/** Starts the API. `/login` sets a session's cookie and has no limit. */
export async function startApi(framework: Framework, mount: Mount, keyOf: KeyOf): Promise<CorsServer> {
  const handler = await framework(mount, keyOf);
  const asked: CorsServer["asked"] = [];
  const server = createServer((request, response) => {
    if (request.url === "/login") {
      response.writeHead(204, { ...corsHeaders((name) => textOf(request.headers[name])), "Set-Cookie": "session=ann; Path=/; HttpOnly; SameSite=Lax" }).end();
      return;
    }
    response.once("finish", () => asked.push({ method: String(request.method), status: response.statusCode, headers: request.headers }));
    handler(request, response);
  });
  const { port, close } = await listen(server);
  return { origin: `http://127.0.0.1:${port}`, asked, close };
}

/** Starts a site with an empty page. */
export async function startSite(): Promise<{ readonly origin: string; close(): unknown }> {
  const { port, close } = await listen(createServer((_request, response) => response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>A</title>")));
  return { origin: `http://127.0.0.1:${port}`, close };
}
