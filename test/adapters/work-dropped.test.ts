// Responses that are not sent: outer middleware replaces them, nobody reads their body, or their client has left.
import { createAdaptorServer } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { compress } from "hono/compress";
import { etag } from "hono/etag";
import { prettyJSON } from "hono/pretty-json";
import { timeout } from "hono/timeout";
import { createAdaptorServer as createAdaptorServer1 } from "hono-node-server-1";
import { EventEmitter } from "node:events";
import type { Server } from "node:http";
import { createLimiter, MemoryStore, whenDone } from "sluice";
import { rateLimit as onHono } from "sluice/hono";
import type { Outcome } from "sluice/http";
import { ManualClock } from "sluice/testing";
import { rateLimit as onWeb } from "sluice/web";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { soon } from "../helpers/soon.js";
import { listen } from "./rows/listen.js";

// @hono/node-server replaces the class.
const { Response } = globalThis;

const CAPACITY = 4;
const LEFT = { status: 499, aborted: true };

let tests = 0;
afterEach(() => void vi.useRealTimers());

/** A limit of four in flight whose time the test moves. Each has its own beat, and so a timer that begins in its test. */
function four() {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "Date"] });
  const staleAfterMs = 6_000 + 6 * tests++;
  const clock = new ManualClock(1_700_000_000_000);
  const limiter = createLimiter({ policy: { name: "parallel", capacity: CAPACITY, returns: whenDone({ staleAfterMs }) }, store: new MemoryStore({ clock: clock.now }) });
  const outcomes: Outcome[] = [];
  return {
    options: { limiter, key: () => "ann", actualCost: (outcome: Outcome) => void outcomes.push(outcome) },
    outcomes,
    left: () => limiter.peek("ann", 0).remaining,
    /** Lets so many times `staleAfterMs` pass. */
    async pass(times: number): Promise<void> {
      for (let i = 0; i < times * 60; i++) {
        clock.advance(staleAfterMs / 60);
        await vi.advanceTimersByTimeAsync(staleAfterMs / 60);
      }
    },
  };
}
type Four = ReturnType<typeof four>;

interface Asked {
  readonly signal?: AbortSignal;
  /** Runs around the limit. */
  readonly outer?: MiddlewareHandler;
}
type Handler = (request: Request) => Response | Promise<Response>;

/** The adapters, without a server. `outer` is middleware of Hono. */
const adapters: Record<string, (limit: Four["options"], handler: Handler, asked?: Asked) => Response | Promise<Response>> = {
  web: (limit, handler, { signal } = {}) => onWeb(limit)(handler)(new Request("http://localhost/", signal && { signal })),
  Hono: (limit, handler, { signal, outer } = {}) => {
    const app = new Hono();
    if (outer) app.use(outer).onError((error, c) => c.text(error.message, (error as { status?: 504 }).status ?? 500));
    app.use(onHono(limit)).get("/", (c) => handler(c.req.raw));
    return app.fetch(new Request("http://localhost/", signal && { signal }));
  },
};

describe.each(Object.keys(adapters))("%s, without a server", (name) => {
  const ask = adapters[name] as (typeof adapters)[string];

  test("L21 · a body that no reader has begun is not renewed: its token comes back, and actualCost is called then, once", async () => {
    const { options, outcomes, left, pass } = four();
    const response = await ask(options, () => new Response("hello"));
    await pass(0.9);
    expect([left(), outcomes]).toEqual([CAPACITY - 1, []]);
    await pass(0.4);
    expect([left(), outcomes]).toEqual([CAPACITY, [LEFT]]);
    expect(await response.text()).toBe("hello");
    await pass(5);
    expect([left(), outcomes]).toEqual([CAPACITY, [LEFT]]);
  });

  test("L21 · a body that is begun late, and then slow, is renewed", async () => {
    const { options, outcomes, left, pass } = four();
    const reader = ((await ask(options, () => new Response("hello"))).body as ReadableStream<Uint8Array>).getReader();
    await pass(0.8);
    await reader.read();
    await pass(10);
    expect([left(), outcomes]).toEqual([CAPACITY - 1, []]);
    await reader.read();
    await pass(0.1);
    expect([left(), outcomes]).toEqual([CAPACITY, [{ status: 200, aborted: false }]]);
  });

  test("L21 · a handler at work keeps its token, however long it takes", async () => {
    const { options, left, pass } = four();
    let finish = (): void => {};
    const answer = ask(options, () => new Promise((resolve) => (finish = () => resolve(new Response(null, { status: 204 })))));
    await pass(10);
    expect(left()).toBe(CAPACITY - 1);
    finish();
    await answer;
    await pass(0.1);
    expect(left()).toBe(CAPACITY);
  });

  test("L21 · after its client left, the token waits for the handler", async () => {
    const { options, outcomes, left, pass } = four();
    const client = new AbortController();
    let finish = (): void => {};
    const answer = ask(options, () => new Promise((resolve) => (finish = () => resolve(new Response("late")))), { signal: client.signal });
    await pass(0.1);
    client.abort();
    await pass(2);
    expect([left(), outcomes]).toEqual([CAPACITY - 1, []]);
    finish();
    await answer;
    await pass(0.1);
    expect([left(), outcomes]).toEqual([CAPACITY, [LEFT]]);
  });

  test("L21 · a handler that never ends after its client left keeps its token for four times staleAfterMs at most", async () => {
    const { options, outcomes, left, pass } = four();
    const client = new AbortController();
    void ask(options, () => new Promise(() => {}), { signal: client.signal });
    await pass(7.5);
    client.abort();
    await pass(3.25);
    expect([left(), outcomes]).toEqual([CAPACITY - 1, []]);
    await pass(0.75);
    expect([left(), outcomes]).toEqual([CAPACITY, [LEFT]]);
  });

  test("L17 · after its client left and its handler is done, the token waits for actualCost, however long it takes", async () => {
    const { options, left, pass } = four();
    const client = new AbortController();
    let finish = (): void => {};
    const actualCost = () => new Promise<undefined>((resolve) => (finish = () => resolve(undefined)));
    void ask({ ...options, actualCost: actualCost as never }, async () => new Response("late"), { signal: client.signal });
    await pass(0.1);
    client.abort();
    await pass(10);
    expect(left()).toBe(CAPACITY - 1);
    finish();
    await pass(0.1);
    expect(left()).toBe(CAPACITY);
  });

  test("L21 · work whose client left before its body was read ends at once, without a limit in flight too", async () => {
    const limits = [{ name: "rate", capacity: 10, refill: { tokens: 1, everyMs: 1_000 } }, { name: "parallel", capacity: CAPACITY, returns: whenDone() }];
    for (const some of [limits, limits.slice(0, 1)]) {
      const outcomes: Outcome[] = [];
      const limiter = createLimiter({ policy: { name: "own", limits: some as never } });
      const client = new AbortController();
      await ask({ limiter: limiter as never, key: () => "ann", actualCost: (outcome) => void outcomes.push(outcome) }, () => new Response("hello"), { signal: client.signal });
      client.abort();
      await soon(() => expect(outcomes).toEqual([LEFT]));
      const { limits: readings, remaining } = limiter.peek("ann");
      expect(readings?.at(-1)?.remaining ?? remaining).toBe(some === limits ? CAPACITY : 9);
    }
  });

  test("L12 · a signal that lives longer than its requests keeps none of their listeners", async () => {
    const { options, outcomes } = four();
    const signal = Object.assign(new AbortController().signal, {});
    const count = vi.fn<(change: number) => void>();
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    const counted = Object.assign(signal, {
      addEventListener: (...args: Parameters<typeof add>) => (count(1), add(...args)),
      removeEventListener: (...args: Parameters<typeof remove>) => (count(-1), remove(...args)),
    });
    for (const body of ["hello", null]) {
      const request = Object.defineProperty(new Request("http://localhost/"), "signal", { value: counted });
      const response = await (name === "web" ? onWeb(options)(() => new Response(body))(request) : new Hono().use(onHono(options)).get("/", () => new Response(body)).fetch(request));
      await response.text();
    }
    await soon(() => expect(outcomes).toHaveLength(2));
    expect(count.mock.calls.length).toBeGreaterThanOrEqual(4);
    expect(count.mock.calls.reduce((sum, [change]) => sum + change, 0)).toBe(0);
  });
});

// What may stand around a limit of Hono, and the outcome without a server.
const read = { status: 200, aborted: false };
const outers: Record<string, [outer: MiddlewareHandler, outcome: Outcome]> = {
  "hono/timeout": [timeout(20), { status: 504, aborted: false }], // its own response is the one that the limit finds
  "one that throws after next()": [async (_c, next) => (await next(), Promise.reject(new Error("logging"))), LEFT],
  "one that replaces c.res": [async (c, next) => (await next(), void (c.res = c.json({ wrapped: true }))), LEFT],
  "hono/etag": [etag(), read],
  "hono/compress": [compress({ threshold: 1 }), read],
  "hono/pretty-json": [prettyJSON(), read],
};
const slow = async (name: string): Promise<void> => {
  if (name === "hono/timeout") await new Promise((resolve) => setTimeout(resolve, 60));
};

describe.each(Object.keys(outers))("Hono behind %s", (name) => {
  const [outer, outcome] = outers[name] as (typeof outers)[string];
  const handler = async (): Promise<Response> => {
    await slow(name);
    return Response.json({ hello: "world ".repeat(500) });
  };

  test("L21 · without a server, its token comes back after staleAfterMs at the latest", async () => {
    const { options, outcomes, left, pass } = four();
    const response = await adapters["Hono"]?.(options, handler, { outer: async (c, next) => (c.req.raw.headers.set("accept-encoding", "gzip"), outer(c, next)) });
    await response?.text();
    if (outcome === read) await soon(() => expect(outcomes).toHaveLength(1));
    await slow(name);
    await pass(1.3);
    expect([left(), outcomes]).toEqual([CAPACITY, [outcome]]);
  });

  test.each([["2", createAdaptorServer], ["1", createAdaptorServer1 as unknown as typeof createAdaptorServer]] as const)("L21 · on @hono/node-server %s its token comes back at once", async (_version, create) => {
    const { options, outcomes, left } = four();
    const app = new Hono().use(outer).use(onHono(options)).get("/", handler).onError((_error, c) => c.text("failed", 500));
    const { port, close } = await listen(create({ fetch: app.fetch }) as Server);
    onTestFinished(() => void close());
    const response = await fetch(`http://127.0.0.1:${port}/`);
    await response.arrayBuffer();
    await soon(() => expect([left(), outcomes]).toEqual([CAPACITY, [{ status: response.status, aborted: false }]]));
  });
});

test("L21 · bindings of a Worker named `incoming` and `outgoing` are not Node's, whatever they answer", async () => {
  const stub: unknown = new Proxy(() => stub, { get: () => stub });
  for (const env of [{ incoming: stub }, { incoming: stub, outgoing: stub }, { incoming: { method: "GET", socket: new EventEmitter() }, outgoing: stub }]) {
    const { options, outcomes } = four();
    const response = await new Hono().use(onHono(options)).get("/", (c) => c.text("ok")).request("/", {}, env as object);
    expect([await response.text(), outcomes]).toEqual(["ok", [{ status: 200, aborted: false }]]);
  }
});
