import { once } from "node:events";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { get as ask, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { fastify, type FastifyInstance, type FastifyReply } from "fastify";
import { fastify as fastify4 } from "fastify4";
import { rateLimit } from "sluice/fastify";
import { draft11, triple } from "sluice/http";
import { describe, expect, onTestFinished, test } from "vitest";
import { oneToken } from "./setup.js";
import { hearWarnings } from "../helpers/warned.js";
import { expectWarnings } from "../setup/warnings.js";

const versions = [
  { name: "Fastify 4", framework: fastify4 as unknown as typeof fastify },
  { name: "Fastify 5", framework: fastify },
];

const options = (name?: string) => ({ ...oneToken(name), key: () => "ann" });

/** What a handler writes to the raw response, and the fields that are not the limiter's own. */
const heads: Record<string, [handler: (reply: FastifyReply) => unknown, changed?: Record<string, string | undefined>]> = {
  "end": [(reply) => reply.hijack().raw.end("ok")],
  "write, then end": [(reply) => (reply.hijack().raw.write("o"), reply.raw.end("k"))],
  "flushHeaders": [(reply) => (reply.hijack().raw.flushHeaders(), reply.raw.end("ok"))],
  "writeHead with a status": [(reply) => reply.hijack().raw.writeHead(200).end("ok")],
  "writeHead with a message": [(reply) => reply.hijack().raw.writeHead(200, "Fine", { "x-own": "1" }).end("ok"), { "x-own": "1" }],
  "writeHead with an object": [(reply) => reply.hijack().raw.writeHead(200, { "X-Own": "1" }).end("ok"), { "x-own": "1" }],
  "writeHead with a list": [(reply) => reply.hijack().raw.writeHead(200, ["X-Own", "1"]).end("ok"), { "x-own": "1" }],
  "no hijack": [(reply) => void reply.raw.writeHead(200).end("ok")],
  "a field in the object of writeHead": [(reply) => reply.hijack().raw.writeHead(200, { "RateLimit-Limit": "777" }).end("ok"), { "ratelimit-limit": "777" }],
  "a field in lower case in the object of writeHead": [(reply) => reply.hijack().raw.writeHead(200, { "ratelimit-limit": "777" }).end("ok"), { "ratelimit-limit": "777" }],
  "a field by setHeader": [(reply) => (reply.hijack().raw.setHeader("RateLimit-Limit", "777"), reply.raw.end("ok")), { "ratelimit-limit": "777" }],
  "a field by the reply": [(reply) => reply.header("RateLimit-Limit", "777").hijack().raw.end("ok"), { "ratelimit-limit": "777" }],
  "a field removed from the reply": [(reply) => reply.removeHeader("RateLimit-Limit").hijack().raw.end("ok"), { "ratelimit-limit": undefined }],
  "a field removed from a reply that sends": [(reply) => reply.removeHeader("RateLimit-Limit").send("ok"), { "ratelimit-limit": undefined }],
  "a field changed in a reply that sends": [(reply) => reply.header("RateLimit-Limit", "777").send("ok"), { "ratelimit-limit": "777" }],
};

const own = { "ratelimit-limit": "1", "ratelimit-remaining": "0", "ratelimit-reset": "1", "ratelimit-policy": '"one";q=1;w=1', "ratelimit": '"one";r=0;t=1', "x-own": undefined };

describe.each(versions)("$name", ({ framework }) => {
  async function listen(http2: boolean, handler: (reply: FastifyReply) => unknown) {
    const app: FastifyInstance = http2 ? (framework({ http2 }) as unknown as FastifyInstance) : framework();
    onTestFinished(() => void app.close());
    await app.register(rateLimit, options());
    app.get("/", (_request, reply) => void handler(reply));
    await app.listen({ port: 0, host: "127.0.0.1" });
    return { app, port: (app.server.address() as AddressInfo).port };
  }

  test.each(Object.entries(heads))("the head has the fields over HTTP/1.1: %s", async (_, [handler, changed]) => {
    const { port } = await listen(false, handler);
    expect(await overHttp1(port)).toMatchObject({ body: "ok", status: 200, headers: { ...own, ...changed } });
  });

  test.each(Object.entries(heads))("the head has the fields over HTTP/2: %s", async (name, [handler, changed]) => {
    // Node warns once in a process that HTTP/2 has no messages.
    const warnings = name === "writeHead with a message" ? hearWarnings() : [];
    const { port } = await listen(true, handler);
    expect(await overHttp2(port)).toMatchObject({ body: "ok", status: 200, headers: { ...own, ...changed } });
    expect(warnings.filter((line) => !line.startsWith("UnsupportedWarning: Status message"))).toEqual([]);
  });

  // Bun's writeHead calls setHeader for each field.
  const hooks: [which: string, isLimited: boolean, thrown: unknown][] = [
    ["alone, with an Error", false, new Error("hook")],
    ["with the limit and an Error", true, new Error("hook")],
    ["with the limit and undefined", true, undefined],
  ];
  test.each(hooks)("L17 · a hook on `setHeader` that throws, where writeHead calls it, ends in the error page of Fastify %s", async (_, isLimited, thrown) => {
    if (isLimited) expectWarnings("SLUICE_FUNCTION_FAILED");
    const app = framework();
    onTestFinished(() => void app.close());
    app.addHook("onRequest", (_request, reply, next) => {
      const { writeHead, setHeader } = reply.raw;
      reply.raw.setHeader = (name, value) => {
        if (/^ratelimit/i.test(name)) throw thrown;
        return setHeader.call(reply.raw, name, value);
      };
      reply.raw.writeHead = ((status: number, fields: Record<string, string> = {}) => {
        for (const [name, value] of Object.entries(fields)) reply.raw.setHeader(name, value);
        return writeHead.call(reply.raw, status);
      }) as typeof writeHead;
      next();
    });
    if (isLimited) await app.register(rateLimit, options());
    else app.addHook("onRequest", (_request, reply, next) => (reply.header("ratelimit-limit", "1"), next()));
    app.get("/", async () => "ok");
    await app.listen({ port: 0, host: "127.0.0.1" });
    expect((await overHttp1((app.server.address() as AddressInfo).port)).status).toBe(500);
  });

  test("the head of an error page has the fields after a head by hand that fails", async () => {
    const { port } = await listen(false, (reply) => reply.raw.writeHead(42));
    expect(await overHttp1(port)).toMatchObject({ status: 500, headers: own });
  });

  test("two limits and a hook on writeHead between them add up", async () => {
    const app = framework();
    onTestFinished(() => void app.close());
    await app.register(rateLimit, { ...options(), headers: [triple()] });
    app.addHook("onRequest", (_request, reply, next) => {
      const { raw } = reply;
      const writeHead = raw.writeHead.bind(raw) as (...args: unknown[]) => typeof raw;
      raw.writeHead = (...args: unknown[]) => {
        raw.setHeader("X-Own", "1");
        return writeHead(...args);
      };
      next();
    });
    await app.register(async (inner) => {
      await inner.register(rateLimit, { ...options("two"), headers: [draft11()] });
      inner.get("/", (_request, reply) => void reply.hijack().raw.end("ok"));
    });
    await app.listen({ port: 0, host: "127.0.0.1" });
    const fields = { ...own, "ratelimit-policy": '"two";q=1;w=1', "ratelimit": '"two";r=0;t=1', "x-own": "1" };
    expect(await overHttp1((app.server.address() as AddressInfo).port)).toMatchObject({ status: 200, headers: fields });
  });

  test("an app behind an app sends its own fields beside those of the outer one", async () => {
    const inner = framework();
    await inner.register(rateLimit, { ...options("two"), headers: [draft11()] });
    inner.get("/", async () => "ok");
    await inner.ready();
    const outer = framework();
    onTestFinished(() => void Promise.all([inner.close(), outer.close()]));
    await outer.register(rateLimit, options());
    outer.get("/", (request, reply) => inner.routing(request.raw, reply.hijack().raw));
    await outer.listen({ port: 0, host: "127.0.0.1" });
    const fields = { ...own, "ratelimit-policy": '"two";q=1;w=1', "ratelimit": '"two";r=0;t=1' };
    expect(await overHttp1((outer.server.address() as AddressInfo).port)).toMatchObject({ status: 200, body: "ok", headers: fields });
  });
});

async function overHttp1(port: number): Promise<{ status: number | undefined; headers: object; body: string }> {
  const request = ask({ port, host: "127.0.0.1", agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const body = (await response.toArray()).join("");
  return { status: response.statusCode, headers: withAll(response.headers), body };
}

async function overHttp2(port: number): Promise<{ status: number | undefined; headers: object; body: string }> {
  const session = connect(`http://127.0.0.1:${port}`);
  try {
    const stream = session.request({ ":path": "/" });
    const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
    const body = (await stream.toArray()).join("");
    return { status: headers[":status"] as number | undefined, headers: withAll(headers), body };
  } finally {
    session.close();
  }
}

// `toMatchObject` tells an absent field from an undefined one.
function withAll(headers: object): object {
  return { ...Object.fromEntries(Object.keys(own).map((name) => [name, undefined])), ...headers };
}
