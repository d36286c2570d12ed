/** Checklist of the HTTP contract, items 12, 14, 17 to 21, 37, 39 and 41: what only bytes on a socket can show. */
import { once } from "node:events";
import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { connect as connectHttp2, constants, createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { Outcome } from "sluice/http";
import { rateLimit } from "sluice/node";
import { perSecond, MemoryStore } from "sluice";
import { limit, listen, send, sendRefused, serve } from "./wire.js";

const FIELDS = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy", "RateLimit"];

test("12 · a HEAD that is refused has the fields of a GET and no body", async () => {
  const port = await serve((_, response) => response.end("hello"));
  const get = await sendRefused(port, "GET");
  const head = await send(port, "HEAD");
  expect([get.status, head.status, head.body]).toEqual([429, 429, ""]);
  for (const name of [...FIELDS, "Retry-After", "Cache-Control", "Content-Type", "Content-Length"]) {
    expect(head.field(name), name).toBe(get.field(name));
    expect(head.field(name), name).not.toBe(undefined);
  }
  expect(get.field("Content-Length")).toBe(String(Buffer.byteLength(get.body)));
});

test("14 · a 429 is never stored: no-store over what was set before, no validators, and no condition makes a 304 of it", async () => {
  const limited = limit()((_, response) => response.end("hello"));
  const port = await listen((request, response) => {
    response.setHeader("Cache-Control", "public, max-age=60");
    limited(request, response);
  });
  expect((await send(port)).field("Cache-Control")).toBe("public, max-age=60");
  const refusal = await sendRefused(port, "GET", { "if-none-match": "*", "if-modified-since": "Fri, 01 Jan 2100 00:00:00 GMT" });
  expect([refusal.status, refusal.field("Cache-Control")]).toEqual([429, "no-store"]);
  for (const name of ["ETag", "Last-Modified", "Expires", "Age"]) expect(refusal.all(name), name).toEqual([]);
});

test("17 · the fields are there when the handler answers 4xx or 5xx, throws or rejects", async () => {
  const failing = limit({ policy: { capacity: 100, refill: perSecond(1) } })((request) => {
    if (request.headers["x-how"] === "throw") throw new Error("thrown");
    return Promise.reject(new Error("rejected"));
  });
  const port = await listen((request, response) => {
    const status = Number(request.headers["x-how"]);
    if (status > 0) return limit()((_, answer) => answer.writeHead(status).end())(request, response);
    const fail = (): unknown => response.writeHead(500).end();
    try {
      Promise.resolve(failing(request, response)).catch(fail);
    } catch {
      fail();
    }
  });
  for (const [how, status] of [["404", 404], ["422", 422], ["500", 500], ["503", 503], ["throw", 500], ["reject", 500]] as const) {
    const answer = await send(port, "GET", { "x-how": how });
    expect(answer.status, how).toBe(status);
    for (const name of FIELDS) expect(answer.all(name), `${how} ${name}`).toHaveLength(1);
  }
});

test("18 · the fields are there on 204, 304, HEAD and streams, before the first byte", async () => {
  const port = await serve(
    (request, response) => {
      const how = request.headers["x-how"];
      if (how === "204" || how === "304") return response.writeHead(Number(how)).end();
      if (how !== "sse") return response.end("hello");
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n");
      response.end("data: 2\n\n");
    },
    { policy: { capacity: 100, refill: perSecond(1) } },
  );
  for (const [method, how, status] of [["GET", "204", 204], ["GET", "304", 304], ["HEAD", "", 200], ["GET", "sse", 200]] as const) {
    const answer = await send(port, method, { "x-how": how });
    expect(answer.status, how).toBe(status);
    for (const name of FIELDS) expect(answer.all(name), `${how} ${name}`).toHaveLength(1);
  }
});

test("18 · a response whose head was sent before is left alone", async () => {
  const gate = limit();
  const port = await listen((request, response) => {
    response.writeHead(200, { "x-early": "1" });
    response.write("early ");
    try {
      gate((_, answer) => answer.end("late"))(request, response);
    } catch {
      response.destroy();
    }
  });
  const through = await send(port);
  expect([through.status, through.field("X-Early"), through.all("RateLimit")]).toEqual([200, "1", []]);
  expect(through.body).toContain("late");
  await send(port);
  await send(port);
  const refused = await send(port);
  expect([refused.status, refused.all("Retry-After")]).toEqual([200, []]);
  expect(refused.body).toBe("6\r\nearly \r\n0\r\n\r\n");
});

test("19 · writeHead adds to the fields, in both of its forms, and a handler's own RateLimit-Remaining wins", async () => {
  const port = await serve((request, response) => {
    const own = request.headers["x-own"] === "1" ? { "RateLimit-Remaining": "77" } : {};
    const flat = Object.entries({ "X-Mine": "yes", ...own });
    response.writeHead(200, request.headers["x-form"] === "array" ? flat.flat() : { "X-Mine": "yes", ...own }).end();
  }, { policy: { capacity: 100, refill: perSecond(1) } });
  let left = 100;
  for (const form of ["object", "array"]) {
    for (const own of ["0", "1"]) {
      left--;
      const answer = await send(port, "GET", { "x-form": form, "x-own": own });
      expect(answer.field("X-Mine")).toBe("yes");
      for (const name of FIELDS) expect(answer.all(name), `${form} ${name}`).toHaveLength(1);
      expect(answer.field("RateLimit-Remaining")).toBe(own === "1" ? "77" : String(left));
    }
  }
});

test("20 · no field comes after the body, in a stream's trailers", async () => {
  const port = await serve((_, response) => {
    response.write("one");
    response.end("two");
  });
  const { body, field } = await send(port);
  expect([field("Transfer-Encoding"), field("RateLimit-Remaining"), field("Trailer")]).toEqual(["chunked", "2", undefined]);
  expect(body).toBe("3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
});

test("21 · a redirect that `respond` or `unidentified` sends has no Retry-After and no field of a limit", async () => {
  const seeOther = (_: unknown, __: unknown, response: ServerResponse): unknown => response.writeHead(303, { Location: "/slow-down", "X-Own": "1" }).end();
  const options = { respond: seeOther, unidentified: seeOther, key: (request: IncomingMessage) => request.headers["x-user"]?.toString() };
  const port = await serve((_, response) => response.end(), options);
  for (let i = 0; i < 3; i++) expect((await send(port, "GET", { "x-user": "ann" })).field("RateLimit-Remaining")).toBe(String(2 - i));
  for (const user of [{ "x-user": "ann" }, undefined]) {
    const { status, field, names } = await send(port, "GET", user);
    expect([status, field("Location"), field("X-Own"), field("Cache-Control")]).toEqual([303, "/slow-down", "1", "no-store"]);
    expect(names.filter((name) => /^(ratelimit|retry-after|www-authenticate)/i.test(name))).toEqual([]);
  }
});

test("37 · names are added to Access-Control-Expose-Headers, each once, and never a star", async () => {
  const limited = limit({ policy: { capacity: 100, refill: perSecond(1) } })((_, response) => response.end());
  const port = await listen((request, response) => {
    const present = request.headers["x-present"]?.toString();
    if (present !== undefined) response.setHeader("Access-Control-Expose-Headers", request.headers["x-list"] === "1" ? [present] : present);
    limited(request, response);
  });
  const exposed = async (fields: Record<string, string>): Promise<string | undefined> =>
    (await send(port, "GET", fields)).field("Access-Control-Expose-Headers");
  const origin = "https://app.example";
  expect(await exposed({})).toBe(undefined);
  expect(await exposed({ origin })).toBe(FIELDS.join(", "));
  expect(await exposed({ origin, "x-present": "X-Total ,ratelimit-limit,, Link" })).toBe(
    "X-Total, ratelimit-limit, Link, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy, RateLimit",
  );
  expect(await exposed({ origin, "x-present": "X-Total", "x-list": "1" })).toBe(["X-Total", ...FIELDS].join(", "));
  expect(await exposed({ "x-present": "X-Total" })).toBe("X-Total");
});

test("39 · a POST with a large unread body is answered, and its connection stays usable", async () => {
  let handled = 0;
  const port = await serve((request, response) => {
    handled++;
    request.resume().on("end", () => response.end("ok"));
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const body = Buffer.alloc(4_000_000, "x");
  const statuses: (number | undefined)[] = [];
  const sockets = new Set<unknown>();
  for (let i = 0; i < 6; i++) {
    const request = httpRequest({ port, host: "127.0.0.1", method: "POST", agent });
    request.end(body);
    const [response] = (await once(request, "response")) as [import("node:http").IncomingMessage];
    sockets.add(response.socket);
    statuses.push(response.statusCode);
    await once(response.resume(), "end");
  }
  expect(statuses).toEqual([200, 200, 200, 429, 429, 429]);
  expect(handled).toBe(3);
  expect(sockets.size).toBe(1);
});

test("39 · the answer comes before the body does", async () => {
  const port = await serve((_, response) => response.end());
  for (let i = 0; i < 3; i++) await send(port);
  const request = httpRequest({ port, host: "127.0.0.1", method: "POST", headers: { "content-length": "1000000" } });
  onTestFinished(() => void request.destroy());
  request.on("error", () => {});
  request.write("the first bytes of many");
  const [response] = (await once(request, "response")) as [import("node:http").IncomingMessage];
  expect(response.statusCode).toBe(429);
});

test("41 · over HTTP/1 all names are sent in lower case, on allowed and refused requests", async () => {
  const port = await serve((_, response) => response.end());
  const origin = { origin: "https://app.example" };
  const ours = (names: readonly string[]) => names.filter((name) => !/^(date|connection|keep-alive|transfer-encoding)$/i.test(name));
  const allowed = [...FIELDS.map((name) => name.toLowerCase()), "access-control-expose-headers"];
  expect(ours((await send(port, "GET", origin)).names).filter((name) => !/^content-length$/i.test(name)).toSorted()).toEqual(allowed.toSorted());
  const refused = await sendRefused(port, "GET", origin);
  expect(refused.status).toBe(429);
  expect(ours(refused.names).toSorted()).toEqual([...allowed, "retry-after", "cache-control", "content-type", "content-length"].toSorted());
});

test("41 · over HTTP/2 the same answers come, with names in lower case", async () => {
  const outcomes: Outcome[] = [];
  const actualCost = (outcome: Outcome): undefined => void outcomes.push(outcome);
  const limited = rateLimit<Http2ServerRequest, Http2ServerResponse>({
    policy: { name: "wire", capacity: 1, refill: perSecond(1) },
    store: new MemoryStore({ clock: () => 0 }),
    key: () => "ann",
    actualCost,
  });
  const listener = limited((_, response) => response.end("hello"));
  const server = createHttp2Server((request, response) => {
    try {
      listener(request, response);
    } catch {
      response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    session.close();
    server.close();
  });
  const ask = async (method: string): Promise<{ head: Record<string, unknown>; body: string }> => {
    const stream = session.request({ ":method": method, origin: "https://app.example" });
    const [head] = (await once(stream, "response")) as [Record<string, unknown>];
    let body = "";
    for await (const chunk of stream) body += String(chunk);
    return { head, body };
  };
  const first = await ask("GET");
  expect([first.head[":status"], first.head["ratelimit-remaining"], first.body]).toEqual([200, "0", "hello"]);
  expect(first.head["access-control-expose-headers"]).toBe(FIELDS.join(", "));
  const refusal = await ask("GET");
  expect([refusal.head[":status"], refusal.head["retry-after"], refusal.head["cache-control"]]).toEqual([429, "1", "no-store"]);
  expect(JSON.parse(refusal.body)).toMatchObject({ code: "rate_limited" });
  const head = await ask("HEAD");
  expect([head.head[":status"], head.head["content-length"], head.body]).toEqual([429, refusal.head["content-length"], ""]);
  expect(outcomes).toEqual([{ status: 200, aborted: false }]);
});
