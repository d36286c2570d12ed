// Beside a limit in flight: what an answer cost is known only after it has ended, or after its client has left.
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import { fastify } from "fastify";
import { Hono } from "hono";
import { combine, createLimiter, createWaiter, MemoryStore, perMinute, whenDone } from "sluice";
import * as onExpress from "sluice/express";
import * as onFastify from "sluice/fastify";
import * as onHono from "sluice/hono";
import * as onNode from "sluice/node";
import * as onWeb from "sluice/web";
import { expect, onTestFinished, test } from "vitest";
import { soon } from "../helpers/soon.js";

// @hono/node-server replaces the class.
const { Response } = globalThis;

type Report = (cost: never) => void;

/** An answer that was begun. Its handler has returned. */
interface Answer {
  readonly report: Report;
  end(): unknown;
}

/** Options of a limit, and what gets each answer that was begun. */
interface Asked {
  readonly options: never;
  begun(answer: Answer): void;
}

function writing({ begun }: Asked, response: ServerResponse, report: Report): void {
  response.write("one");
  begun({ report, end: () => response.end() });
}

/** A body that is written from outside, after the handler has returned. */
function written({ begun }: Asked, report: Report): ReadableStream<Uint8Array> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  writer.closed.catch(() => {}); // the client has left
  void writer.write(new TextEncoder().encode("one")).catch(() => {});
  begun({ report, end: () => writer.close() });
  return readable;
}

const servers: Record<string, (asked: Asked) => Server | Promise<Server>> = {
  Express: (asked) => createServer(express().use(onExpress.rateLimit(asked.options)).get("/", (request, response) => writing(asked, response, (cost) => onExpress.reportCost(request, cost))) as RequestListener),
  "Express, async": (asked) => createServer(express().use(onExpress.rateLimit(asked.options)).get("/", async (request, response) => {
    writing(asked, response, (cost) => onExpress.reportCost(request, cost));
    await once(response, "never");
  }) as RequestListener),
  Node: (asked) => createServer(onNode.rateLimit(asked.options)((request: IncomingMessage, response: ServerResponse) => writing(asked, response, (cost) => onNode.reportCost(request, cost)))),
  async Fastify(asked) {
    const app = fastify();
    await app.register(onFastify.rateLimit, asked.options);
    app.get("/", (request, reply) => {
      reply.hijack();
      writing(asked, reply.raw, (cost) => onFastify.reportCost(request, cost));
    });
    await app.ready();
    return app.server;
  },
  Hono: (asked) => createAdaptorServer(new Hono().use(onHono.rateLimit(asked.options)).get("/", (c) => c.body(written(asked, (cost) => onHono.reportCost(c, cost))))) as Server,
  web: (asked) => createAdaptorServer({ fetch: onWeb.rateLimit(asked.options)((request: Request) => new Response(written(asked, (cost) => onWeb.reportCost(request, cost)))) }) as Server,
};

const limiters = {
  "one limiter": [(limiter: never): unknown => limiter, "ann", (cost: object): object => cost],
  "a waiter over a combination": [(limiter: never): unknown => createWaiter(combine({ user: limiter })), { user: "ann" }, (cost: object): object => ({ user: cost })],
} as const;

const rows = Object.keys(servers).flatMap((on) => (Object.keys(limiters) as Array<keyof typeof limiters>).flatMap((under) => (["leaves", "has it all"] as const).map((client) => [on, under, client] as const)));

test.each(rows)("L21 · %s, under %s: a report that comes when the client %s is settled, once", async (on, under, client) => {
  const limiter = createLimiter({
    policy: { name: "chat", limits: [{ name: "tokens", capacity: 60_000, refill: perMinute(60), cost: 4_000 }, { name: "parallel", capacity: 5, returns: whenDone() }] },
    store: new MemoryStore({ clock: () => 1_000_000 }),
  });
  const charged = (): unknown => limiter.peek("ann", 0).limits?.map(({ capacity, remaining }) => capacity - remaining);
  const [make, key, costOf] = limiters[under];
  const answers: Answer[] = [];
  const server = await (servers[on] as (typeof servers)[string])({ options: { limiter: make(limiter as never), key: () => key } as never, begun: (answer) => answers.push(answer) });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void (server.closeAllConnections(), server.close()));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await once(socket, "data");
  expect(charged()).toEqual([4_000, 1]);
  const [{ report, end }] = answers as [Answer];
  if (client === "leaves") socket.destroy();
  else void end();
  await soon(() => expect(charged()).toEqual([4_000, 0]));
  report(costOf({ tokens: 100 }) as never);
  report(costOf({ tokens: 0 }) as never);
  await soon(() => expect(charged()).toEqual([100, 0]));
});
