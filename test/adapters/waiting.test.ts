import { once } from "node:events";
import { createServer, request as send, Agent, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { connect, constants, createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { connect as connectTo, type AddressInfo, type Server, type Socket } from "node:net";
import { serve } from "@hono/node-server";
import express from "express";
import { fastify } from "fastify";
import { Hono } from "hono";
import { createLimiter, createWaiter, type PlainLimiter, type MemoryStore, type Waiter } from "sluice";
import * as forExpress from "sluice/express";
import * as forFastify from "sluice/fastify";
import * as forHono from "sluice/hono";
import * as forNode from "sluice/node";
import * as forWeb from "sluice/web";
import { afterEach, describe, expect, test } from "vitest";
import { until } from "../helpers/soon.js";

const stops: Array<() => unknown> = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

interface Options {
  readonly limiter: Waiter;
  readonly key: () => string;
}

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stops.push(() => new Promise((resolve) => ((server as Server & { closeAllConnections?(): void }).closeAllConnections?.(), server.close(resolve))));
  return (server.address() as AddressInfo).port;
}

const servers: Record<string, (options: Options) => Promise<number>> = {
  node: (options) => listen(createServer(forNode.rateLimit(options)((_request, response) => response.end("ok")) as RequestListener)),
  express: (options) => listen(createServer(express().use(forExpress.rateLimit(options)).get("/", (_request, response) => void response.send("ok")))),
  async fastify(options) {
    const app = fastify({ forceCloseConnections: true });
    await app.register(forFastify.rateLimit, options);
    app.get("/", () => Promise.resolve("ok"));
    stops.push(() => app.close());
    return Number(new URL(await app.listen({ port: 0, host: "127.0.0.1" })).port);
  },
  async hono(options) {
    const app = new Hono().use(forHono.rateLimit(options)).get("/", (c) => c.text("ok"));
    return serveFetch(app.fetch as (request: Request) => Promise<Response>);
  },
  web: (options) => serveFetch(forWeb.rateLimit(options)(() => new Response("ok")) as (request: Request) => Promise<Response>),
};

async function serveFetch(fetch: (request: Request) => Response | Promise<Response>): Promise<number> {
  const server = serve({ fetch, port: 0, hostname: "127.0.0.1" }) as unknown as Server;
  if (!server.listening) await once(server, "listening");
  stops.push(() => new Promise((resolve) => ((server as Server & { closeAllConnections?(): void }).closeAllConnections?.(), server.close(resolve))));
  return (server.address() as AddressInfo).port;
}

/** A bucket of one token, and options with its waiter. */
function oneToken(everyMs: number): { readonly inner: PlainLimiter<MemoryStore>; readonly options: Options } {
  const inner = createLimiter({ policy: { name: "one", capacity: 1, refill: { tokens: 1, everyMs } } });
  return { inner, options: { limiter: createWaiter(inner, { maxWaitMs: Infinity }), key: () => "ann" } };
}

const HOUR = 3_600_000;

function get(port: number, agent?: Agent): Promise<{ readonly status: number | undefined; readonly remaining: unknown }> {
  return new Promise((resolve, reject) => {
    const request = send({ port, host: "127.0.0.1", agent }, (response) => {
      response.resume().on("end", () => resolve({ status: response.statusCode, remaining: response.headers["ratelimit-remaining"] }));
    });
    request.on("error", reject).end();
  });
}

async function open(port: number): Promise<Socket> {
  const socket = connectTo(port, "127.0.0.1").on("error", () => {});
  stops.push(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

describe.each(Object.keys(servers))("%s", (name) => {
  const start = (options: Options): Promise<number> => (servers[name] as (options: Options) => Promise<number>)(options);

  test("serves requests that wait in order of arrival", async () => {
    const { inner, options } = oneToken(20);
    const port = await start(options);
    inner.consume("ann");
    inner.debit("ann", 5); // none is served before all have come
    const served: number[] = [];
    const all = [];
    for (let i = 0; i < 4; i++) {
      all.push(get(port).then((response) => (served.push(i), response)));
      await until(() => options.limiter.waiting + served.length === i + 1);
    }
    expect(await Promise.all(all)).toEqual(all.map(() => ({ status: 200, remaining: "0" })));
    expect(served).toEqual([0, 1, 2, 3]);
  });

  test("lets a client that disconnects leave the queue, and the next one up", async () => {
    const { inner, options } = oneToken(HOUR);
    const port = await start(options);
    inner.consume("ann");
    const gone = await open(port);
    gone.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await until(() => options.limiter.waiting === 1);
    const stays = await open(port);
    stays.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await until(() => options.limiter.waiting === 2);
    gone.destroy();
    await until(() => options.limiter.waiting === 1);
    stays.destroy();
    await until(() => options.limiter.waiting === 0);
  });
});

test("a kept-alive connection has no listener left after its requests waited", async () => {
  const { options } = oneToken(1);
  const sockets = new Set<Socket>();
  const limited = forNode.rateLimit(options)((_request, response) => response.end("ok"));
  const port = await listen(createServer(limited as RequestListener).on("connection", (socket: Socket) => sockets.add(socket)));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  stops.push(() => agent.destroy());
  await get(port, agent);
  const [socket] = sockets as unknown as [Socket];
  const before = socket.listenerCount("close");
  for (let i = 0; i < 20; i++) expect((await get(port, agent)).status).toBe(200);
  expect([sockets.size, socket.listenerCount("close")]).toEqual([1, before]);
});

test("many requests that wait on one connection add one listener, and all leave when it closes", async () => {
  const { inner, options } = oneToken(HOUR);
  const sockets = new Set<Socket>();
  const limited = forNode.rateLimit(options)((_request, response) => response.end("ok"));
  const port = await listen(createServer(limited as RequestListener).on("connection", (socket: Socket) => sockets.add(socket)));
  inner.consume("ann");
  const client = await open(port);
  await until(() => sockets.size === 1);
  const [socket] = sockets as unknown as [Socket];
  const before = socket.listenerCount("close");
  client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(30));
  await until(() => options.limiter.waiting === 30);
  expect(socket.listenerCount("close")).toBeLessThan(before + 5); // Node adds some of its own
  client.destroy();
  await until(() => options.limiter.waiting === 0);
  await until(() => socket.listenerCount("close") <= before + 1); // Node leaves one
});

test("a stream of HTTP/2 leaves by itself, and the others of its connection stay", async () => {
  const { inner, options } = oneToken(HOUR);
  const limited = forNode.rateLimit<Http2ServerRequest, Http2ServerResponse>(options)((_request, response) => response.end("ok"));
  const server = createHttp2Server((request, response) => void limited(request, response));
  const port = await listen(server);
  inner.consume("ann");
  const session = connect(`http://127.0.0.1:${port}`);
  stops.push(() => session.destroy());
  const [gone, stays] = [session.request({ ":path": "/" }), session.request({ ":path": "/" })];
  for (const stream of [gone, stays]) stream.on("error", () => {});
  await until(() => options.limiter.waiting === 2);
  gone.close(constants.NGHTTP2_CANCEL);
  await until(() => options.limiter.waiting === 1);
  stays.close(constants.NGHTTP2_CANCEL);
  await until(() => options.limiter.waiting === 0);
});

test("a client that disconnected while its key was looked up does not wait", async () => {
  const { inner, options } = oneToken(HOUR);
  inner.consume("ann");
  let find = (_key: string): void => {};
  const asked: Array<[IncomingMessage, ServerResponse]> = [];
  const limited = forNode.rateLimit({ ...options, key: () => new Promise<string>((resolve) => (find = resolve)) })((_request, response) => response.end("ok"));
  const port = await listen(createServer((request, response) => void (asked.push([request, response]), limited(request, response))));
  const client = await open(port);
  client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await until(() => asked.length === 1);
  client.destroy();
  await until(() => asked[0]?.[0].socket.destroyed === true);
  find("ann");
  await until(() => asked[0]?.[1].statusCode === 499);
  expect([asked[0]?.[1].writableEnded, options.limiter.waiting]).toEqual([true, 0]);
});
