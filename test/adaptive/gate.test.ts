// A gate over a limit that finds its number, on real servers: its 503, when places come back, and what is measured.
import { request as ask, type ClientRequest, type IncomingMessage } from "node:http";
import { connect, createServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import express from "express";
import { createLimiter, perMinute, MemoryStore } from "sluice";
import { rateLimit } from "sluice/express";
import { createGate, trackWork, type Refusal } from "sluice/http";
import { nodeReader, rateLimit as rateLimitOnNode } from "sluice/node";
import { webReader } from "sluice/web";
import { afterEach, describe, expect, test } from "vitest";
import { soon } from "../helpers/soon.js";
import { callers, closeAll, http2Server, servers, World } from "./servers.js";

afterEach(closeAll);

interface Begun {
  readonly head: Promise<IncomingMessage>;
  readonly text: Promise<string>;
  leave(): void;
}

function begin(port: number, path: string, send: { method?: string; headers?: Record<string, string>; body?: readonly string[] } = {}): Begun {
  const { body = [], ...options } = send;
  const sent = ask({ port, host: "127.0.0.1", path, agent: false, ...options });
  sent.on("error", () => undefined);
  for (const part of body) sent.write(part);
  sent.flushHeaders();
  if (options.method === undefined || body.length > 0) sent.end();
  const head = new Promise<IncomingMessage>((resolve) => sent.on("response", resolve));
  const text = head.then(async (response) => {
    let all = "";
    for await (const part of response) all += String(part);
    return all;
  });
  text.catch(() => undefined);
  return { head, text, leave: () => sent.destroy() };
}

const statusOf = async (begun: Begun): Promise<number> => {
  const { statusCode = 0 } = await begun.head;
  await begun.text;
  return statusCode;
};

describe.each(Object.keys(servers) as (keyof typeof servers)[])("%s", (name) => {
  test("beyond the number it answers 503 with the code, a wait at random and no RateLimit field", async () => {
    const world = new World();
    const port = await servers[name](world);
    const held = [begin(port, "/slow"), begin(port, "/slow")];
    await soon(() => expect([world.waiting, world.load.inFlight]).toEqual([2, 2]));
    const refused = begin(port, "/ok");
    const { statusCode, headers } = await refused.head;
    expect([statusCode, headers["retry-after"], headers["cache-control"]]).toEqual([503, "3", "no-store"]);
    expect(headers["content-type"]).toMatch(/^application\/problem\+json/);
    expect(Object.keys(headers).filter((field) => field.includes("ratelimit"))).toEqual([]);
    expect(JSON.parse(await refused.text)).toEqual({
      type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity", title: "Service Unavailable", status: 503,
      detail: "The service is overloaded. Try again in 3 seconds.", code: "overloaded", message: "The service is overloaded. Try again in 3 seconds.",
      retry_after: 3, "violated-policies": ["service"],
    });
    expect(world.samples).toEqual([]);
    world.releaseAll();
    expect(await Promise.all(held.map(statusOf))).toEqual([200, 200]);
    expect([world.load.inFlight, world.samples]).toEqual([0, [[10, false], [5, false]]]);
    expect(Object.keys((await held[0]?.head)?.headers ?? {}).filter((field) => field.includes("ratelimit"))).toEqual([]);
  });

  test("a place comes back with the first byte, which is also the end of what is measured", async () => {
    const world = new World();
    const port = await servers[name](world);
    const begun = begin(port, "/first");
    await begun.head;
    await soon(() => expect([world.load.inFlight, world.samples]).toEqual([0, [[5, false]]]));
    world.releaseAll();
    expect(await begun.text).toBe("onetwo");
    expect([world.load.inFlight, world.samples.length]).toEqual([0, 1]);
  });

  test("an answer without a body is measured, and so is a 5xx", async () => {
    const world = new World();
    const port = await servers[name](world);
    expect(await statusOf(begin(port, "/empty"))).toBe(204);
    expect(await statusOf(begin(port, "/fails"))).toBe(503);
    expect(await statusOf(begin(port, "/throws"))).toBe(500);
    expect(await statusOf(begin(port, "/ok", { method: "HEAD", body: [""] }))).toBe(200);
    expect([world.load.inFlight, world.samples]).toEqual([0, [[5, false], [5, true], [5, true], [5, false]]]);
  });

  test("streams of events and refusals are not measured, and keep no place", async () => {
    const world = new World();
    const port = await servers[name](world);
    const events = [begin(port, "/events"), begin(port, "/events"), begin(port, "/events")];
    for (const { head } of events) expect((await head).statusCode).toBe(200);
    expect([await statusOf(begin(port, "/refused")), await statusOf(begin(port, "/missing"))]).toEqual([429, 404]);
    expect([world.load.inFlight, world.samples]).toEqual([0, []]);
    world.releaseAll();
    expect(await events[0]?.text).toBe("onetwo");
  });

  test("a client that leaves: its place comes back when its handler writes, and its time is at least so long", async () => {
    const world = new World();
    const port = await servers[name](world);
    const begun = begin(port, "/slow");
    await soon(() => expect([world.waiting, world.load.inFlight]).toEqual([1, 1]));
    begun.leave();
    await soon(() => expect(world.closed).toBe(1));
    await new Promise((resolve) => setImmediate(resolve));
    expect([world.load.inFlight, world.left]).toEqual([1, [5]]);
    world.releaseAll();
    await soon(() => expect(world.load.inFlight).toBe(0));
    expect(world.samples).toEqual([]);
  });

  test("the upload of a body is taken off, unless it came with the head", async () => {
    const world = new World();
    const port = await servers[name](world);
    const headers = { "content-length": "6", "content-type": "text/plain" };
    expect(await statusOf(begin(port, "/ok", { method: "POST", headers, body: ["onetwo"] }))).toBe(200);
    expect(world.samples).toEqual([[5, false]]);
    if (name === "fastify") return; // it reads each body before the handler
    // Nobody reads this body, and it has not arrived when the answer begins.
    const sent = begin(port, "/slow", { method: "POST", headers });
    await soon(() => expect(world.waiting).toBe(1));
    await new Promise((resolve) => setImmediate(resolve));
    world.releaseAll();
    expect((await sent.head).statusCode).toBe(200);
    await soon(() => expect(world.load.inFlight).toBe(0));
    expect(world.samples.length).toBe(1);
    sent.leave();
  });
});

test.each(["node", "express"] as const)("%s: a place waits for a handler without a client for four usual times", async (name) => {
  const world = new World();
  const port = await servers[name](world);
  const begun = begin(port, "/slow");
  await soon(() => expect(world.waiting).toBe(1));
  begun.leave();
  await soon(() => expect([world.closed, world.left]).toEqual([1, [5]]));
  world.clock.advance(74);
  await soon(() => expect(world.load.inFlight).toBe(1));
  world.clock.advance(1);
  await soon(() => expect(world.load.inFlight).toBe(0));
  expect(world.waiting).toBe(1);
  world.releaseAll();
});

test("a client that leaves during its upload says nothing, and its place comes back, too", async () => {
  const world = new World();
  const port = await servers.express(world);
  const sent = begin(port, "/slow", { method: "POST", headers: { "content-length": "6" } });
  await soon(() => expect(world.waiting).toBe(1));
  await new Promise((resolve) => setImmediate(resolve));
  sent.leave();
  await soon(() => expect([world.closed, world.load.inFlight]).toEqual([1, 1]));
  world.clock.advance(75);
  await soon(() => expect([world.load.number, world.load.inFlight, world.left]).toEqual([2, 0, []]));
  world.releaseAll();
});

/** Begins a request whose body does not end. */
function uploading(port: number, part = "one"): ClientRequest {
  const sent = ask({ port, host: "127.0.0.1", path: "/slow", method: "POST", headers: { "content-length": "6", "content-type": "text/plain" }, agent: false });
  sent.on("error", () => undefined);
  if (part === "") sent.flushHeaders();
  else sent.write(part);
  return sent;
}

test.each(["node", "express", "fastify", "hono"] as const)("%s: bodies that arrive keep no place from others", async (name) => {
  const world = new World();
  const port = await servers[name](world, "read");
  const uploads = Array.from({ length: 2 }, () => uploading(port));
  await soon(() => expect([world.uploads, world.load.inFlight]).toEqual([2, 0]));
  const held = [begin(port, "/slow"), begin(port, "/slow")];
  await soon(() => expect([world.waiting, world.load.inFlight]).toEqual([2, 2]));
  expect(await statusOf(begin(port, "/ok"))).toBe(503);
  // Those that have arrived are at work, beyond the number if need be.
  uploads[0]?.end("two");
  await soon(() => expect([world.waiting, world.load.inFlight]).toEqual([3, 3]));
  uploads[1]?.destroy();
  expect(await statusOf(begin(port, "/ok"))).toBe(503);
  world.releaseAll();
  expect(await Promise.all(held.map(statusOf))).toEqual([200, 200]);
  await soon(() => expect([world.load.inFlight, world.load.limiter.peek("service").remaining]).toEqual([0, 2]));
});

test.each(["one", ""])("a body that nobody reads waits for the service. Of it has arrived: %j", async (part) => {
  const world = new World();
  const port = await servers.node(world);
  const uploads = [uploading(port, part), uploading(port, part)];
  await soon(() => expect([world.waiting, world.load.inFlight]).toEqual([2, 2]));
  await new Promise((resolve) => setImmediate(resolve));
  expect(await statusOf(begin(port, "/ok"))).toBe(503);
  for (const sent of uploads) sent.destroy();
  await soon(() => expect(world.closed).toBe(2));
  world.releaseAll();
});

test("at most `most` bodies that arrive take no place", async () => {
  const world = new World(); // its `most` is 2
  const port = await servers.node(world, "read");
  const uploads = Array.from({ length: 4 }, () => uploading(port));
  await soon(() => expect([world.uploads, world.load.inFlight]).toEqual([4, 2]));
  expect(await statusOf(begin(port, "/ok"))).toBe(503);
  for (const sent of uploads) sent.destroy();
});

test("time counts from the end of an upload, with what came before it was read", async () => {
  const world = new World();
  const app = express();
  app.use(rateLimit(world.options), (_request, _response, next) => void setImmediate(() => (world.clock.advance(100), next())), express.text({ type: "*/*" }));
  app.post("/", (request, response) => {
    world.clock.advance(7);
    response.send(request.body);
  });
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const sent = ask({ port, host: "127.0.0.1", method: "POST", headers: { "content-length": "6", "content-type": "text/plain" }, agent: false });
  sent.write("one");
  await soon(() => expect(world.clock.now()).toBe(100));
  world.clock.advance(1_000);
  sent.end("two");
  const status = await new Promise((resolve) => sent.on("response", (response) => (response.resume(), resolve(response.statusCode))));
  server.close();
  expect([status, world.samples]).toEqual([200, [[107, false]]]);
});

test("HTTP/2: the first byte of each stream", async () => {
  const world = new World();
  const session = connect(`http://127.0.0.1:${await http2Server(world)}`);
  const get = (path: string) => {
    const stream = session.request({ ":path": path });
    stream.on("error", () => undefined);
    const status = new Promise<number>((resolve) => stream.on("response", (fields) => resolve(Number(fields[":status"]))));
    stream.resume();
    return { stream, status };
  };
  expect([await get("/ok").status, await get("/empty").status, await get("/events").status, await get("/first").status]).toEqual([200, 204, 200, 200]);
  await soon(() => expect([world.load.inFlight, world.samples]).toEqual([0, [[5, false], [5, false], [5, false]]]));
  const [slow, gone] = [get("/slow"), get("/slow")];
  await soon(() => expect(world.load.inFlight).toBe(2));
  expect(await get("/ok").status).toBe(503);
  const before = world.closed;
  gone.stream.close();
  await soon(() => expect(world.closed).toBe(before + 1));
  world.releaseAll();
  expect(await slow.status).toBe(200);
  await soon(() => expect([world.load.inFlight, world.samples.length]).toEqual([0, 4]));
  session.close();
});

test("HTTP/2: bodies that arrive keep no place from others", async () => {
  const world = new World();
  const session = connect(`http://127.0.0.1:${await http2Server(world, "read")}`);
  const uploads = Array.from({ length: 2 }, () => session.request({ ":path": "/slow", ":method": "POST" }));
  for (const stream of uploads) stream.on("error", () => undefined).resume().write("one");
  await soon(() => expect([world.uploads, world.load.inFlight]).toEqual([2, 0]));
  const other = session.request({ ":path": "/ok" });
  expect(await new Promise((resolve) => other.resume().on("response", (fields) => resolve(fields[":status"])))).toBe(200);
  for (const stream of uploads) stream.end("two");
  await soon(() => expect([world.waiting, world.load.inFlight]).toEqual([2, 2]));
  world.releaseAll();
  await soon(() => expect(world.load.inFlight).toBe(0));
  session.close();
});

test("HTTP/2: an answer that is written to the stream itself is not measured, and its client has not left", async () => {
  const world = new World();
  const limited = rateLimitOnNode<Http2ServerRequest, Http2ServerResponse>(world.options);
  const server = createServer(limited((_request, { stream }) => {
    stream.respond({ ":status": 200 });
    stream.end("hello");
  }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const session = connect(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
  const stream = session.request({ ":path": "/" }).resume();
  await new Promise((resolve) => stream.once("close", resolve));
  await soon(() => expect([world.load.inFlight, world.samples, world.left]).toEqual([0, [], []]));
  session.close();
  server.close();
});

describe.each(Object.keys(callers) as (keyof typeof callers)[])("%s without Node", (name) => {
  const get = (path: string, init?: RequestInit) => new Request(`http://localhost${path}`, init);

  test("places come back when the response is known", async () => {
    const world = new World();
    const call = callers[name](world);
    const first = await call(get("/first"));
    expect([world.load.inFlight, world.samples]).toEqual([0, [[5, false]]]);
    world.releaseAll();
    expect(await first.text()).toBe("onetwo");
    expect([(await call(get("/empty"))).status, (await call(get("/events"))).status, (await call(get("/refused"))).status]).toEqual([204, 200, 429]);
    expect((await call(get("/ok", { method: "HEAD" }))).status).toBe(200);
    expect([world.load.inFlight, world.samples]).toEqual([0, [[5, false], [5, false], [5, false]]]);
  });

  test("refuses with 503, and counts handlers that throw as failed", async () => {
    const world = new World();
    const call = callers[name](world);
    const held = [call(get("/slow")), call(get("/slow"))];
    await soon(() => expect(world.load.inFlight).toBe(2));
    const refused = await call(get("/ok"));
    expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("ratelimit"), await refused.json()]).toMatchObject([503, "3", null, { code: "overloaded" }]);
    world.releaseAll();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
    const thrown = await call(get("/throws")).then(({ status }) => status, () => 500);
    expect([thrown, world.load.inFlight, world.samples.at(-1)]).toEqual([500, 0, [5, true]]);
  });

  test("a client that left is not measured", async () => {
    const world = new World();
    const call = callers[name](world);
    const leaving = new AbortController();
    const left = call(get("/slow", { signal: leaving.signal }));
    await soon(() => expect(world.load.inFlight).toBe(1));
    leaving.abort();
    await new Promise((resolve) => setImmediate(resolve));
    world.releaseAll();
    await left;
    await soon(() => expect([world.load.inFlight, world.samples]).toEqual([0, []]));
  });
});

test("refusals of other gates are not measured", async () => {
  const world = new World();
  const app = express();
  const policy = { name: "api", capacity: 1, refill: perMinute(1) };
  app.use(rateLimit(world.options), rateLimit({ policy, store: new MemoryStore({ clock: world.clock.now }), key: () => "ann", respond: () => ({ slow: "down" }) }));
  app.get("/", (_request, response) => void response.send("ok"));
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const [first, second] = [begin(port, "/"), begin(port, "/")];
  const heads = [await first.head, await second.head];
  server.close();
  expect(heads.map(({ statusCode }) => statusCode).sort()).toEqual([200, 429]);
  // The fields of the other limit stay.
  expect(heads.map(({ headers }) => headers["ratelimit-policy"])).toEqual(['"api";q=1;w=60', '"api";q=1;w=60']);
  expect([world.samples, world.load.inFlight]).toEqual([[[0, false]], 0]);
});

test("a gate of its own behind others keeps their fields, and `respond` answers its 503", async () => {
  const world = new World();
  const limiter = createLimiter({ policy: { name: "api", capacity: 5, refill: perMinute(5) } });
  const api = createGate<object>({ limiter, key: () => "ann" }, { method: () => "GET", header: () => null });
  const gate = createGate<object>({ ...world.options, respond: ({ status, code, retryAfter, decision }: Refusal) => ({ status, code, retryAfter, reason: decision.reason }) }, { method: () => "GET", header: () => null });
  const passed = async () => {
    const request = {};
    await api(request);
    return gate(request);
  };
  const [first] = [await passed(), await passed()];
  const refused = await passed();
  expect([first, refused]).toMatchObject([{ outcome: "pass", fields: [] }, { outcome: "refuse", status: 503 }]);
  if (refused.outcome !== "refuse" || first?.outcome !== "pass") throw new Error("unreachable");
  expect(refused.fields.filter((_, i) => i % 2 === 0)).toEqual(["retry-after", "cache-control", "content-type", "content-length"]);
  expect(refused.respond?.call()).toEqual({ status: 503, code: "overloaded", retryAfter: 3, reason: "limited" });
  const done = trackWork(first);
  world.clock.advance(9);
  await done({ status: 200, aborted: false });
  expect([world.samples, world.load.inFlight]).toEqual([[[9, false]], 1]);
});

test("a 503 from another origin exposes its wait, with a date where the styles say so", async () => {
  const world = new World();
  const gate = createGate<Request>(world.options, webReader);
  const ask = () => gate(new Request("http://localhost/", { headers: { origin: "https://example.com" } }));
  await ask();
  await ask();
  expect(await ask()).toMatchObject({ status: 503, expose: ["Retry-After"] });
  expect(nodeReader.method({ headers: {} })).toBe("GET");
});
