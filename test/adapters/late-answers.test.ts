// `respond` that answers nothing within `functionTimeoutMs`: one standard document, a warning, and no second answer.
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { connect, type AddressInfo, type Server } from "node:net";
import { getRequestListener } from "@hono/node-server";
import express, { type Response as ExpressResponse } from "express";
import express4 from "express4";
import { fastify } from "fastify";
import { fastify as fastify4 } from "fastify4";
import { Hono } from "hono";
import * as forExpress from "sluice/express";
import * as forFastify from "sluice/fastify";
import * as forHono from "sluice/hono";
import * as forNode from "sluice/node";
import * as forWeb from "sluice/web";
import { describe, expect, onTestFinished, test } from "vitest";
import { expectWarnings } from "../setup/warnings.js";
import { oneToken } from "./setup.js";

/** Keeps how each refused request can still be answered, when it is too late. */
class Late {
  readonly #answers: (() => unknown)[] = [];
  /** The `respond` of a framework whose response can be written at any time. */
  readonly keep = (answer: () => unknown): void => void this.#answers.push(answer);
  /** The `respond` of a framework that returns a response: one that comes too late, or fails too late. */
  readonly promise = (make: () => Response): Promise<Response> => new Promise((resolve, reject) => {
    this.#answers.push(() => resolve(make()), () => reject(new Error("late")));
  });
  async answer(): Promise<void> {
    expect(this.#answers.length).toBeGreaterThan(0);
    for (const answer of this.#answers.splice(0)) expect(answer).not.toThrow();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const limits = () => ({ ...oneToken(), key: () => "ann", functionTimeoutMs: 20 });

const servers: Readonly<Record<string, (late: Late) => Server | Promise<Server>>> = {
  ...Object.fromEntries(Object.entries({ "Express 5": express, "Express 4": express4 as unknown as typeof express }).map(([name, make]) => [name, (late: Late) => {
    const app = make().set("env", "test");
    app.use(forExpress.rateLimit({ ...limits(), respond: (_refusal, _request, response: ExpressResponse) => late.keep(() => response.status(200).set("X-Late", "yes").send("late")) }));
    app.get("/", (_request, response) => void response.send("ok"));
    return createServer(app);
  }])),
  ...Object.fromEntries(Object.entries({ "Fastify 5": fastify, "Fastify 4": fastify4 as unknown as typeof fastify }).map(([name, make]) => [name, async (late: Late) => {
    const app = make();
    await app.register(forFastify.rateLimit, { ...limits(), respond: (_refusal, _request, reply) => late.keep(() => reply.code(200).header("X-Late", "yes").send("late")) });
    app.get("/", async () => "ok");
    await app.ready();
    return app.server;
  }])),
  "Fastify, on the raw response": async (late) => {
    const app = fastify();
    await app.register(forFastify.rateLimit, { ...limits(), respond: (_refusal, _request, reply) => late.keep(() => reply.raw.writeHead(200).end("late")) });
    app.get("/", async () => "ok");
    await app.ready();
    return app.server;
  },
  Node: (late) => createServer(forNode.rateLimit({ ...limits(), respond: (_refusal, _request, response: ServerResponse) => late.keep(() => response.writeHead(200, { "X-Late": "yes" }).end("late")) })((_request, response) => response.end("ok"))),
  "Node, in a promise": (late) => createServer(forNode.rateLimit({ ...limits(), respond: () => late.promise(() => new Response("late")) })((_request, response) => response.end("ok"))),
  Hono: (late) => {
    const app = new Hono();
    app.use(forHono.rateLimit({ ...limits(), respond: (_refusal, c) => late.promise(() => c.text("late", 200)) }));
    app.get("/", (c) => c.text("ok"));
    return createServer(getRequestListener(app.fetch));
  },
  web: (late) => createServer(getRequestListener(forWeb.rateLimit({ ...limits(), respond: () => late.promise(() => new Response("late")) })(() => new Response("ok")))),
};

describe.each(Object.entries(servers))("%s", (_, serve) => {
  test("L17 · `respond` that answers nothing sends the standard document once, and a late answer is dropped", async () => {
    expectWarnings("SLUICE_FUNCTION_FAILED: `respond` failed");
    const late = new Late();
    const server = await serve(late);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").setEncoding("utf8");
    onTestFinished(() => (socket.destroy(), void server.close()));
    let wire = "";
    socket.on("data", (piece) => (wire += String(piece)));
    const statuses = (): string[] => [...wire.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => String(status));
    const ask = async (count: number): Promise<void> => {
      socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
      await expect.poll(() => statuses().length).toBe(count);
    };
    await ask(1);
    await ask(2);
    await late.answer();
    // The next answers on this connection belong to the next requests.
    await ask(3);
    await late.answer();
    await ask(4);
    expect(statuses()).toEqual(["200", "429", "429", "429"]);
    expect(wire.match(/"code":"rate_limited"/g)).toHaveLength(3);
    expect(wire.toLowerCase()).not.toMatch(/\blate\b/);
  });
});

test("L17 · HTTP/2: `respond` that answers nothing sends the standard document once, and a late answer is dropped", async () => {
  expectWarnings("SLUICE_FUNCTION_FAILED: `respond` failed");
  const late = new Late();
  const limited = forNode.rateLimit<Http2ServerRequest, Http2ServerResponse>({ ...limits(), respond: (_refusal, _request, response) => late.keep(() => (response.writeHead(200, { "x-late": "yes" }), response.end("late"))) });
  const server = createHttp2Server(limited((_request, response) => response.end("ok")) as never).listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => (client.close(), void server.close()));
  const ask = async (): Promise<unknown[]> => {
    const stream = client.request({ ":path": "/" }).setEncoding("utf8");
    const answers: unknown[] = [];
    let text = "";
    stream.on("response", (headers) => answers.push(headers[":status"])).on("data", (piece) => (text += String(piece)));
    await once(stream, "end");
    return [...answers, text.includes("rate_limited")];
  };
  expect(await ask()).toEqual([200, false]);
  for (let i = 0; i < 2; i++) {
    expect(await ask()).toEqual([429, true]);
    await late.answer();
  }
});
