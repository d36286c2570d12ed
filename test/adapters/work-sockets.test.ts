// The end of work on Node: with the response, or with its connection. The adapter suite has the cases that every adapter shares.
import { EventEmitter, once } from "node:events";
import { createServer, IncomingMessage, ServerResponse, type Server } from "node:http";
import { connect as connect2, createServer as createServer2, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { connect, type AddressInfo, type Socket } from "node:net";
import express from "express";
import express4 from "express4";
import { fastify } from "fastify";
import { fastify as fastify4 } from "fastify4";
import { createLimiter, MemoryStore, whenDone } from "sluice";
import { rateLimit as onExpress } from "sluice/express";
import { rateLimit as onFastify } from "sluice/fastify";
import type { Outcome } from "sluice/http";
import { rateLimit as onNode } from "sluice/node";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { soon } from "../helpers/soon.js";
import { compressEnd } from "./rows/outer.js";

const CAPACITY = 20;
const SENT = { status: 200, aborted: false };
const LEFT = { status: 499, aborted: true };

/** A limit of twenty in flight, and the outcomes of its requests. */
function twenty() {
  const limiter = createLimiter({ policy: { name: "parallel", capacity: CAPACITY, returns: whenDone() }, store: new MemoryStore() });
  const outcomes: Outcome[] = [];
  return { options: { limiter, key: () => "ann", actualCost: (outcome: Outcome) => void outcomes.push(outcome) }, outcomes, left: () => limiter.peek("ann", 0).remaining };
}

async function portOf(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void (server.closeAllConnections(), server.close()));
  return (server.address() as AddressInfo).port;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

describe("on a connection", () => {
  /** A server on which `/slow` waits, and a connection to it. */
  async function start(answer: (request: IncomingMessage, response: ServerResponse) => unknown = (_request, response) => response.end("ok")) {
    const { options, outcomes, left } = twenty();
    let entered = 0;
    let finish = (): void => {};
    const limited = onNode(options)((request, response) => ((entered += 1), answer(request, response)));
    const server = createServer((request, response) => void (request.url === "/slow" ? (finish = () => response.end("slow")) : limited(request, response)));
    const sockets: Socket[] = [];
    let idle = 0;
    server.on("connection", (socket) => {
      sockets.push(socket);
      idle = socket.listenerCount("close");
    });
    const client = connect(await portOf(server), "127.0.0.1").on("error", () => {});
    let text = "";
    client.setEncoding("utf8").on("data", (more: string) => (text += more));
    const wait = (holds: () => boolean) => soon(() => expect(holds()).toBe(true));
    return { client, outcomes, left, wait, socket: () => sockets[0] as Socket, idle: () => idle, entered: () => entered, finish: () => finish(), text: () => text };
  }

  test("L21 · pipelined requests that were answered and not sent are at work until they are, or their client leaves", async () => {
    const sent = await start();
    sent.client.write(get("/slow") + get("/").repeat(15));
    await sent.wait(() => sent.entered() === 15);
    await new Promise(setImmediate);
    expect([sent.left(), sent.outcomes]).toEqual([CAPACITY - 15, []]);
    sent.finish();
    await sent.wait(() => sent.outcomes.length === 15);
    expect([sent.left(), sent.outcomes]).toEqual([CAPACITY, Array(15).fill(SENT)]);

    const gone = await start();
    gone.client.write(get("/slow") + get("/").repeat(15));
    await gone.wait(() => gone.entered() === 15);
    gone.client.destroy();
    await gone.wait(() => gone.outcomes.length === 15);
    gone.finish();
    await new Promise(setImmediate);
    expect([gone.left(), gone.outcomes]).toEqual([CAPACITY, Array(15).fill(LEFT)]);
  });

  test("L12 · a connection has one listener for all its requests, and none when their responses have closed", async () => {
    const { client, socket, idle, wait, entered, finish, outcomes } = await start();
    client.write(get("/slow"));
    await wait(() => socket() !== undefined && socket().bytesRead > 0);
    client.write(get("/").repeat(15));
    await wait(() => entered() === 15);
    // One of Node for the response that is written, and one of the limit.
    expect(socket().listenerCount("close")).toBe(idle() + 2);
    finish();
    await wait(() => outcomes.length === 15);
    await new Promise(setImmediate);
    expect(socket().listenerCount("close")).toBe(idle());
    client.write(get("/"));
    await wait(() => outcomes.length === 16);
    await new Promise(setImmediate);
    expect(socket().listenerCount("close")).toBe(idle());
  });

  // The handler waits for an event that never comes, such as "drain" after the last byte was sent. Time passes only when the test says so.
  test.each(["node", "fastify", "HTTP/2"])("L21 · %s: a handler that never ends after its answer gives its token back soon after its client has left", async (on) => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const staleAfterMs = 12_170 + on.length; // a time, and so a beat, of its own
    const limiter = createLimiter({ policy: { name: "parallel", capacity: 1, returns: whenDone({ staleAfterMs }) }, store: new MemoryStore() });
    const outcomes: Outcome[] = [];
    const options = { limiter, key: () => "ann", actualCost: (outcome: Outcome) => void outcomes.push(outcome) };
    const forever = new Promise<void>(() => {});
    let client: { destroy(): unknown };
    let left: Promise<unknown>; // as the server sees it
    if (on === "HTTP/2") {
      const server = createServer2(onNode<Http2ServerRequest, Http2ServerResponse>(options)((_request, response) => (response.end("hello"), forever))).listen(0, "127.0.0.1");
      await once(server, "listening");
      onTestFinished(() => void server.close());
      left = once(server, "session").then(([session]) => once(session as EventEmitter, "close"));
      const session = connect2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      await once(session.request({ ":path": "/" }).resume(), "end");
      client = session;
    } else {
      let server = createServer(onNode(options)((_request, response) => (response.end("hello"), forever)));
      if (on === "fastify") {
        const app = fastify();
        await app.register(onFastify, options);
        app.get("/", (_request, reply) => (reply.send("hello"), forever as never));
        await app.ready();
        server = app.server;
      }
      left = once(server, "connection").then(([socket]) => once(socket as EventEmitter, "close"));
      const socket = connect(await portOf(server), "127.0.0.1").on("error", () => {});
      socket.write(get("/"));
      await once(socket, "data");
      client = socket;
    }
    await vi.advanceTimersByTimeAsync(10 * staleAfterMs);
    expect([limiter.peek("ann").remaining, outcomes]).toEqual([0, []]);
    client.destroy();
    await left;
    await vi.advanceTimersByTimeAsync(4 * staleAfterMs);
    expect([limiter.peek("ann").remaining, outcomes]).toEqual([1, [SENT]]);
  });

  test("L21 · a handler that takes the connection for itself holds its token until it closes", async () => {
    const { client, left, outcomes, wait, text } = await start((request, response) => {
      response.detachSocket(request.socket);
      request.socket.write("mine");
    });
    client.write(get("/"));
    await wait(() => text() === "mine");
    expect([left(), outcomes]).toEqual([CAPACITY - 1, []]);
    client.end();
    client.destroy();
    await wait(() => outcomes.length === 1);
    expect([left(), outcomes]).toEqual([CAPACITY, [LEFT]]);
  });

  test("L21 · a stream of events holds its token until its client leaves", async () => {
    const { client, left, outcomes, wait, text } = await start((_request, response) => response.writeHead(200).write("data: 1\n\n"));
    client.write(get("/"));
    await wait(() => text().includes("data: 1"));
    expect([left(), outcomes]).toEqual([CAPACITY - 1, []]);
    client.destroy();
    await wait(() => outcomes.length === 1);
    expect([left(), outcomes]).toEqual([CAPACITY, [LEFT]]);
  });

  test("L21 · over HTTP/2 each stream is at work by itself", async () => {
    const { options, outcomes, left } = twenty();
    const open: Http2ServerResponse[] = [];
    const limited = onNode<Http2ServerRequest, Http2ServerResponse>(options)((_request, response) => void open.push(response));
    const server = createServer2(limited).listen(0, "127.0.0.1");
    await once(server, "listening");
    const session = connect2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(() => void (session.destroy(), server.close()));
    const streams = Array.from({ length: 12 }, () => session.request({ ":path": "/" }).on("error", () => {}).resume());
    await soon(() => expect(open).toHaveLength(12));
    streams[0]?.close(8); // CANCEL
    await soon(() => expect([left(), outcomes]).toEqual([CAPACITY - 11, [LEFT]]));
    open[1]?.end("ok");
    await soon(() => expect([left(), outcomes]).toEqual([CAPACITY - 10, [LEFT, SENT]]));
    session.destroy();
    await soon(() => expect([left(), outcomes.length]).toEqual([CAPACITY, 12]));
    expect(outcomes.slice(2)).toEqual(Array(10).fill(LEFT));
  });
});

describe("without a server", () => {
  /** The request and the response of a platform that calls the app itself. */
  interface Shim {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
  }
  const shim = (socket: unknown): Shim => {
    const request = Object.assign(new IncomingMessage(socket as Socket), { method: "GET", url: "/", httpVersion: "1.1", httpVersionMajor: 1, httpVersionMinor: 1, headers: { host: "a" } });
    return { request, response: new ServerResponse(request) };
  };
  const plain = { remoteAddress: "127.0.0.1", end() {}, destroy() {} };
  const writing = () => ({ _writableState: {}, writable: true, on() {}, removeListener() {}, destroy() {}, cork() {}, uncork() {}, write: (_text: string, _encoding: string, done?: () => void) => (done?.(), true) });

  const shims: Record<string, () => Shim> = {
    "a connection that emits no event": () => shim(plain),
    "no connection at all": () => shim(undefined),
    "a connection that never closes": () => shim(new EventEmitter()),
    "a response with another connection": () => {
      const made = shim(plain);
      made.response.assignSocket(writing() as never);
      return made;
    },
    "an `end` that sends later": () => {
      const made = shim(plain);
      compressEnd(made.response);
      return made;
    },
  };
  type Handle = (request: IncomingMessage, response: ServerResponse) => unknown;
  const frameworks: Record<string, (options: ReturnType<typeof twenty>["options"]) => Handle | Promise<Handle>> = {
    Node: (options) => onNode(options)((_request, response) => response.end("ok")),
    "Express 5": (options) => express().use(onExpress(options)).get("/", (_request, response) => void response.end("ok")) as unknown as Handle,
    "Express 4": (options) => (express4 as unknown as typeof express)().use(onExpress(options)).get("/", (_request, response) => void response.end("ok")) as unknown as Handle,
    async "Fastify 5"(options) {
      const app = fastify();
      await app.register(onFastify, options);
      app.get("/", async () => "ok");
      await app.ready();
      return app.routing;
    },
    async "Fastify 4"(options) {
      const app = (fastify4 as unknown as typeof fastify)();
      await app.register(onFastify, options);
      app.get("/", async () => "ok");
      await app.ready();
      return app.routing;
    },
  };
  const rows = Object.keys(frameworks).flatMap((name) => Object.keys(shims).map((what) => [name, what] as const));

  test.each(rows)("L21 · the work of %s ends when its response has ended: %s", async (name, what) => {
    const { options, outcomes, left } = twenty();
    const handle = await frameworks[name]?.(options);
    const { request, response } = (shims[what] as () => Shim)();
    handle?.(request, response);
    await soon(() => expect([left(), outcomes]).toEqual([CAPACITY, [SENT]]));
  });

  test("L21 · without a connection, a response that has not ended is at work", async () => {
    const { options, outcomes, left } = twenty();
    const { request, response } = shim(undefined);
    let finish = (): void => {};
    onNode(options)((_request, own) => void (finish = () => own.end("ok")))(request, response);
    await new Promise(setImmediate);
    expect([left(), outcomes]).toEqual([CAPACITY - 1, []]);
    finish();
    await soon(() => expect([left(), outcomes]).toEqual([CAPACITY, [SENT]]));
  });

  test.each([["Fastify 5", fastify], ["Fastify 4", fastify4 as unknown as typeof fastify]] as const)("L21 · the work of a request by `inject` ends with its status: %s", async (_name, framework) => {
    const { options, outcomes, left } = twenty();
    const app = framework();
    await app.register(onFastify, options);
    app.get("/", async (_request, reply) => reply.code(201).send("ok"));
    expect((await app.inject("/")).statusCode).toBe(201);
    await soon(() => expect([left(), outcomes]).toEqual([CAPACITY, [{ status: 201, aborted: false }]]));
  });
});
