// `node --expose-gc soak-server.mjs <adapter>`, forked by soak.ts: an app with two limits, one in memory and one over a
// store that answers later. It sends its port, and on each message its memory after a garbage collection.
import { createServer } from "node:http";
import { serve } from "@hono/node-server";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import { rateLimit as onExpress } from "../dist/express.js";
import { rateLimit as onFastify } from "../dist/fastify.js";
import { rateLimit as onHono } from "../dist/hono.js";
import { MemoryStore } from "../dist/index.js";
import { rateLimit as onNode } from "../dist/node.js";
import { casStore } from "../dist/store.js";
import { rateLimit as onWeb } from "../dist/web.js";

const [adapter, leak] = process.argv.slice(2);
const SLOW_MS = 5;
const kept = new Map();
const store = casStore({
  async read(key) {
    const value = kept.get(key);
    return value === undefined ? null : { value, version: value };
  },
  async write(key, value, version) {
    if ((kept.get(key) ?? null) !== version) return false;
    kept.set(key, value);
    return true;
  },
});

// `--leak` leaks memory on purpose, to prove that the check can fail.
const leaked = [];
let decided = 0;

/** The options of both limits. `header`, `method` and `path` read a request of the framework. */
const common = ({ header, method, path }) => ({
  key: (request) => (header(request) === undefined ? undefined : ["user", header(request)]),
  cost: (request) => (method(request) === "POST" ? 2 : 1),
  skip: (request) => path(request) === "/health",
  actualCost: ({ status }) => (status === 404 || status === 499 ? 0 : undefined),
  onDecision(decision) {
    decided += 1;
    if (leak === "leak") leaked.push({ ...decision });
  },
});
const inMemory = (read) => ({
  ...common(read),
  policy: { name: "all", limits: [{ name: "burst", capacity: 20, refill: { tokens: 2, everyMs: 1_000 } }, { name: "hour", capacity: 5_000, refill: { tokens: 5_000, everyMs: 3_600_000 } }] },
  store: new MemoryStore({ maxKeys: 2_000 }), // fewer than there are callers
});
const later = (read) => ({ ...common(read), policy: { name: "later", capacity: 20, refill: { tokens: 2, everyMs: 1_000 } }, store });

const onRaw = { header: (request) => request.headers["x-id"], method: (request) => request.method, path: (request) => request.url };
const onRequest = { header: (request) => request.headers.get("x-id") ?? undefined, method: (request) => request.method, path: (request) => new URL(request.url).pathname };
const onContext = { header: (c) => c.req.header("x-id"), method: (c) => c.req.method, path: (c) => c.req.path };

function slowly(response) {
  response.setHeader("Content-Type", "text/plain");
  response.write("slow");
  setTimeout(() => response.end("ly"), SLOW_MS);
}

const slowBody = () =>
  new ReadableStream({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode("slow"));
      await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
      try {
        controller.enqueue(new TextEncoder().encode("ly"));
        controller.close();
      } catch {
        // the client went away, and the stream with it
      }
    },
  });

const start = {
  node() {
    const listener = (request, response) => {
      request.resume();
      if (request.url === "/slow") return slowly(response);
      if (request.url === "/missing") response.statusCode = 404;
      response.end("ok");
    };
    const now = onNode(inMemory(onRaw))(listener);
    const awaited = onNode(later(onRaw))(listener);
    return createServer((request, response) => (request.url === "/later" ? awaited : now)(request, response));
  },
  express() {
    const app = express();
    const now = onExpress(inMemory(onRaw));
    app.use("/later", onExpress(later(onRaw)));
    app.use((request, response, next) => (request.path === "/later" ? next() : now(request, response, next)));
    app.use(express.text());
    app.get("/slow", (_request, response) => slowly(response));
    app.get("/throws", () => {
      throw new Error("thrown on purpose");
    });
    app.get("/missing", (_request, response) => void response.status(404).send("missing"));
    app.use((_request, response) => void response.send("ok"));
    app.use((_error, _request, response, _next) => void response.status(500).send("failed"));
    return createServer(app);
  },
  async fastify() {
    const app = Fastify();
    await app.register(onFastify, inMemory({ ...onRaw, path: (request) => request.url }));
    app.get("/slow", (_request, reply) => slowly(reply.hijack().raw));
    app.get("/throws", async () => {
      throw new Error("thrown on purpose");
    });
    app.get("/missing", async (_request, reply) => reply.code(404).send("missing"));
    app.all("/later", { config: { rateLimit: later(onRaw) } }, async () => "ok");
    app.all("/health", async () => "ok");
    app.all("/", async () => "ok");
    await app.ready();
    return { listen: (_port, _host, then) => app.listen({ port: 0, host: "127.0.0.1" }, () => then(app.server.address())) };
  },
  hono() {
    const app = new Hono();
    const now = onHono(inMemory(onContext));
    app.use("/later", onHono(later(onContext)));
    app.use((c, next) => (c.req.path === "/later" ? next() : now(c, next)));
    app.get("/slow", (c) => c.body(slowBody()));
    app.get("/throws", () => {
      throw new Error("thrown on purpose");
    });
    app.onError((_error, c) => c.text("failed", 500));
    app.get("/missing", (c) => c.text("missing", 404));
    app.all("*", (c) => c.text("ok"));
    return onFetch(app.fetch);
  },
  web() {
    const handler = (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/slow") return new Response(slowBody());
      return new Response("ok", { status: pathname === "/missing" ? 404 : 200 });
    };
    const now = onWeb(inMemory(onRequest))(handler);
    const awaited = onWeb(later(onRequest))(handler);
    return onFetch((request) => (new URL(request.url).pathname === "/later" ? awaited : now)(request));
  },
};

const onFetch = (fetch) => ({ listen: (port, hostname, then) => serve({ fetch, port, hostname }, then) });

async function memory() {
  gc();
  await new Promise(setImmediate);
  gc();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { heap: heapUsed + arrayBuffers, rss, decided };
}

const server = await start[adapter]();
process.on("disconnect", () => process.exit());
process.on("message", async () => process.send(await memory()));
const told = server.listen(0, "127.0.0.1", (address) => process.send((address ?? told.address()).port));
