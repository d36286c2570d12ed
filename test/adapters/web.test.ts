import { createServer } from "node:http";
import { Hono } from "hono";
import { definePolicy, MemoryStore, type AsyncStore } from "sluice";
import { rateLimit as onHono } from "sluice/hono";
import { createGate, type RefuseVerdict } from "sluice/http";
import { guard } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { rateLimit, refusalResponse, webReader } from "sluice/web";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen } from "./rows/listen.js";
import { oneToken, told, watchReads } from "./setup.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";

const one = () => rateLimit({ ...oneToken(), key: (request) => request.headers.get("x-user") });
const asAnn = (init: RequestInit = {}) => new Request("http://localhost/", { ...init, headers: { "x-user": "ann" } });

describe("a wrapped handler", () => {
  test("gets the runtime's other arguments", async () => {
    const limited = one()((request, env: { greeting: string }, context: number) => new Response(`${env.greeting} ${context} ${request.method}`));
    expect(await (await limited(asAnn(), { greeting: "hello" }, 7)).text()).toBe("hello 7 GET");
  });

  test("reads the request's signal before the gate decides, as Deno needs it, and only for `actualCost` and waiters", async () => {
    const { read, key, request } = watchReads();
    const ask = (options: { actualCost?: () => undefined }) => rateLimit({ ...oneToken(), key, ...options })(() => new Response("ok"))(request());
    await ask({ actualCost: () => undefined });
    expect(read).toEqual(["signal", "key"]);
    await ask({});
    expect(read).toEqual(["signal", "key", "key"]);
  });

  test("returns a Response, not a promise, when store and options are synchronous", () => {
    const limited = one()(() => new Response("ok"));
    expect(limited(asAnn())).toBeInstanceOf(Response);
    expect(limited(asAnn())).toBeInstanceOf(Response);
  });

  test("refuses, and sends no body to a HEAD", async () => {
    const limited = one()(() => new Response("ok"));
    await limited(asAnn());
    const refused = await limited(asAnn());
    expect(told(refused)).toEqual([429, "0", "1"]);
    expect(await refused.json()).toMatchObject({ code: "rate_limited" });
    const head = await limited(asAnn({ method: "HEAD" }));
    expect([head.status, head.body]).toEqual([429, null]);
  });

  test("17 · lets errors out, of the handler and of the key; an answer made outside carries no budget", async () => {
    const failure = new Error("failed");
    const fail = (): never => {
      throw failure;
    };
    expect(() => one()(fail)(asAnn())).toThrow(failure);
    await expect(one()(async () => fail())(asAnn())).rejects.toBe(failure);
    expect(() => rateLimit({ ...oneToken(), key: fail })(() => new Response("ok"))(asAnn())).toThrow(failure);
    await expect(rateLimit({ ...oneToken(), key: async () => fail() })(() => new Response("ok"))(asAnn())).rejects.toBe(failure);
  });

  test("asks about the outcome of a handler that throws or rejects, and can give the token back", async () => {
    const outcomes: unknown[] = [];
    const limit = rateLimit({ ...oneToken(), key: () => "ann", actualCost: (outcome) => (outcomes.push(outcome), outcome.status === 500 ? 0 : undefined) });
    const fail = (): never => {
      throw new Error("failed");
    };
    await expect(async () => limit(fail)(asAnn())).rejects.toThrow("failed");
    await expect(limit(async () => fail())(asAnn())).rejects.toThrow("failed");
    const response = await limit(() => new Response("ok"))(asAnn());
    expect([...told(response), await response.text()]).toEqual([200, "0", null, "ok"]);
    expect(outcomes).toEqual([500, 500, 200].map((status) => ({ status, aborted: false })));
  });

  test("asks about the outcome of a client that went away", async () => {
    const outcomes: unknown[] = [];
    const client = new AbortController();
    const limited = rateLimit({ ...oneToken(), key: () => "ann", actualCost: (outcome) => void outcomes.push(outcome) })(() => {
      client.abort();
      return new Response("ok");
    });
    await limited(asAnn({ signal: client.signal }));
    expect(outcomes).toEqual([{ status: 499, aborted: true }]);
  });
});

describe("the other arguments of the handler", () => {
  test("go to skip, key, policy and cost as well", async () => {
    interface Bindings {
      readonly name: string;
    }
    const seen: unknown[] = [];
    const see = (what: string, ...got: unknown[]): void => void seen.push([what, ...got.slice(1)]);
    const { store, policy } = oneToken();
    const defined = definePolicy(policy);
    const limited = rateLimit({
      store,
      skip: async (...got: [Request, Bindings, number]) => (see("skip", ...got), false),
      key: async (...got: [Request, Bindings, number]) => (see("key", ...got), got[1].name),
      policy: (...got: [Request, Bindings, number]) => (see("policy", ...got), defined),
      cost: (...got: [Request, Bindings, number]) => (see("cost", ...got), 1),
    })(() => new Response("ok"));
    const bindings = { name: "ann" };
    expect(told(await limited(asAnn(), bindings, 7))).toEqual([200, "0", null]);
    expect(seen).toEqual(["skip", "key", "cost", "policy"].map((what) => [what, bindings, 7]));
    expect((await limited(asAnn(), { name: "bob" }, 7)).status).toBe(200);
  });

  test("reach the key of a plain preflight", async () => {
    const keys: unknown[] = [];
    const limited = rateLimit({ ...oneToken(), key: (_request: Request, name: string) => void keys.push(name) })(() => new Response("ok"));
    const headers = { origin: "https://app.example", "access-control-request-method": "PUT" };
    await limited(new Request("http://localhost/", { method: "OPTIONS", headers }), "ann");
    expect(keys).toEqual(["ann"]);
  });

  test("give a settlement the time it takes, by waitUntil", async () => {
    const kept: unknown[] = [];
    const limited = rateLimit({ ...oneToken(), key: () => "ann", actualCost: async () => 0 })(
      (_request: Request, _bindings: unknown, _context: { waitUntil(work: Promise<unknown>): void }) => new Response("ok"),
    );
    const ask = () => limited(asAnn(), null, { waitUntil: (work) => void kept.push(work) });
    const response = await ask();
    expect([response.status, kept.length, await response.text()]).toEqual([200, 1, "ok"]);
    await kept[0];
    expect((await ask()).status).toBe(200);
  });

  test("keep their response when waitUntil fails", async () => {
    const limited = rateLimit({ ...oneToken(), key: () => "ann", actualCost: async () => 0 })((_request: Request, _context: object) => new Response("ok"));
    const waitUntil = () => {
      throw new TypeError("Illegal invocation");
    };
    const response = await limited(asAnn(), { waitUntil });
    expect([...told(response), await response.text()]).toEqual([200, "0", null, "ok"]);
    await expect.poll(async () => (await limited(asAnn(), { waitUntil })).status).toBe(200);
  });

  // A property of an RPC stub, such as a Worker's binding, is a function that calls another Worker.
  test("have no waitUntil called but that of the last", async () => {
    const calls: string[] = [];
    const stub = (name: string) => new Proxy({}, { get: (_, property) => () => void calls.push(`${name}.${String(property)}`) });
    const handler = (_request: Request, _bindings: object, _context: object) => new Response("ok");
    await rateLimit({ ...oneToken(), key: () => "ann", actualCost: () => 0 })(handler)(asAnn(), stub("bindings"), stub("context"));
    await rateLimit({ ...oneToken(), key: () => "ann" })(handler)(asAnn(), stub("bindings"), stub("context"));
    expect(calls).toEqual(["context.waitUntil"]);
  });
});

test("a settlement that never comes back holds no answer", async () => {
  const never = new Promise<boolean>(() => {});
  const inner = new MemoryStore({ clock: new ManualClock().now });
  const store: AsyncStore = storeOf({
    sync: false,
    guard: guard(),
    clock: "server",
    consume: (...asked) => Promise.resolve(callsOf(inner).consume(...asked)),
    adjust: () => never,
  });
  const limit = rateLimit({ policy: oneToken().policy, store, key: () => "ann", actualCost: () => 0 });
  const response = await limit(() => new Response("ok"))(asAnn());
  expect([...told(response), await response.text()]).toEqual([200, "0", null, "ok"]);
});

describe("refusalResponse", () => {
  const gate = createGate<Request>({ ...oneToken(), key: () => "ann" }, webReader);
  const refused = (init: RequestInit = {}) => {
    const request = new Request("http://localhost/", init);
    void gate(request);
    return { request, verdict: gate(request) as RefuseVerdict };
  };

  test("is the whole response to a refused request", async () => {
    const { request, verdict } = refused({ headers: { origin: "https://app.example" } });
    const response = await refusalResponse(verdict, request);
    expect(told(response)).toEqual([429, "0", "1"]);
    expect(response.headers.get("access-control-expose-headers")).toBe("RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy, RateLimit, Retry-After");
    expect(await response.text()).toBe(verdict.body);
  });

  test("has no body for a HEAD request, and the same fields", async () => {
    const { request, verdict } = refused({ method: "HEAD" });
    const [head, get] = [await refusalResponse(verdict, request), await refusalResponse(verdict, { method: "GET" })];
    expect([head.status, head.body, [...head.headers]]).toEqual([429, null, [...get.headers]]);
  });
});

describe("responses", () => {
  test("a redirect, whose headers cannot be changed, gets the fields on a copy", async () => {
    const response = await one()(() => Response.redirect("http://localhost/elsewhere", 303))(asAnn());
    expect([...told(response), response.headers.get("location")]).toEqual([303, "0", null, "http://localhost/elsewhere"]);
  });

  test("what fetch returned, whose headers cannot be changed either, is passed on", async () => {
    const upstream = await listen(createServer((_request, response) => response.writeHead(201, { "X-Upstream": "yes" }).end("from elsewhere")));
    onTestFinished(() => void upstream.close());
    const response = await one()(() => fetch(`http://127.0.0.1:${upstream.port}/`))(asAnn());
    expect([...told(response), response.headers.get("x-upstream"), await response.text()]).toEqual([201, "0", null, "yes", "from elsewhere"]);
  });

  test("a switch of protocols is left as it is", async () => {
    const upgrade = { status: 101, headers: new Headers(), webSocket: {} } as unknown as Response; // Node refuses to make one
    expect(await one()(() => upgrade)(asAnn())).toBe(upgrade);
    expect([...upgrade.headers]).toEqual([]);
  });

  test("that can be changed are not copied", async () => {
    const mine = new Response("ok");
    expect(await one()(() => mine)(asAnn())).toBe(mine);
  });
});

test("a 401 of one's own keeps its scheme, also on Hono", async () => {
  const ownScheme = () => new Response("no key", { status: 401, headers: { "WWW-Authenticate": "Session" } });
  const options = { ...oneToken(), key: () => undefined, unidentified: ownScheme };
  const app = new Hono().use(onHono(options)).get("/", (c) => c.text("ok"));
  for (const response of [await rateLimit(options)(() => new Response("ok"))(new Request("http://localhost/")), await app.request("/")]) {
    expect([response.status, response.headers.get("www-authenticate"), await response.text()]).toEqual([401, "Session", "no key"]);
  }
});
