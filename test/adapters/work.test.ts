// The end of the work of a request, without a network: the body of a Response, and the close of Node's response. The
// adapter suite has the cases over sockets.
import { EventEmitter } from "node:events";
import { IncomingMessage, ServerResponse, type Server } from "node:http";
import type { Socket } from "node:net";
import { Hono, type Context } from "hono";
import { createAdaptorServer as createAdaptorServer1 } from "hono-node-server-1";
import { createLimiter, MemoryStore } from "sluice";
import * as forHono from "sluice/hono";
import type { Outcome, ReportedCost } from "sluice/http";
import * as forNode from "sluice/node";
import { ManualClock } from "sluice/testing";
import * as forWeb from "sluice/web";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { soon } from "../helpers/soon.js";
import { expectWarnings } from "../setup/warnings.js";
import { listen } from "./rows/listen.js";
import { oneToken, told } from "./setup.js";

// @hono/node-server replaces the class.
const { Response } = globalThis;

interface Options {
  readonly actualCost?: (outcome: Outcome) => number | undefined | Promise<number | undefined>;
}
type Report = (cost: ReportedCost) => void;
type Answer = (report: Report) => globalThis.Response | Promise<globalThis.Response>;

/** A limit of ten tokens, of which a request takes three. */
function ten() {
  const limiter = createLimiter({ policy: { name: "ten", capacity: 10, refill: { tokens: 1, everyMs: 1_000 } }, store: new MemoryStore({ clock: new ManualClock().now }) });
  return { limiter, key: () => "ann", cost: 3, left: () => limiter.peek("ann").remaining };
}

const frameworks: Record<string, (options: object, answer: Answer) => (request: Request) => globalThis.Response | Promise<globalThis.Response>> = {
  web: (options, answer) => forWeb.rateLimit(options as never)((request: Request) => answer((cost) => forWeb.reportCost(request, cost))),
  Hono: (options, answer) => {
    const app = new Hono().use(forHono.rateLimit(options as never)).all("/", (c: Context) => answer((cost) => forHono.reportCost(c, cost)) as Promise<globalThis.Response>);
    return (request) => app.fetch(request);
  },
};

/** A stream that gives "one, " and then does what `then` says. */
function streamOf(then: (controller: ReadableStreamDefaultController<Uint8Array>) => void, onCancel = (): void => {}): ReadableStream<Uint8Array> {
  let pulls = 0;
  return new ReadableStream({
    pull: (controller) => (pulls++ === 0 ? controller.enqueue(new TextEncoder().encode("one, ")) : then(controller)),
    cancel: onCancel,
  }, { highWaterMark: 0 });
}

describe.each(Object.keys(frameworks))("%s", (name) => {
  /** Sends one request. `outcomes` and `left` change when the work ends. */
  async function ask(answer: Answer, { init = {}, ...options }: Options & { init?: RequestInit } = {}) {
    const { left, ...limit } = ten();
    const outcomes: Outcome[] = [];
    const watched = { actualCost: (outcome: Outcome) => (outcomes.push(outcome), undefined), ...options };
    const handle = (frameworks[name] as (typeof frameworks)[string])({ ...limit, ...watched }, answer);
    return { response: await handle(new Request("http://localhost/", init)), outcomes, left };
  }

  test("the work ends when the body was read to its end", async () => {
    const { response, outcomes } = await ask(() => new Response(streamOf((controller) => controller.close()), { status: 201 }));
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("one, ");
    expect(outcomes).toEqual([]);
    expect(await reader.read()).toEqual({ done: true, value: undefined });
    await soon(() => expect(outcomes).toEqual([{ status: 201, aborted: false }]));
  });

  test("the work ends when the body is cancelled, and so is the handler's stream", async () => {
    const cancelled = vi.fn<() => void>();
    const { response, outcomes } = await ask(() => new Response(streamOf(() => {}, cancelled)));
    await response.body?.cancel("gone");
    expect(outcomes).toEqual([{ status: 499, aborted: true }]);
    expect(cancelled).toHaveBeenCalledWith("gone");
  });

  test("the work ends when the body fails, and the failure stays", async () => {
    const { response, outcomes } = await ask(() => new Response(streamOf((controller) => controller.error(new Error("disk")))));
    await expect(response.text()).rejects.toThrow("disk");
    expect(outcomes).toEqual([{ status: 500, aborted: false }]);
  });

  test("the handler's stream is read no sooner than the client reads", async () => {
    const pull = vi.fn<(controller: ReadableStreamDefaultController) => void>((controller) => controller.enqueue(new Uint8Array(1)));
    const { response } = await ask(() => new Response(new ReadableStream({ pull }, { highWaterMark: 0 })));
    await new Promise((resolve) => setImmediate(resolve));
    expect(pull).toHaveBeenCalledTimes(0);
    await response.body?.cancel();
  });

  test.each([204, 304])("a %s has no body to wait for", async (status) => {
    const { response, outcomes } = await ask(() => new Response(null, { status }));
    expect([...told(response), outcomes]).toEqual([status, "7", null, [{ status, aborted: false }]]);
  });

  test("no body is read after a HEAD", async () => {
    const { response, outcomes } = await ask(() => new Response("ok"), { init: { method: "HEAD" } });
    expect([...told(response), outcomes]).toEqual([200, "7", null, [{ status: 200, aborted: false }]]);
  });

  test("a client that left before the response has the outcome 499", async () => {
    const client = new AbortController();
    const { outcomes } = await ask(() => (client.abort(), new Response("ok")), { init: { signal: client.signal } });
    expect(outcomes).toEqual([{ status: 499, aborted: true }]);
  });

  test("a client that leaves while a server reads the body has it, too", async () => {
    const client = new AbortController();
    const { response, outcomes } = await ask(() => new Response("ok"), { init: { signal: client.signal } });
    client.abort();
    await response.text();
    expect(outcomes).toEqual([{ status: 499, aborted: true }]);
  });

  test("a body is wrapped only if there is something to settle by then", async () => {
    const mine = new Response("ok");
    const without = { actualCost: undefined } as unknown as Options;
    expect((await ask(() => mine, without)).response.body).toBe(mine.body);
    const [other, reported] = [new Response("ok"), new Response("ok")];
    expect((await ask(() => other)).response.body).not.toBe(other.body);
    const { response, left } = await ask((report) => (report(5), reported), without);
    expect(response.body).not.toBe(reported.body);
    expect(left()).toBe(7);
    expect([await response.text(), left()]).toEqual(["ok", 5]);
  });

  test("a report after the handler has returned is settled at once, and the last one before it wins", async () => {
    let late: Report = () => {};
    const { response, left } = await ask((report) => ((late = report), new Response("ok")), { actualCost: undefined } as unknown as Options);
    expect(left()).toBe(7);
    late(0);
    expect(left()).toBe(10);
    late(9); // a charge is settled once
    expect([left(), await response.text()]).toEqual([10, "ok"]);

    const second = await ask((report) => (report(1), report(2), (late = report), new Response("ok")));
    late(4);
    await second.response.text();
    expect([second.left(), second.outcomes]).toEqual([6, []]);
  });

  test("a response that keeps cookies and other fields keeps them beside a wrapped body", async () => {
    const { response } = await ask(() => new Response("ok", { status: 202, headers: [["set-cookie", "a=1"], ["set-cookie", "b=2"], ["x-own", "yes"]] }));
    expect([...told(response), response.headers.getSetCookie(), response.headers.get("x-own")]).toEqual([202, "7", null, ["a=1", "b=2"], "yes"]);
  });

  test("a Response whose body is locked fails where it would without a limit", async () => {
    const { response, outcomes } = await ask(() => {
      const locked = new Response("ok");
      locked.body?.getReader();
      return locked;
    });
    await expect(response.text()).rejects.toThrow();
    expect(outcomes).toEqual([{ status: 200, aborted: false }]);
  });

  test("a failing actualCost leaves the charge, with one process warning", async () => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    for (const actualCost of [() => Promise.reject(new Error("no usage")), () => "0" as never, () => { throw undefined; }]) {
      const { response, left } = await ask(() => new Response("ok"), { actualCost });
      await response.text();
      await new Promise((resolve) => setImmediate(resolve));
      expect(left()).toBe(7);
    }
  });
});

test("Hono on @hono/node-server 1: the fields of a response without a body, and of one with a wrapped body, are sent", async () => {
  const outcomes: number[] = [];
  const app = new Hono().use(forHono.rateLimit({ ...oneToken(), key: (c) => c.req.path, actualCost: ({ status }) => void outcomes.push(status) }));
  app.get("/text", (c) => c.text("ok")).get("/empty", (c) => c.body(null, 204));
  const server = await listen(createAdaptorServer1({ fetch: app.fetch }) as Server);
  onTestFinished(() => void server.close());
  for (const [path, status] of [["text", 200], ["empty", 204], ["text", 429]] as const) {
    const response = await fetch(`http://127.0.0.1:${server.port}/${path}`);
    expect(told(response).slice(0, 2)).toEqual([status, "0"]);
    await response.text();
  }
  expect(outcomes).toEqual([200, 204]);
});

describe("Node", () => {
  function ask(options: object, answer: (request: IncomingMessage, response: ServerResponse) => void = () => {}) {
    const request = Object.assign(new IncomingMessage(new EventEmitter() as Socket), { method: "GET", url: "/" });
    const response = new ServerResponse(request);
    const before = response.listenerCount("close");
    const { left, ...limit } = ten();
    void forNode.rateLimit({ ...limit, ...options } as never)(answer as never)(request as never, response as never);
    return { request, response, left, listeners: response.listenerCount("close") - before };
  }

  test("listens to the response only if there is something to settle", () => {
    expect(ask({}).listeners).toBe(0);
    expect(ask({ actualCost: () => undefined }).listeners).toBe(1);
    const { request, response, listeners, left } = ask({}, (own) => (forNode.reportCost(own, 4), forNode.reportCost(own, 1)));
    expect(listeners).toBe(1);
    expect(left()).toBe(7);
    response.emit("close");
    expect(left()).toBe(9);
    forNode.reportCost(request, 5);
    expect(left()).toBe(9);
  });

  test("a report while the response is open is settled when it closes, and one after that at once", () => {
    const { request, response, left } = ask({});
    response.emit("close");
    Object.assign(response, { destroyed: true });
    forNode.reportCost(request, 0);
    expect(left()).toBe(10);
    const open = ask({});
    forNode.reportCost(open.request, 0);
    expect(open.left()).toBe(7);
    open.response.emit("close");
    expect(open.left()).toBe(10);
  });

  test("a response that has finished, without the flag of its end, is closed too", () => {
    const { request, response, left } = ask({});
    Object.defineProperties(response, { writableEnded: { value: true }, writableFinished: { value: true } });
    forNode.reportCost(request, 0);
    expect(left()).toBe(10);
  });

  test("a wrong report throws, names the limits, and leaves an earlier one", () => {
    const { request, response, left } = ask({}, (own) => forNode.reportCost(own, 1));
    expect(() => forNode.reportCost(request, -1)).toThrow(RangeError);
    expect(() => forNode.reportCost(request, { other: 1 })).toThrow(/other/);
    response.emit("close");
    expect(left()).toBe(9);
  });

  test("a report for a request that no limit charged does nothing", () => {
    const { request } = ask({ skip: () => true });
    expect(() => forNode.reportCost(request, 5)).not.toThrow();
    expect(() => forNode.reportCost("request" as never, 5)).toThrow(TypeError);
  });
});
