// Servers under a limit in flight, and handlers that end when the test says so.
import { serve } from "@hono/node-server";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import { createServer, request as ask, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createLimiter, MemoryStore, perMinute, whenDone, type PolicyOptions, type SyncStore } from "sluice";
import { rateLimit as onExpress, reportCost } from "sluice/express";
import { rateLimit as onFastify } from "sluice/fastify";
import { rateLimit as onHono } from "sluice/hono";
import { rateLimit as onNode } from "sluice/node";
import { guard, LIMIT_KINDS, STORE_VERBS } from "sluice/store";
import type { StoreAnswer, StoreCall } from "sluice";

export const CAPACITY = 2;
export const policy = { name: "api", limits: [{ name: "requests", capacity: 10_000, refill: perMinute(10_000) }, { name: "parallel", capacity: CAPACITY, returns: whenDone() }] };

/** A handler that ends when the test says so. */
export class Work {
  atWork = 0;
  most = 0;
  began = 0;
  readonly open: Array<(how: "end" | "throw") => void> = [];
  async run(): Promise<string> {
    this.began += 1;
    this.atWork += 1;
    this.most = Math.max(this.most, this.atWork);
    const how = await new Promise<"end" | "throw">((resolve) => this.open.push(resolve));
    this.atWork -= 1;
    if (how === "throw") throw new Error("boom");
    return "done";
  }
  endAll(how: "end" | "throw" = "end"): void {
    for (const end of this.open.splice(0)) end(how);
  }
}

const closers: Array<() => unknown> = [];
/** The open connections, as the servers see them. */
export const sockets = new Set<object>();

/** Closes all servers. */
export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0)) await close();
}

/** Returns the port of a server that `closeAll` closes. */
export async function portOf(server: Server): Promise<number> {
  if (!server.listening) await new Promise((resolve) => server.once("listening", resolve));
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  closers.push(() => (server.closeAllConnections(), new Promise((resolve) => server.close(resolve))));
  return (server.address() as AddressInfo).port;
}

/** What a test changes about a server. */
interface Changes {
  readonly policy?: PolicyOptions;
  /** Runs before the limit, with the object on which it sets its fields by `method`. */
  readonly before?: (response: object, method: "setHeader" | "header") => void;
  /** Runs between the limit and the handler. */
  readonly between?: () => Promise<unknown>;
  /** Express: whether `actualCost` returns a promise of the end of the handler, which also reports its cost. */
  readonly waits?: boolean;
}

export type Start = (work: Work, store: SyncStore, changes?: Changes) => Promise<number>;

const key = (): string => "ann";
const none = async (): Promise<void> => undefined;

export const servers = {
  node(work, store, { policy: own = policy, before, between = none } = {}) {
    const limited = onNode({ policy: own, store, key, onError: (_error, _request, response) => response.writeHead(500).end() });
    const listener = limited(async (_, response) => {
      await between();
      try {
        response.end(await work.run());
      } catch {
        response.writeHead(500).end();
      }
    });
    return portOf(createServer((request, response) => (before?.(response, "setHeader"), listener(request, response))).listen(0, "127.0.0.1"));
  },
  express(work, store, { policy: own = policy, before, between = none, waits } = {}) {
    const app = express();
    const done = new WeakMap<object, Promise<undefined>>();
    app.use((_request, response, next) => (before?.(response, "setHeader"), next()));
    app.use(onExpress({ policy: own, store, key, ...(waits && { actualCost: (_, request) => done.get(request) }) }));
    app.get("/", (request, response, next) => {
      const handled = between().then(() => work.run());
      done.set(request, handled.then(() => undefined, () => undefined));
      if (waits) reportCost(request, { requests: 2 });
      handled.then((text) => response.send(text), next);
    });
    app.use((_error: unknown, _request: unknown, response: express.Response, _next: unknown) => void response.writeHead(500).end());
    return portOf(app.listen(0, "127.0.0.1"));
  },
  async fastify(work, store, { policy: own = policy, before, between } = {}) {
    const app = Fastify();
    app.addHook("onRequest", (_request, reply, next) => (before?.(reply, "header"), next()));
    await app.register(onFastify, { policy: own, store, key });
    if (between) app.addHook("preHandler", async () => void (await between()));
    app.get("/", () => work.run());
    await app.listen({ port: 0, host: "127.0.0.1" });
    const port = await portOf(app.server);
    closers.push(() => app.close());
    return port;
  },
  hono(work, store, { policy: own = policy, between = none } = {}) {
    const app = new Hono();
    app.use(onHono({ policy: own, store, key }));
    app.get("/", async (c) => (await between(), c.text(await work.run())));
    app.onError((_, c) => c.text("error", 500));
    return portOf(serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server);
  },
} satisfies Readonly<Record<string, Start>>;

/** Begins a request. `leave` closes its connection. */
export function begin(port: number): { readonly status: Promise<number>; leave(): void } {
  let leave = (): void => undefined;
  const status = new Promise<number>((resolve) => {
    const sent = ask({ port, host: "127.0.0.1", agent: false }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", () => resolve(499));
    sent.end();
    leave = () => sent.destroy();
  });
  return { status, leave };
}

/** The tokens in flight that are left. */
export function left(store: MemoryStore, own: PolicyOptions = policy): number | undefined {
  return createLimiter({ policy: own, store }).peek("ann", 0).limits?.find(({ limit }) => limit === "parallel")?.remaining;
}

/** A store that answers when the test says so. */
export class LateStore {
  readonly sync = false;
  readonly kinds = LIMIT_KINDS;
  readonly inner = new MemoryStore();
  readonly clock = this.inner.clock;
  readonly guard = guard({ timeoutMs: 60_000 });
  readonly answers: Array<() => void> = [];
  readonly verbs = STORE_VERBS;
  async ask(call: StoreCall): Promise<readonly StoreAnswer[]> {
    const answers = this.inner.ask(call);
    if (call.verb === "consume") await new Promise<void>((resolve) => this.answers.push(resolve));
    return answers;
  }
}
