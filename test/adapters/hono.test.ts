import { createServer, type Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { createAdaptorServer as createAdaptorServer1 } from "hono-node-server-1";
import { rateLimit } from "sluice/hono";
import { describe, expect, onTestFinished, test } from "vitest";
import { send } from "../http/wire.js";
import { listen } from "./rows/listen.js";
import { oneToken, told, watchReads } from "./setup.js";

const one = () => rateLimit({ ...oneToken(), key: (c) => c.req.header("x-user") });
const ann = { headers: { "x-user": "ann" } };

describe("without Node, by request and fetch", () => {
  test("tells the budget and refuses", async () => {
    const app = new Hono().use(one()).get("/", (c) => c.text("ok"));
    expect(told(await app.request("/", ann))).toEqual([200, "0", null]);
    const refused = await app.fetch(new Request("http://localhost/", ann));
    expect(told(refused)).toEqual([429, "0", "1"]);
    expect(await refused.json()).toMatchObject({ status: 429, code: "rate_limited" });
    const head = await app.request("/", { ...ann, method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([429, ""]);
  });

  test("reads the request's signal before the gate decides, as Deno needs it, and only for `actualCost` and waiters", async () => {
    const { read, key, request } = watchReads();
    const ask = (options: { actualCost?: () => undefined }) =>
      new Hono().use(rateLimit({ ...oneToken(), key, ...options })).get("/", (c) => c.text("ok")).fetch(request());
    await ask({ actualCost: () => undefined });
    expect(read).toEqual(["signal", "key"]);
    await ask({});
    expect(read).toEqual(["signal", "key", "key"]);
  });

  test("settles an outcome", async () => {
    const outcomes: unknown[] = [];
    const limited = rateLimit({ ...oneToken(), key: () => "ann", actualCost: (outcome) => (outcomes.push(outcome), 0) });
    const app = new Hono().use(limited).get("/", (c) => c.text("no", 403));
    for (let i = 0; i < 2; i++) {
      const response = await app.request("/");
      expect(told(response)).toEqual([403, "0", null]);
      expect(outcomes).toHaveLength(i); // the work ends with the body
      expect(await response.text()).toBe("no");
    }
    expect(outcomes).toEqual([{ status: 403, aborted: false }, { status: 403, aborted: false }]);
  });
});

test("keeps its response when waitUntil fails", async () => {
  const waitUntil = () => {
    throw new TypeError("Illegal invocation");
  };
  const app = new Hono().use(rateLimit({ ...oneToken(), key: () => "ann", actualCost: async () => 0 })).get("/", (c) => c.text("ok"));
  const response = await app.fetch(new Request("http://localhost/"), {}, { waitUntil, passThroughOnException: () => undefined, props: {} });
  expect(told(response)).toEqual([200, "0", null]);
});

test("gives a settlement the time it takes, where the platform has a context for it", async () => {
  const kept: unknown[] = [];
  const context = { waitUntil: (work: Promise<unknown>) => void kept.push(work), passThroughOnException: () => undefined, props: {} };
  const limited = rateLimit({ ...oneToken(), key: () => "ann", actualCost: async () => 0 });
  const app = new Hono().use(limited).get("/", (c) => c.text("ok"));
  const response = await app.fetch(new Request("http://localhost/"), {}, context);
  expect([response.status, kept.length, await response.text()]).toEqual([200, 1, "ok"]);
  await kept[0];
  expect((await app.fetch(new Request("http://localhost/"), {}, context)).status).toBe(200);
});

describe("errors", () => {
  test("17 · the answer of onError carries the fields, and so does an HTTPException's", async () => {
    const app = new Hono().use(one());
    app.onError((error, c) => (error instanceof HTTPException ? error.getResponse() : c.text(error.message, 418)));
    app.get("/", () => {
      throw new Error("broken");
    });
    app.get("/forbidden", () => {
      throw new HTTPException(403, { res: Response.error() });
    });
    app.get("/gone", () => {
      throw new HTTPException(410, { message: "gone" });
    });
    expect(told(await app.request("/", ann))).toEqual([418, "0", null]);
    expect(told(await app.request("/gone", { headers: { "x-user": "bob" } }))).toEqual([410, "0", null]);
  });

  test("17 · the answer of notFound carries the fields", async () => {
    const app = new Hono().use(one());
    expect(told(await app.request("/nowhere", ann))).toEqual([404, "0", null]);
    expect(told(await app.request("/nowhere", ann))).toEqual([429, "0", "1"]);
  });

  test("what a key throws or rejects with goes to onError", async () => {
    const fail = (): never => {
      throw new Error("no session");
    };
    for (const key of [fail, async () => fail()]) {
      const app = new Hono().use(rateLimit({ ...oneToken(), key })).get("/", (c) => c.text("ok"));
      app.onError((error, c) => c.text(error.message, 418));
      expect(told(await app.request("/"))).toEqual([418, null, null]);
    }
  });

  test("a thrown value that is no Error goes on to the server, and its token can be given back", async () => {
    const statuses: number[] = [];
    const limited = rateLimit({ ...oneToken(), key: () => "ann", actualCost: ({ status }) => (statuses.push(status), 0) });
    const app = new Hono().use(limited).get("/", () => {
      throw "a string"; // oxlint-disable-line no-throw-literal
    });
    for (let i = 0; i < 2; i++) await expect(async () => app.request("/")).rejects.toBe("a string");
    expect(statuses).toEqual([500, 500]);
  });
});

describe("responses", () => {
  test("whose headers cannot be changed get the fields on a copy, and keep their own", async () => {
    const upstream = new Response("from elsewhere", { status: 203, headers: { "x-upstream": "yes", "content-type": "text/plain" } });
    Object.defineProperty(upstream.headers, "set", { value: () => { throw new TypeError("immutable"); } });
    const app = new Hono().use(one());
    app.get("/", () => upstream);
    app.get("/redirect", () => Response.redirect("http://localhost/", 302));
    const response = await app.request("/", ann);
    expect([...told(response), response.headers.get("x-upstream"), await response.text()]).toEqual([203, "0", null, "yes", "from elsewhere"]);
    const redirect = await app.request("/redirect", { headers: { "x-user": "bob" } });
    expect([...told(redirect), redirect.headers.get("location")]).toEqual([302, "0", null, "http://localhost/"]);
  });

  test("keep each of several cookies, once", async () => {
    const app = new Hono().use(one()).get("/", () => {
      const response = Response.redirect("http://localhost/", 302);
      const headers = new Headers(response.headers);
      for (const cookie of ["a=1", "b=2"]) headers.append("set-cookie", cookie);
      return new Response(null, { status: 302, headers });
    });
    expect((await app.request("/", ann)).headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  });

  // Fields that were set before make them a Headers, otherwise they are a record.
  test.each([["no earlier fields", {}], ["an earlier field", { "x-earlier": "1" }]])("of a refusal have one length on every server, after %s", async (_, earlier) => {
    for (const create of [createAdaptorServer, createAdaptorServer1]) {
      const app = new Hono();
      app.use(async (c, next) => {
        for (const [name, value] of Object.entries(earlier)) c.header(name, value);
        await next();
      });
      app.use(rateLimit({ ...oneToken(), key: () => "ann" })).get("/", (c) => c.text("ok"));
      const server = await listen(create({ fetch: app.fetch }) as Server);
      onTestFinished(() => void server.close());
      await send(server.port);
      const refused = await send(server.port);
      expect([refused.status, refused.all("content-length"), refused.field("retry-after")]).toEqual([429, [String(refused.body.length)], "1"]);
      const head = await send(server.port, "HEAD");
      expect([head.status, head.all("content-length"), head.body]).toEqual([429, [String(refused.body.length)], ""]);
    }
  });

  test("18 · are on the response to a HEAD on every server, also where no earlier middleware sets a field", async () => {
    for (const create of [createAdaptorServer, createAdaptorServer1]) {
      const app = new Hono().use(rateLimit({ ...oneToken(), key: () => "ann" })).get("/", (c) => c.text("ok"));
      const server = await listen(create({ fetch: app.fetch }) as Server);
      onTestFinished(() => void server.close());
      const { headers, status } = await fetch(`http://127.0.0.1:${server.port}/`, { method: "HEAD" });
      expect([status, headers.get("ratelimit-remaining")]).toEqual([200, "0"]);
      expect(headers.get("content-type")).toMatch(/^text\/plain; ?charset=utf-8$/i);
    }
  });

  test("of a refusal keep each of several cookies that were set before", async () => {
    const app = new Hono();
    app.use(async (c, next) => {
      for (const cookie of ["a=1", "b=2"]) c.header("set-cookie", cookie, { append: true });
      await next();
    });
    app.use(one()).get("/", (c) => c.text("ok"));
    await app.request("/", ann);
    const refused = await app.request("/", ann);
    expect([...told(refused), refused.headers.getSetCookie()]).toEqual([429, "0", "1", ["a=1", "b=2"]]);
  });

  test("on a route under a limit of its own", async () => {
    const app = new Hono().get("/limited", one(), (c) => c.text("ok")).get("/free", (c) => c.text("ok"));
    expect(told(await app.request("/limited", ann))).toEqual([200, "0", null]);
    expect(told(await app.request("/limited", ann))).toEqual([429, "0", "1"]);
    expect(told(await app.request("/free", ann))).toEqual([200, null, null]);
  });
});

test("the middleware has a name, for stack traces", () => {
  expect(one().name).toBe("rateLimit");
});

test("what fetch returned, whose headers cannot be changed, gets the fields on every server", async () => {
  const upstream = await listen(createServer((_request, response) => response.writeHead(201, { "Set-Cookie": ["a=1", "b=2"] }).end("upstream")));
  onTestFinished(() => void upstream.close());
  for (const create of [createAdaptorServer, createAdaptorServer1]) {
    const app = new Hono().use(rateLimit({ ...oneToken(), key: () => "ann" })).get("/", () => fetch(`http://127.0.0.1:${upstream.port}/`));
    const server = await listen(create({ fetch: app.fetch }) as Server);
    onTestFinished(() => void server.close());
    const answer = await fetch(`http://127.0.0.1:${server.port}/`);
    expect([...told(answer), await answer.text()]).toEqual([201, "0", null, "upstream"]);
    expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  }
});
