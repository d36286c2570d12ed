// What `respond` may do in each framework's own terms. The adapter suite has the contract that all of them keep.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { AddressInfo } from "node:net";
import express, { type Request as ExpressRequest, type Response as ExpressResponse } from "express";
import express4 from "express4";
import { fastify } from "fastify";
import { fastify as fastify4 } from "fastify4";
import { Hono } from "hono";
import * as forExpress from "sluice/express";
import * as forFastify from "sluice/fastify";
import * as forHono from "sluice/hono";
import type { Refusal } from "sluice/http";
import * as forNode from "sluice/node";
import * as forWeb from "sluice/web";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { listen } from "./rows/listen.js";
import { oneToken, told } from "./setup.js";
import { expectWarnings } from "../setup/warnings.js";

const limits = () => ({ ...oneToken(), key: () => "ann", functionTimeoutMs: 20 });
const url = ({ port }: { port: number }) => `http://127.0.0.1:${port}/`;

/** Asks twice: the second request is refused. */
async function refused(ask: () => Promise<Response>): Promise<Response> {
  await (await ask()).text();
  return ask();
}

async function expectStandard(response: Response): Promise<void> {
  expect([...told(response), response.headers.get("content-type")?.split(";")[0], response.headers.get("cache-control")]).toEqual([429, "0", "1", "application/problem+json", "no-store"]);
  expect(((await response.json()) as { code: string }).code).toBe("rate_limited");
}

describe.each([
  { name: "Express 4", framework: express4 as unknown as typeof express },
  { name: "Express 5", framework: express },
])("$name", ({ framework }) => {
  type Respond = (refusal: Refusal, request: ExpressRequest, response: ExpressResponse) => unknown;

  async function serve(respond: Respond, entered: string[] = []): Promise<() => Promise<Response>> {
    const app = framework().set("env", "test");
    // A template engine that answers later, and fails for one template.
    app.engine("page", (path, refusal, done) => void setImmediate(() => (path.includes("broken") ? done(new Error("template")) : done(null, `<p>${(refusal as Refusal).message}</p>`))));
    app.set("views", import.meta.dirname).set("view engine", "page");
    app.set("view", class {
      readonly path: string;
      readonly #engine: (path: string, options: object, done: (error: unknown, text?: string) => void) => void;
      constructor(name: string, { engines }: { engines: Record<string, never> }) {
        this.path = `${name}.page`;
        this.#engine = engines[".page"] as never;
      }
      render(options: object, done: (error: unknown, text?: string) => void): void {
        this.#engine(this.path, options, done);
      }
    });
    app.use((_request, response, next) => {
      response.set("X-Before", "yes");
      next();
    });
    app.use(forExpress.rateLimit({ ...limits(), respond }));
    app.get("/", (_request, response) => void response.send(String(entered.push("handler"))));
    const server = await listen(createServer(app));
    onTestFinished(() => void server.close());
    return () => fetch(url(server), { redirect: "manual" });
  }

  test("renders a template, which answers in a callback", async () => {
    const response = await refused(await serve((refusal, _request, own) => own.status(refusal.status).render("slow-down", refusal)));
    expect([...told(response), response.headers.get("content-type"), await response.text()]).toEqual([429, "0", "1", "text/html; charset=utf-8", "<p>Too many requests. Try again in 1 second.</p>"]);
  });

  test("has the status of the refusal already, and redirects", async () => {
    const page = await refused(await serve((_refusal, _request, own) => own.send("slow down")));
    expect([page.status, page.headers.get("cache-control"), page.headers.get("x-before")]).toEqual([429, "no-store", "yes"]);
    const redirect = await refused(await serve((_refusal, _request, own) => own.redirect("/slow-down")));
    expect([...told(redirect), redirect.headers.get("location")]).toEqual([302, "0", "1", "/slow-down"]);
  });

  test.each<[what: string, respond: Respond]>([
    ["a template that fails", (_refusal, _request, own) => own.render("broken")],
    ["a file that does not exist", (_refusal, _request, own) => own.sendFile("/no/such/file")],
    ["a call of next", (_refusal, request) => request.next?.()],
    ["an exception after fields were set", (_refusal, _request, own) => {
      own.status(302).set({ Location: "/x", "Content-Encoding": "gzip", "Set-Cookie": "a=1", "X-Before": "no" });
      throw new Error("after all");
    }],
    ["a promise that never settles", () => new Promise(() => {})],
  ])("L17 · %s leaves the standard document, and opens no gate", async (_, respond) => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    const entered: string[] = [];
    const response = await refused(await serve(respond, entered));
    expect(["location", "content-encoding", "set-cookie", "x-before"].map((name) => response.headers.get(name))).toEqual([null, null, null, "yes"]);
    await expectStandard(response);
    expect(entered).toHaveLength(1);
  });

  test("L17 · a response that comes too late changes nothing and throws nothing", async () => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    let late: ExpressResponse | undefined;
    const response = await refused(await serve((_refusal, _request, own) => void (late = own)));
    await expectStandard(response);
    expect(() => late?.status(200).set("X-Late", "yes").send("late")).not.toThrow();
    expect(() => late?.redirect("/late")).not.toThrow();
  });

  test.each<[what: string, respond: Respond]>([
    ["fails", (_refusal, _request, own) => {
      own.status(200).write("begun");
      throw new Error("after all");
    }],
    ["never ends", (_refusal, _request, own) => void own.status(200).write("begun")],
  ])("L17 · a response that has begun and %s is closed", async (_, respond) => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    const response = await refused(await serve(respond)).catch(() => null);
    await expect(response === null ? Promise.reject(new Error("closed")) : response.text()).rejects.toThrow();
  });

  test("tells handlers and error handlers what was decided", async () => {
    const seen: unknown[] = [];
    const app = framework().set("env", "test");
    app.use(forExpress.rateLimit({ ...oneToken("outer"), key: () => "ann" }));
    app.get("/:id", forExpress.rateLimit({ ...oneToken("inner"), key: () => "ann", skip: ({ query }) => query["skip"] !== undefined }), (request, response) => {
      seen.push(forExpress.decisionOf(request)?.policy, forExpress.decisionsOf(request).map(({ policy, remaining }) => [policy, remaining]));
      response.end();
    });
    const server = await listen(createServer(app));
    onTestFinished(() => void server.close());
    await fetch(`${url(server)}1`);
    expect(seen).toEqual(["inner", [["outer", 0], ["inner", 0]]]);
  });
});

describe.each([
  { name: "Fastify 4", framework: fastify4 as unknown as typeof fastify },
  { name: "Fastify 5", framework: fastify },
])("$name", ({ framework }) => {
  type Respond = NonNullable<forFastify.FastifyRateLimitOptions["respond"]>;

  async function serve(respond: Respond, route?: Respond) {
    const app = framework();
    app.addHook("onRequest", async (_request, reply) => void reply.header("x-before", "yes"));
    // Holds every reply back for a turn, as compression and sessions do.
    app.addHook("onSend", async (_request, _reply, payload) => (await new Promise((resolve) => setImmediate(resolve)), payload));
    await app.register(forFastify.rateLimit, { ...limits(), respond });
    app.get("/", { config: { ...(route && { rateLimit: { respond: route } }) } }, async () => "ok");
    onTestFinished(() => app.close());
    await app.inject("/");
    return app.inject("/");
  }

  test.each<[what: string, respond: Respond, wanted: unknown[]]>([
    ["sends", (_refusal, _request, reply) => reply.type("text/html").send("<p>Slow down</p>"), [429, "<p>Slow down</p>"]],
    ["returns what to send", (refusal) => ({ code: refusal.code }), [429, '{"code":"rate_limited"}']],
    ["returns a promise of it", async (_refusal, _request, reply) => (reply.code(420), "slow down"), [420, "slow down"]],
    ["sends later and returns the reply", async (_refusal, _request, reply) => reply.send("later"), [429, "later"]],
    ["redirects", (_refusal, _request, reply) => reply.redirect("/slow-down"), [302, ""]],
  ])("%s", async (_, respond, wanted) => {
    const { statusCode, body, headers } = await serve(respond);
    expect([statusCode, body]).toEqual(wanted);
    expect(["ratelimit-remaining", "retry-after", "cache-control", "x-before"].map((name) => headers[name])).toEqual(["0", "1", "no-store", "yes"]);
  });

  test("a route has one of its own", async () => {
    expect((await serve((_refusal, _request, reply) => reply.send("plugin"), (_refusal, _request, reply) => reply.send("route"))).body).toBe("route");
  });

  test.each<[what: string, respond: Respond]>([
    ["an exception after fields were set", (_refusal, _request, reply) => {
      reply.headers({ location: "/x", "content-encoding": "gzip", "x-before": "no" });
      throw new Error("after all");
    }],
    ["a promise that never settles", () => new Promise(() => {})],
  ])("L17 · %s leaves the standard document", async (_, respond) => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    const { statusCode, headers, json } = await serve(respond);
    expect([statusCode, (json() as { code: string }).code]).toEqual([429, "rate_limited"]);
    expect(["ratelimit-remaining", "retry-after", "x-before", "location", "content-encoding"].map((name) => headers[name])).toEqual(["0", "1", "yes", undefined, undefined]);
  });

  test("tells handlers what was decided, by the plugins of both scopes", async () => {
    const app = framework();
    await app.register(forFastify.rateLimit, { ...oneToken("outer"), key: () => "ann" });
    await app.register(async (inner) => {
      await inner.register(forFastify.rateLimit, { ...oneToken("inner"), key: () => "ann" });
      inner.get("/", async (request) => [forFastify.decisionOf(request)?.policy, forFastify.decisionsOf(request).map(({ policy }) => policy)]);
    });
    onTestFinished(() => app.close());
    expect((await app.inject("/")).json()).toEqual(["inner", ["outer", "inner"]]);
  });
});

describe("Hono", () => {
  type Respond = NonNullable<forHono.HonoRateLimitOptions["respond"]>;

  function serve(respond: Respond, method = "GET") {
    const app = new Hono();
    app.use(async (c, next) => {
      c.header("X-Before", "yes");
      c.header("Cache-Control", "public");
      await next();
    });
    app.use(forHono.rateLimit({ ...limits(), respond }));
    app.get("/", (c) => c.text("ok"));
    return refused(async () => app.request("/", { method }));
  }

  test.each<[what: string, respond: Respond, wanted: unknown[]]>([
    ["makes a response by the context", (refusal, c) => c.html(`<p>${refusal.retryAfter}</p>`, 429), [429, "no-store", "<p>1</p>"]],
    ["sets Cache-Control itself", (_refusal, c) => (c.header("Cache-Control", "private"), c.text("slow down", 503)), [503, "private", "slow down"]],
    ["redirects", (_refusal, c) => c.redirect("/slow-down"), [302, "no-store", ""]],
    ["makes a response of the platform's", () => new Response("slow down", { status: 420 }), [420, "no-store", "slow down"]],
    ["passes on what cannot be changed", async () => Response.redirect("http://localhost/slow-down", 303), [303, "no-store", ""]],
    ["cannot take the fields away", () => new Response("x", { headers: { "RateLimit-Remaining": "9", "Retry-After": "9" } }), [200, "no-store", "x"]],
  ])("%s", async (_, respond, [status, cacheControl, body]) => {
    const response = await serve(respond);
    expect([...told(response), response.headers.get("cache-control"), response.headers.get("x-before"), await response.text()]).toEqual([status, "0", "1", cacheControl, "yes", body]);
    const head = await serve(respond, "HEAD");
    expect([...told(head), await head.text()]).toEqual([status, "0", "1", ""]);
  });

  test.each<[what: string, respond: Respond]>([
    ["the context's", (_refusal, c) => {
      c.header("Set-Cookie", "own=1", { append: true });
      c.header("Vary", "Accept", { append: true });
      return c.text("slow down", 429);
    }],
    ["the platform's", () => new Response("slow down", { headers: { "Set-Cookie": "own=1", Vary: "accept" } })],
    ["the platform's, with the field of the earlier middleware", () => new Response("slow down", { headers: { "Set-Cookie": "own=1", Vary: "Accept, origin" } })],
  ])("cookies and Vary of earlier middleware add to those of a response of %s", async (_, respond) => {
    const app = new Hono();
    app.use(async (c, next) => {
      c.header("Set-Cookie", "a=1", { append: true });
      c.header("Set-Cookie", "b=1", { append: true });
      c.header("Vary", "Origin");
      await next();
    });
    app.use(forHono.rateLimit({ ...limits(), respond }));
    app.get("/", (c) => c.text("ok"));
    const { headers } = await refused(async () => app.request("/"));
    expect([headers.getSetCookie(), headers.get("vary")?.toLowerCase()]).toEqual([["a=1", "b=1", "own=1"], "origin, accept"]);
  });

  const page = new Response("one for all");
  test.each<[what: string, respond: Respond]>([
    ["an exception after fields were set", (_refusal, c) => {
      c.status(200);
      c.header("Location", "/x");
      c.header("X-Before", "no");
      throw new Error("after all");
    }],
    ["text in place of a response", () => "slow down" as unknown as Response],
    ["nothing", () => undefined as unknown as Response],
    ["a network error", () => Response.error()],
    ["a promise that never settles", () => new Promise(() => {})],
    ["a response that was used before", async () => (await page.text().catch(() => ""), page)],
  ])("L17 · %s leaves the standard document", async (_, respond) => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    const response = await serve(respond);
    expect(["location", "x-before"].map((name) => response.headers.get(name))).toEqual([null, "yes"]);
    await expectStandard(response);
  });

  test("tells handlers what was decided", async () => {
    const app = new Hono();
    for (const name of ["outer", "inner"]) app.use(forHono.rateLimit({ ...oneToken(name), key: () => "ann" }));
    app.get("/", (c) => c.json([forHono.decisionOf(c)?.policy, forHono.decisionsOf(c).map(({ policy }) => policy)]));
    expect(await (await app.request("/")).json()).toEqual(["inner", ["outer", "inner"]]);
  });

  test("an app under `route` knows the outer limit, and one under `mount`, which gets another request, does not", async () => {
    const [app, inner] = [new Hono(), new Hono()];
    for (const each of [app, inner]) each.use(forHono.rateLimit({ ...oneToken(each === app ? "outer" : "inner"), key: (c) => c.req.header("user") }));
    inner.get("/", (c) => c.json(forHono.decisionsOf(c).map(({ policy }) => policy)));
    app.route("/route", inner).mount("/mount", inner.fetch);
    const ask = async (path: string, user: string) => {
      const response = await app.request(path, { headers: { user } });
      return [await response.json(), response.headers.get("ratelimit-policy")];
    };
    expect(await ask("/route", "ann")).toEqual([["outer", "inner"], '"outer";q=1;w=1, "inner";q=1;w=1']);
    expect(await ask("/mount", "bob")).toEqual([["inner"], '"inner";q=1;w=1']);
  });
});

describe("web", () => {
  test("`respond` gets the other arguments of the handler, and answers at once when it can", async () => {
    const limited = forWeb.rateLimit({
      ...limits(),
      key: (_request: Request, tenant: string) => tenant,
      respond: (refusal, request, tenant) => new Response(`${tenant}: ${refusal.message} ${new URL(request.url).pathname}`, { status: 420 }),
    })(() => new Response("ok"));
    const ask = () => limited(new Request("http://localhost/inbox"), "acme");
    await ask();
    const response = ask();
    expect(response).toBeInstanceOf(Response);
    expect([...told(await response), await (await response).text()]).toEqual([420, "0", "1", "acme: Too many requests. Try again in 1 second. /inbox"]);
  });

  test("tells handlers what was decided, before a response is made", async () => {
    const [outer, inner] = ["outer", "inner"].map((name) => forWeb.rateLimit({ ...oneToken(name), key: () => "ann" }));
    const handle = outer?.(inner?.((request) => Response.json(forWeb.decisionsOf(request).map(({ policy }) => policy))) as never);
    expect(await (await handle?.(new Request("http://localhost/")))?.json()).toEqual(["outer", "inner"]);
  });
});

describe("Node", () => {
  test("tells the listener what was decided", async () => {
    const limited = forNode.rateLimit({ ...oneToken(), key: () => "ann" })((request: IncomingMessage, response: ServerResponse) => response.end(String(forNode.decisionOf(request)?.remaining)));
    const server = await listen(createServer(limited));
    onTestFinished(() => void server.close());
    expect(await (await fetch(url(server))).text()).toBe("0");
  });

  test("HTTP/2: sends what `respond` sends, and the standard document when it fails", async () => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    const respond = vi.fn<(refusal: Refusal, request: Http2ServerRequest, response: Http2ServerResponse) => unknown>();
    respond.mockImplementationOnce((_refusal, _request, response) => response.end("slow down"));
    respond.mockImplementation((_refusal, _request, response) => {
      response.setHeader("location", "/x");
      throw new Error("after all");
    });
    const limited = forNode.rateLimit<Http2ServerRequest, Http2ServerResponse>({ ...limits(), respond })((_request, response) => response.end("ok"));
    const server = createHttp2Server(limited as never);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(() => (client.close(), void server.close()));
    const ask = () =>
      new Promise<[unknown, unknown, unknown, string]>((resolve) => {
        let text = "";
        const stream = client.request({ ":path": "/" });
        stream.setEncoding("utf8").on("data", (piece: string) => (text += piece));
        stream.on("response", (headers) => stream.on("end", () => resolve([headers[":status"], headers["retry-after"], headers["location"], text])));
      });
    expect(await ask()).toEqual([200, undefined, undefined, "ok"]);
    expect(await ask()).toEqual([429, "1", undefined, "slow down"]);
    expect(await ask()).toEqual([429, "1", undefined, expect.stringContaining("rate_limited")]);
  });
});

test.each([
  ["express", () => forExpress.rateLimit({ ...limits(), respond: "no" as never }), new TypeError('Expected `respond` to be a function, got "no"')],
  ["web", () => forWeb.rateLimit({ ...limits(), unidentified: "throw" as never }), new RangeError('Expected `unidentified` to be "share" or "refuse" or "skip", got "throw"')],
])("a wrong option is refused when the middleware of %s is made", (_, make, error) => {
  expect(make).toThrow(error);
});
