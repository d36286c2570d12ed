// An adapter in the place of another: the request must fail with the cure, and never hang.
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import express4 from "express4";
import fastify from "fastify";
import fastify4 from "fastify4";
import { Hono } from "hono";
import { perSecond } from "sluice";
import * as forExpress from "sluice/express";
import * as forFastify from "sluice/fastify";
import * as forHono from "sluice/hono";
import * as forNode from "sluice/node";
import * as forWeb from "sluice/web";
import { describe, expect, test } from "vitest";

const options = { policy: { capacity: 5, refill: perSecond(1) }, key: () => "ann" };

/** What each adapter makes, and what it is before it is called. */
const wrong: Record<string, unknown> = {
  "node's": forNode.rateLimit(options),
  "web's": forWeb.rateLimit(options),
  "express's": forExpress.rateLimit(options),
  "hono's": forHono.rateLimit(options),
  "node's without a call": forNode.rateLimit,
  "web's without a call": forWeb.rateLimit,
  "express's without a call": forExpress.rateLimit,
  "hono's without a call": forHono.rateLimit,
  "express's with defaults, without a call": forExpress.rateLimit.with({ key: () => "ann" }),
  "fastify's without a call": forFastify.rateLimit,
};

/** The servers of each framework, with something mounted, that answer with the message of an error. */
const frameworks: Record<string, { entry: string; serve: (mounted: never) => Server | Promise<Server> }> = {
  "Express 5": { entry: "express", serve: (mounted) => createServer(messagesOf(express().use(mounted))) },
  "Express 4": { entry: "express", serve: (mounted) => createServer(messagesOf(express4().use(mounted) as unknown as express.Express)) },
  Hono: {
    entry: "hono",
    serve: (mounted) => createServer(getRequestListener(new Hono().use(mounted).get("/", (c) => c.text("ok")).onError((error, c) => c.text(error.message, 500)).fetch)),
  },
  "Fastify 5": {
    entry: "fastify",
    async serve(mounted) {
      const app = fastify();
      app.addHook("onRequest", mounted);
      app.get("/", async () => "ok");
      await app.ready();
      return app.server;
    },
  },
  "Fastify 4": {
    entry: "fastify",
    async serve(mounted) {
      const app = fastify4();
      app.addHook("onRequest", mounted);
      app.get("/", async () => "ok");
      await app.ready();
      return app.server;
    },
  },
};

function messagesOf(app: express.Express): express.Express {
  app.get("/", (_request, response) => void response.send("ok"));
  app.use(((error: Error, _request, response, _next) => void response.status(500).send(error.message)) as express.ErrorRequestHandler);
  return app;
}

async function ask(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    return `${response.status} ${await response.text()}`;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe.each(Object.entries(frameworks))("in %s", (_, { entry, serve }) => {
  const others = Object.entries(wrong).filter(([name]) => !name.startsWith(`${entry}'s`) || (name.endsWith("call") && entry !== "fastify"));

  test.each(others)("%s fails the request, and names the entry", async (_name, mounted) => {
    const text = await ask(await serve(mounted as never));
    expect(text).toMatch(/^500 /);
    expect(text).toContain(`sluice/${entry}`);
  });
});

describe("to Node's server", () => {
  // An error of a listener ends the process, so the listener is called by hand.
  const asked = { headers: {}, socket: {}, method: "GET" };
  const answered = { setHeader: () => undefined };
  const listeners = ["express's", "hono's", "express's without a call", "node's without a call"];

  test.each(listeners)("%s throws, and names the entry", (name) => {
    const listener = wrong[name] as (request: object, response: object) => unknown;
    expect(() => listener(asked, answered)).toThrow(/"sluice\/node"$/);
  });
});

describe("to a web-standard server", () => {
  test.each(["express's", "hono's", "web's without a call"])("%s throws, and names the entry", (name) => {
    const handler = wrong[name] as (request: Request) => unknown;
    expect(() => handler(new Request("http://localhost/"))).toThrow(/"sluice\/web"$/);
  });
});

test("each message says what was expected, what came, and the cure", () => {
  const request = Object.assign(Object.create({ headers: {} }), { app: () => undefined }) as never;
  expect(() => call(forNode.rateLimit(options), request, answerOf(), () => undefined)).toThrow(
    new TypeError('Expected `listener` to be a function of the request and the response, got an object. Express called it: import { rateLimit } from "sluice/express"'),
  );
  expect(() => call(forExpress.rateLimit, request, answerOf(), () => undefined)).toThrow(
    new TypeError('Expected `rateLimit` to be called with options, got a call of Express. Write `rateLimit({ policy, key })`, from "sluice/express"'),
  );
});

const call = (made: unknown, ...args: readonly unknown[]): unknown => (made as (...given: readonly unknown[]) => unknown)(...args);
const answerOf = () => ({ setHeader: () => undefined });

test("Fastify's plugin that is called like middleware says to register it", () => {
  expect(() => forFastify.rateLimit(options as never, undefined as never)).toThrow(
    new TypeError("Expected `app` to be an instance of Fastify, got an object. Write `await app.register(rateLimit, { policy, key })`"),
  );
});

test("middleware that is registered with Fastify says to register the plugin", async () => {
  const app = fastify();
  for (const { rateLimit } of [forExpress, forHono, forNode, forWeb]) {
    expect(() => call(rateLimit, app)).toThrow(
      new TypeError('Expected `rateLimit` to be called with options, got a call of Fastify. Write `await app.register(rateLimit, { policy, key })`, from "sluice/fastify"'),
    );
  }
  await app.close();
});
