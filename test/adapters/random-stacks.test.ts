// Random stacks of one to four gates under random clients, seeded. Each request gets one answer, its handler runs at most once
// and only if all gates let it, and in the end no token in flight is missing.
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import express4 from "express4";
import { fastify, type FastifyReply, type FastifyRequest } from "fastify";
import { fastify as fastify4 } from "fastify4";
import { Hono } from "hono";
import { createAdaptorServer as createAdaptorServer1 } from "hono-node-server-1";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { createLimiter, MemoryStore, perMinute, silenceWarnings, whenDone, type Limiter } from "sluice";
import { rateLimit as onExpress, reportCost } from "sluice/express";
import { rateLimit as onFastify } from "sluice/fastify";
import { rateLimit as onHono } from "sluice/hono";
import { rateLimit as onNode } from "sluice/node";
import { guard, LIMIT_KINDS, type AsyncStore } from "sluice/store";
import { expect, onTestFinished, test } from "vitest";
import { soon } from "../helpers/soon.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";

silenceWarnings("SLUICE_FUNCTION_FAILED");

const STACKS = 6;
const REQUESTS = 20;
const HANDLERS = ["ok", "fail", "stream", "slow", "never"] as const;
const CLIENTS = ["get", "get", "get", "HEAD", "OPTIONS", "preflight", "post", "slow post", "expect", "gone", "gone soon", "half", "pipelined"] as const;

type Handler = (typeof HANDLERS)[number];
type Client = (typeof CLIENTS)[number];
type Random = () => number;
type Pick = <T>(list: readonly T[]) => T;

interface Stack {
  readonly random: Random;
  readonly pick: Pick;
  readonly gates: ReadonlyArray<{ readonly options: Record<string, unknown>; readonly limiter: Limiter }>;
  /** Called in the handler of a request. Returns what the handler does. */
  ran(id: string | undefined): Handler;
}

const servers: Record<string, (stack: Stack) => Promise<Server>> = {
  Node: async ({ gates, ran }) => {
    const handler = async (request: IncomingMessage, response: ServerResponse): Promise<void> => answer(response, ran(request.headers["x-id"] as string));
    const limited = gates.reduceRight((inner, { options }) => onNode(options as never)(inner as never) as typeof handler, handler);
    return createServer((request, response) => void Promise.resolve(limited(request, response)).catch(() => response.destroy()));
  },
  "Express 5": (stack) => expressServer(express, stack),
  "Express 4": (stack) => expressServer(express4 as unknown as typeof express, stack),
  "Fastify 5": (stack) => fastifyServer(fastify, stack),
  "Fastify 4": (stack) => fastifyServer(fastify4 as unknown as typeof fastify, stack),
  "Hono on @hono/node-server 2": async (stack) => createAdaptorServer({ fetch: honoOf(stack).fetch }) as Server,
  "Hono on @hono/node-server 1": async (stack) => createAdaptorServer1({ fetch: honoOf(stack).fetch }) as Server,
};
const rows = Object.keys(servers).flatMap((name, i) => Array.from({ length: STACKS }, (_, j) => [name, i * STACKS + j] as const));

test.each(rows)("L18, L21 · every request of a random stack is answered once, and no token in flight stays: %s, %i", async (name, number) => {
  const random = seeded(Number(process.env["FC_SEED"]) + 7919 * number);
  const pick: Pick = (list) => list[Math.floor(random() * list.length)] as never;
  const runs = new Map<string, number>();
  const asked = new Map<string, Handler>();
  const gates = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, i) => gateOf(i, random, pick));
  const server = await (servers[name] as (stack: Stack) => Promise<Server>)({
    random, pick, gates,
    ran(id = "") {
      runs.set(id, (runs.get(id) ?? 0) + 1);
      return asked.get(id) ?? "ok";
    },
  });
  if (!server.listening) server.listen(0, "127.0.0.1");
  if (!server.listening) await once(server, "listening");
  onTestFinished(() => void (server.closeAllConnections(), server.close()));
  const { port } = server.address() as AddressInfo;

  const sent = Array.from({ length: REQUESTS }, async (_, i) => {
    const [id, client, handler] = [`r${i}`, pick(CLIENTS), pick(HANDLERS)] as const;
    asked.set(id, handler);
    if (random() < 0.3) await wait(random() * 10);
    const text = await send(port, id, client, handler);
    const statuses = [...text.matchAll(/^HTTP\/1\.1 ((?!100)\d{3})/gm)].map(([, status]) => status);
    const isRefused = statuses.some((status) => status === "429" || status === "503");
    return { client, handler, statuses: statuses.length <= 1, runs: (runs.get(id) ?? 0) <= 1, refused: !(isRefused && runs.has(id)) };
  });
  for (const told of await Promise.all(sent)) expect(told).toMatchObject({ statuses: true, runs: true, refused: true });
  for (const { limiter } of gates) {
    const inFlight = limiter.parts[0]?.policy.limits.find(({ returns }) => returns !== undefined);
    if (inFlight === undefined) continue;
    await soon(async () => {
      const { limits, remaining } = await limiter.peek("ann", 0);
      expect(limits?.find(({ limit }) => limit === inFlight.name)?.remaining ?? remaining).toBe(inFlight.capacity);
    });
  }
});

function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}

function gateOf(i: number, random: Random, pick: Pick): Stack["gates"][number] {
  const parallel = { name: "parallel", capacity: pick([1, 2, 5, 50]), returns: whenDone() };
  const limits = [{ name: "requests", capacity: pick([3, 10, 1_000]), refill: perMinute(100) }, ...(random() < 0.7 ? [parallel] : [])];
  const limiter = createLimiter({ policy: { name: `gate${i}`, limits: limits as never }, store: random() < 0.5 ? new MemoryStore() : lateStore(random), shadow: random() < 0.15 }) as unknown as Limiter;
  const options: Record<string, unknown> = { limiter, key: pick([() => "ann", async () => (await wait(random() * 3), "ann")]) };
  if (random() < 0.3) options["actualCost"] = pick([() => undefined, () => ({ requests: 0 }), async () => (await wait(2), { requests: 1 }), () => { throw new Error("cost"); }]);
  if (random() < 0.2) options["skip"] = () => random() < 0.3;
  if (random() < 0.2) options["onDecision"] = () => { if (random() < 0.5) throw new Error("told"); };
  return { options, limiter };
}

/** A store that answers some time later. */
function lateStore(random: Random): AsyncStore {
  const store = new MemoryStore();
  const later = async <T>(make: () => T): Promise<T> => (await wait(random() * 3), make());
  return storeOf({
    sync: false, kinds: LIMIT_KINDS, clock: store.clock, guard: guard({ timeoutMs: 60_000 }),
    consume: (...args) => later(() => callsOf(store).consume(...args)),
    peek: (...args) => later(() => callsOf(store).peek(...args)),
    adjust: (...args) => later(() => callsOf(store).adjust(...args)),
    renew: (...args) => later(() => callsOf(store).renew(...args)),
  });
}

async function answer(response: ServerResponse, handler: Handler): Promise<void> {
  if (handler === "slow") await wait(30);
  if (handler === "fail") response.statusCode = 500;
  if (handler === "stream") {
    response.write("a");
    await wait(5);
  }
  if (handler !== "never") response.end("ok");
}

async function expressServer(framework: typeof express, { gates, ran, random, pick }: Stack): Promise<Server> {
  const app = framework().set("env", "test");
  let at: express.Router = app;
  for (const { options } of gates) {
    if (random() < 0.5) {
      const inner = framework.Router();
      at.use("/", inner);
      at = inner;
    }
    at.use(onExpress(options as never));
    if (random() < 0.3) at.use(pick([framework.json(), (_request, _response, next) => void setTimeout(next, 2)] as express.RequestHandler[]));
  }
  at.use((request, response, next) => {
    const handler = ran(request.get("x-id"));
    if (handler === "fail") return next(new Error("handler"));
    if (random() < 0.3) reportCost(request, { requests: 2 });
    void answer(response, handler);
  });
  app.use((_error: unknown, _request: unknown, response: express.Response, _next: unknown) => void (response.headersSent ? response.destroy() : response.status(500).send("error")));
  return createServer(app);
}

async function fastifyServer(framework: typeof fastify, { gates, ran, pick }: Stack): Promise<Server> {
  const app = framework();
  await app.register(onFastify, { ...gates[0]?.options, hook: pick(["onRequest", "preHandler", "preValidation"]) } as never);
  app.route({
    method: ["GET", "POST", "OPTIONS", "HEAD"], url: "/",
    [pick(["onRequest", "preHandler"])]: gates.slice(1).map(({ options }) => app.rateLimit(options as never)),
    async handler(request: FastifyRequest, reply: FastifyReply) {
      const handler = ran(request.headers["x-id"] as string);
      if (handler === "fail") throw new Error("handler");
      if (handler === "never") await once(request.raw.socket, "close");
      reply.hijack();
      if (handler !== "never") await answer(reply.raw, handler);
    },
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  return app.server;
}

function honoOf({ gates, ran }: Stack): Hono {
  const app = new Hono();
  for (const { options } of gates) app.use(onHono(options as never));
  app.all("/", async (c) => {
    const handler = ran(c.req.header("x-id"));
    if (handler === "fail") throw new Error("handler");
    if (handler === "slow") await wait(30);
    if (handler !== "stream" && handler !== "never") return c.text("ok");
    return c.body(new ReadableStream({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode("a"));
        if (handler === "stream") await wait(5).then(() => controller.close());
      },
    }));
  });
  return app.onError((_error, c) => c.text("error", 500));
}

/** Sends a request, and returns all that was answered to it. */
function send(port: number, id: string, client: Client, handler: Handler): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    let text = "";
    socket.setEncoding("latin1").on("data", (more: string) => (text += more)).on("close", () => resolve(client === "pipelined" ? "" : text));
    const hasBody = ["post", "slow post", "expect"].includes(client);
    const method = hasBody ? "POST" : client === "HEAD" ? "HEAD" : client === "OPTIONS" || client === "preflight" ? "OPTIONS" : "GET";
    const head = [
      `${method} / HTTP/1.1`, "Host: a", `X-Id: ${id}`,
      ...(hasBody ? ["Content-Type: application/json", "Content-Length: 13"] : []),
      ...(client === "expect" ? ["Expect: 100-continue"] : []),
      ...(client === "preflight" ? ["Origin: http://a", "Access-Control-Request-Method: GET"] : []),
    ];
    const request = (last: string): string => [...head, `Connection: ${last}`, "", ""].join("\r\n");
    const leaveAfter = (ms: number): void => void setTimeout(() => socket.destroy(), ms);
    if (client === "pipelined") socket.write(request("keep-alive").replace(`X-Id: ${id}`, `X-Id: ${id}-first`));
    socket.write(request("close"));
    if (client === "post" || client === "expect") socket.write('{"a":"bcdefg"}'.slice(0, 13));
    if (client === "slow post") setTimeout(() => socket.write('{"a":"bcdefg"}'.slice(0, 13)), 10);
    if (client === "gone") setImmediate(() => socket.destroy());
    if (client === "gone soon" || client === "pipelined") leaveAfter(3);
    if (client === "half") setTimeout(() => socket.end(), 2);
    leaveAfter(handler === "never" ? 40 : 1_500);
  });
}
