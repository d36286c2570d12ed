// One small service behind a limit that finds its number, on each framework.
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { serve, type HttpBindings } from "@hono/node-server";
import express from "express";
import { fastify } from "fastify";
import { Hono } from "hono";
import { adaptive, type Adaptive } from "sluice/adaptive";
import { rateLimit as onExpress } from "sluice/express";
import { rateLimit as onFastify } from "sluice/fastify";
import { rateLimit as onHono } from "sluice/hono";
import { rateLimit as onNode } from "sluice/node";
import { ManualClock } from "sluice/testing";
import { rateLimit as onWeb } from "sluice/web";
import { vi } from "vitest";
import { LoadLimit } from "../../src/adaptive/load.js";

/** A time that the limit was told, and whether the answer failed. */
export type Sample = readonly [ms: number, failed: boolean];

/** A limit of two places on a clock that stands still, and what it was told. */
export class World {
  readonly clock = new ManualClock();
  readonly load: Adaptive = adaptive({ least: 1, most: 2, clock: this.clock.now, random: () => 0.5 });
  readonly samples: Sample[] = [];
  /** The times after which clients left without an answer. */
  readonly left: number[] = [];
  /** Responses that have closed. */
  closed = 0;
  /** Requests whose bodies are read. */
  uploads = 0;
  readonly #held: Array<() => void> = [];

  constructor() {
    vi.spyOn(LoadLimit.prototype, "sample").mockImplementation((_now, ms, _entry, failed) => void this.samples.push([ms, failed]));
    vi.spyOn(LoadLimit.prototype, "left").mockImplementation((_now, ms) => void this.left.push(ms));
    vi.spyOn(LoadLimit.prototype, "typicalMs", "get").mockReturnValue(20);
  }

  get waiting(): number {
    return this.#held.length;
  }

  held(): Promise<void> {
    return new Promise((resolve) => this.#held.push(resolve));
  }

  releaseAll(): void {
    for (const release of this.#held.splice(0)) release();
  }

  watch(response: { once(event: "close", listener: () => void): unknown }): void {
    response.once("close", () => (this.closed += 1));
  }

  get options() {
    return { limiter: this.load.limiter, key: () => "service" };
  }
}

interface Tools {
  send(status: number, body: string | null): unknown;
  /** Sends "one", then "two" and the end after `rest`. */
  stream(type: string, rest: Promise<void>): unknown;
}

async function handle(path: string, world: World, tools: Tools): Promise<unknown> {
  world.clock.advance(5);
  if (path === "/slow") await world.held();
  if (path === "/first") return tools.stream("text/plain", world.held());
  if (path === "/events") return tools.stream("text/event-stream", world.held());
  if (path === "/throws") throw new Error("thrown");
  if (path === "/empty") return tools.send(204, null);
  return tools.send({ "/fails": 503, "/refused": 429, "/missing": 404 }[path] ?? 200, "body");
}

interface Raw {
  statusCode: number;
  writeHead(status: number, fields: Record<string, string>): unknown;
  write(text: string): unknown;
  end(text?: string): unknown;
}

const rawTools = (response: Raw): Tools => ({
  send(status, body) {
    response.statusCode = status;
    if (body === null) response.end();
    else response.end(body);
  },
  stream(type, rest) {
    response.writeHead(200, { "Content-Type": type });
    response.write("one");
    void rest.then(() => response.end("two"));
  },
});

const webTools: Tools = {
  send: (status, body) => new Response(body, { status }),
  stream(type, rest) {
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode("one"));
        await rest;
        controller.enqueue(new TextEncoder().encode("two"));
        controller.close();
      },
    });
    return new Response(body, { headers: { "Content-Type": type } });
  },
};

const open: Array<() => unknown> = [];

/** Ends all servers of a test. */
export async function closeAll(): Promise<void> {
  vi.restoreAllMocks();
  for (const close of open.splice(0)) await close();
}

async function portOf(server: Pick<Server, "listen" | "address" | "close"> & { closeAllConnections?(): void }): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", () => resolve()));
  open.push(() => {
    server.close();
    server.closeAllConnections?.();
  });
  return (server.address() as AddressInfo).port;
}

const listener = (world: World, reads?: "read"): RequestListener =>
  onNode(world.options)((request, response) => {
    world.watch(response);
    const begin = (): void => void handle(request.url ?? "", world, rawTools(response)).catch(() => {
      response.statusCode = 500;
      response.end();
    });
    if (!reads || request.method !== "POST") return begin();
    world.uploads += 1;
    text(request).then(begin, () => void response.end());
  });

/** Starts the service, and returns its port. */
export const servers = {
  node: (world: World, reads?: "read") => portOf(createServer(listener(world, reads))),
  express(world: World, reads?: "read") {
    const app = express().set("env", "test");
    app.use(onExpress(world.options));
    app.use((_request, response, next) => (world.watch(response), next()));
    if (reads) app.post("/*all", (_request, _response, next) => (world.uploads += 1, next()), express.text());
    app.use((request, response) => handle(request.path, world, {
      ...rawTools(response),
      send: (status, body) => (body === null ? response.sendStatus(status) : response.status(status).send(body)),
    }));
    return portOf(createServer(app));
  },
  async fastify(world: World, _reads?: "read") {
    const app = fastify({ forceCloseConnections: true });
    await app.register(onFastify, world.options);
    app.addHook("preParsing", (request, reply, payload, next) => {
      world.watch(reply.raw);
      if (request.method === "POST") world.uploads += 1;
      next(null, payload);
    });
    app.all("/*", (request, reply) => handle(request.url, world, {
      send: (status, body) => reply.code(status).send(body ?? undefined),
      stream(type, rest) {
        const body = new PassThrough();
        body.write("one");
        void rest.then(() => body.end("two"));
        return reply.type(type).send(body);
      },
    }));
    open.push(() => app.close());
    return Number(new URL(await app.listen({ port: 0, host: "127.0.0.1" })).port);
  },
  hono(world: World, reads?: "read") {
    const app = new Hono<{ Bindings: HttpBindings }>();
    app.use(onHono(world.options));
    if (reads) {
      app.post("*", (c, next) => {
        world.uploads += 1;
        return c.req.text().then(next, () => c.text("gone", 400));
      });
    }
    app.use((c, next) => (world.watch(c.env.outgoing), next()));
    app.all("*", (c) => handle(c.req.path, world, webTools) as Promise<Response>);
    app.onError((_error, c) => c.text("failed", 500));
    return new Promise<number>((resolve) => {
      const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(port)) as Server;
      open.push(() => {
        server.close();
        server.closeAllConnections();
      });
    });
  },
};

/** The service on HTTP/2. */
export function http2Server(world: World, reads?: "read"): Promise<number> {
  const limited = onNode<import("node:http2").Http2ServerRequest, import("node:http2").Http2ServerResponse>(world.options);
  const server = createHttp2(limited((request, response) => {
    world.watch(response);
    const begin = (): void => void handle(request.url, world, rawTools(response as unknown as Raw));
    if (!reads || request.method !== "POST") return begin();
    world.uploads += 1;
    text(request).then(begin, () => undefined);
  }));
  return portOf(server as unknown as Server);
}

/** The service without a server of Node. */
export const callers = {
  web(world: World) {
    const limited = onWeb(world.options)((request) => handle(new URL(request.url).pathname, world, webTools) as Promise<Response>);
    return async (request: Request) => limited(request);
  },
  hono(world: World) {
    const app = new Hono();
    app.use(onHono(world.options));
    app.all("*", (c) => handle(c.req.path, world, webTools) as Promise<Response>);
    app.onError((_error, c) => c.text("failed", 500));
    return async (request: Request) => app.fetch(request);
  },
};
