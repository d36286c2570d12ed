// Law L17: what `respond` sends or returns, but no server can send. The adapter suite has a case of each for every adapter.
// Here: with hooks that delay a response, in callbacks, and under load.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import express4 from "express4";
import { fastify, type FastifyInstance } from "fastify";
import { fastify as fastify4 } from "fastify4";
import { Hono } from "hono";
import * as forExpress from "sluice/express";
import * as forFastify from "sluice/fastify";
import * as forHono from "sluice/hono";
import * as forNode from "sluice/node";
import * as forWeb from "sluice/web";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen } from "./rows/listen.js";
import { oneToken } from "./setup.js";
import { expectWarnings } from "../setup/warnings.js";

// @hono/node-server replaces the class.
const { Response } = globalThis;
const limits = () => ({ ...oneToken(), key: () => "ann", functionTimeoutMs: 100 });

const standard = [429, "1", "no-store", expect.stringContaining('"code":"rate_limited"')];

async function seen(response: Response): Promise<unknown[]> {
  return [response.status, response.headers.get("retry-after"), response.headers.get("cache-control"), await response.text()];
}

/** Starts a server that runs until the end of the test. Returns its port. */
async function portOf(server: Server): Promise<number> {
  const running = await listen(server);
  onTestFinished(() => void running.close());
  return running.port;
}

/** All bytes that follow the head of the answer to a refused request, also those beyond its Content-Length. */
async function bytesAfterHead(server: Server): Promise<string> {
  const port = await portOf(server);
  await (await fetch(`http://127.0.0.1:${port}/`)).text();
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  let text = "";
  for await (const piece of socket) text += piece as string;
  return text.slice(text.indexOf("\r\n\r\n") + 4);
}

/** Starts a server and takes its one token. Returns a function that is refused. */
async function refusing(server: Server): Promise<() => Promise<unknown[]>> {
  const port = await portOf(server);
  const ask = async (): Promise<unknown[]> => seen(await fetch(`http://127.0.0.1:${port}/`));
  await ask();
  return ask;
}

async function usedResponse(): Promise<Response> {
  const used = new Response("slow down", { status: 429 });
  await used.text();
  return used;
}

describe.each<[name: string, open: (respond: (response: ServerResponse) => unknown) => Server]>([
  ["Node", (respond) => createServer(forNode.rateLimit({ ...limits(), respond: (_refusal, _request: IncomingMessage, response: ServerResponse) => respond(response) })((_request, response) => response.end("ok")))],
  ...[express, express4 as unknown as typeof express].map((framework, i): [string, (respond: (response: ServerResponse) => unknown) => Server] => [`Express ${5 - i}`, (respond) => {
    const app = framework().set("env", "test");
    app.use(forExpress.rateLimit({ ...limits(), respond: (_refusal, _request, response) => respond(response) }));
    app.get("/", (_request, response) => void response.send("ok"));
    return createServer(app);
  }]),
])("%s", (_, open) => {
  const send: [how: string, respond: (response: ServerResponse, status: number) => unknown][] = [
    ["by writeHead", (response, status) => response.writeHead(status, { "X-Own": "yes" }).end("x")],
    ["by `statusCode` and end", (response, status) => ((response.statusCode = status), response.end("x"))],
    ["by `statusCode` and write", (response, status) => ((response.statusCode = status), response.write("x"), response.end("y"))],
  ];
  test.each(send)("L17 · a status that is none, or a 1xx, sent %s, leaves the standard document", async (__, respond) => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    let run = (_response: ServerResponse): unknown => undefined;
    const ask = await refusing(open((response) => run(response)));
    for (const status of [0, 99, 101, 103, 199, 1_000]) {
      run = (response) => respond(response, status);
      expect(await ask()).toEqual(standard);
      // An exception in a callback would end the process.
      run = (response) => void setImmediate(respond, response, status);
      expect(await ask()).toEqual(standard);
    }
  });

  test.each(send)("L17 · nothing follows that document when the status was sent %s", async (__, respond) => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    expect(await bytesAfterHead(open((response) => respond(response, 101)))).toMatch(/^\{"type":[^\n]*"code":"rate_limited"[^\n]*\}$/);
  });

  test("L17 · an Early Hints response before the refusal is allowed", async () => {
    const ask = await refusing(open((response) => (response.writeEarlyHints({ link: "</style.css>; rel=preload; as=style" }), response.end("slow down"))));
    expect(await ask()).toEqual([429, "1", "no-store", "slow down"]);
  });
});

describe.each([
  ["Fastify 5", fastify],
  ["Fastify 4", fastify4 as unknown as typeof fastify],
])("%s with an asynchronous `onSend` hook", (_, framework) => {
  type Respond = NonNullable<forFastify.FastifyRateLimitOptions["respond"]>;

  async function open(respond: Respond): Promise<FastifyInstance> {
    const app = framework();
    app.addHook("onSend", async (_request, _reply, payload) => (await new Promise((resolve) => setImmediate(resolve)), payload));
    await app.register(forFastify.rateLimit, { ...limits(), respond });
    app.get("/", async () => "ok");
    onTestFinished(() => app.close());
    await app.listen({ port: 0, host: "127.0.0.1" });
    await ask(app);
    return app;
  }
  const ask = async (app: FastifyInstance) => seen(await fetch(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}/`));

  test.each<[what: string, respond: Respond]>([
    ["returned", () => usedResponse()],
    ["sent", async (_refusal, _request, reply) => void reply.send(await usedResponse())],
    ["sent in a turn of its own", async (_refusal, _request, reply) => (await new Promise((resolve) => setImmediate(resolve)), reply.send(await usedResponse()))],
    ["locked and returned", () => {
      const response = new Response("slow down");
      response.body?.getReader();
      return response;
    }],
    ["a network error", () => Response.error()],
    ["a 101", (_refusal, _request, reply) => reply.code(101).send("x")],
  ])("L17 · a Response that cannot be sent, %s, leaves the standard document", async (__, respond) => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    expect(await ask(await open(respond))).toEqual(standard);
  });

  test("a Response is sent, with the fields of the limit", async () => {
    expect(await ask(await open(() => new Response("slow down", { status: 420 })))).toEqual([420, "1", "no-store", "slow down"]);
  });
});

describe("Hono on @hono/node-server", () => {
  const open = (respond: () => globalThis.Response | Promise<globalThis.Response>) => {
    const app = new Hono();
    app.use(forHono.rateLimit({ ...limits(), respond }));
    app.get("/", (c) => c.text("ok"));
    return refusing(createAdaptorServer({ fetch: app.fetch }) as Server);
  };

  test("L17 · one Response for all requests is sent once, to callers one after another and at once", async () => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    const own = [420, "1", "no-store", "slow down"];
    const one = new Response("slow down", { status: 420 });
    const ask = await open(() => one);
    expect([await ask(), await ask(), await ask()]).toEqual([own, standard, standard]);

    const other = new Response("slow down", { status: 420 });
    const askOther = await open(() => other);
    const all = await Promise.all(Array.from({ length: 8 }, () => askOther()));
    expect(all.filter(([status]) => status === 420)).toEqual([own]);
    expect(all.filter(([status]) => status !== 420)).toEqual(Array.from({ length: 7 }, () => standard));
  });

  test("a Response without a body may be one for all requests", async () => {
    const one = new Response(null, { status: 420 });
    const ask = await open(() => one);
    expect([await ask(), await ask()]).toEqual([[420, "1", "no-store", ""], [420, "1", "no-store", ""]]);
  });

  test("L17 · an object that has the members of a Response, with a status that is none, leaves the standard document", async () => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    for (const status of [0, 99, 101, 199, 600, Number.NaN]) {
      expect(await (await open(() => Object.assign(Object.create({}) as object, { status, headers: new Headers(), body: null }) as globalThis.Response))()).toEqual(standard);
    }
  });
});

test("L17 · web: a Response that two requests get before either is sent is sent once", async () => {
  expectWarnings("SLUICE_FUNCTION_FAILED");
  const one = new Response("slow down", { status: 420 });
  const limited = forWeb.rateLimit({ ...limits(), respond: () => one })(() => new Response("ok"));
  const [, ...responses] = await Promise.all(Array.from({ length: 4 }, async () => limited(new Request("http://localhost/"))));
  expect(await Promise.all(responses.map(seen))).toEqual([[420, "1", "no-store", "slow down"], standard, standard]);
});
