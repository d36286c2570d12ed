// What a `respond` leaves behind that fails late, halfway, or inside Fastify itself. Without an answer the client would wait for good.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { fastify } from "fastify";
import { fastify as fastify4 } from "fastify4";
import * as forFastify from "sluice/fastify";
import * as forNode from "sluice/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen } from "./rows/listen.js";
import { oneToken } from "./setup.js";
import { expectWarnings } from "../setup/warnings.js";

type Respond = NonNullable<forFastify.FastifyRateLimitOptions["respond"]>;
type OnSend = "none" | "holds" | "throws" | "hangs";

const circular: Record<string, unknown> = {};
circular["itself"] = circular;
const unreadable = () => new Readable({ read() { this.destroy(new Error("stream")); } });

describe.each([
  { name: "Fastify 4", framework: fastify4 as unknown as typeof fastify },
  { name: "Fastify 5", framework: fastify },
])("$name", ({ framework }) => {
  /** Asks twice: the second request is refused, and `onSend` sees only its reply. */
  async function refused(respond: Respond, { ownHandler = false, onSend = "none" as OnSend } = {}): Promise<[status: number, type: string | null, before: string | null, text: string]> {
    const app = framework();
    if (ownHandler) app.setErrorHandler(async (error: Error, _request, reply) => (await Promise.resolve(), reply.code(418).type("text/plain").send(`handled: ${error.message}`)));
    app.addHook("onRequest", async (_request, reply) => void reply.header("x-before", "yes"));
    if (onSend !== "none") {
      app.addHook("onSend", async ({ url }, _reply, payload) => {
        if (url === "/" || onSend === "holds") return (await new Promise((resolve) => setImmediate(resolve)), payload);
        if (onSend === "throws") throw new Error("hook");
        return new Promise(() => {});
      });
    }
    await app.register(forFastify.rateLimit, { ...oneToken(), key: () => "ann", functionTimeoutMs: 20, respond });
    for (const path of ["/", "/refused"]) app.get(path, async () => "ok");
    const address = await app.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => app.close());
    await (await fetch(address)).text();
    const response = await fetch(`${address}/refused`);
    return [response.status, response.headers.get("content-type")?.split(";")[0] ?? null, response.headers.get("x-before"), await response.text()];
  }

  const standard = [429, "application/problem+json", "yes", expect.stringContaining("rate_limited")];
  const unhandled = (message: string) => [500, "application/json", "yes", expect.stringContaining(message)];
  const handled = (message: string) => [418, "text/plain", "yes", expect.stringMatching(`^handled: .*${message}`)];

  test.each<[what: string, respond: Respond, message: string]>([
    ["an Error that is sent", (_refusal, _request, reply) => void reply.send(new Error("boo")), "boo"],
    ["an Error that is returned", () => new Error("boo"), "boo"],
    ["an object that cannot be JSON and is sent", (_refusal, _request, reply) => reply.send(circular), "circular"],
    ["a stream that fails before its first byte", (_refusal, _request, reply) => reply.send(unreadable()), "stream"],
  ])("L17 · %s goes to the error handler", async (_, respond, message) => {
    expect(await refused(respond)).toEqual(unhandled(message));
    expect(await refused(respond, { ownHandler: true })).toEqual(handled(message));
    expect(await refused(respond, { onSend: "holds" })).toEqual(unhandled(message));
    expect(await refused(respond, { ownHandler: true, onSend: "holds" })).toEqual(handled(message));
  });

  test("L17 · an object that cannot be JSON and is returned leaves the standard document", async () => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    for (const respond of [() => circular, async () => circular, () => ({ toJSON() {} })]) {
      expect(await refused(respond)).toEqual(standard);
      expect(await refused(respond, { ownHandler: true })).toEqual(standard);
    }
  });

  test("L17 · an object sent as text throws in `respond`, and leaves the standard document", async () => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    const respond: Respond = (_refusal, _request, reply) => reply.type("text/html").send({ a: 1 });
    expect(await refused(respond)).toEqual(standard);
    expect(await refused(respond, { ownHandler: true })).toEqual(standard);
  });

  test("L17 · an onSend hook that throws goes to the error handler", async () => {
    const respond: Respond = (_refusal, _request, reply) => reply.send("slow down");
    expect(await refused(respond, { onSend: "throws" })).toEqual(unhandled("hook"));
    // What the handler sends meets the same hook, so Fastify ends with an answer of its own.
    expect((await refused(respond, { onSend: "throws", ownHandler: true }))[3]).toContain("hook");
  });

  test.each<[what: string, respond: Respond, onSend?: OnSend]>([
    ["an onSend hook that never settles", (_refusal, _request, reply) => reply.send("slow down"), "hangs"],
    ["an exception while a hook holds the reply back", (_refusal, _request, reply) => {
      void reply.send("sent");
      throw new Error("after all");
    }, "holds"],
    ["an exception after `hijack`", (_refusal, _request, reply) => {
      reply.hijack().raw.setHeader("x-before", "no");
      throw new Error("after all");
    }],
    ["silence after `hijack`", (_refusal, _request, reply) => void reply.hijack()],
  ])("L17 · %s leaves the standard document, once", async (_, respond, onSend = "none") => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    expect(await refused(respond, { onSend })).toEqual(standard);
    expect(await refused(respond, { onSend, ownHandler: true })).toEqual(standard);
  });

  test("L17 · a second `send` changes nothing and ends no process", async () => {
    const twice: Respond = (_refusal, _request, reply) => {
      void reply.code(420).type("text/html").send("first");
      void reply.send("second");
    };
    expect(await refused(twice, { onSend: "holds" })).toEqual([420, "text/html", "yes", "first"]);
    expect(await refused(async (_refusal, _request, reply) => (void reply.code(420).type("text/html").send("first"), "second"), { onSend: "holds" })).toEqual([420, "text/html", "yes", "first"]);
  });

  test("the reason phrase of a failed `respond` is gone", async () => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    const app = framework();
    const respond: Respond = (_refusal, _request, reply) => {
      reply.raw.statusMessage = "Slow down pls";
      throw new Error("after all");
    };
    await app.register(forFastify.rateLimit, { ...oneToken(), key: () => "ann", respond });
    app.get("/", async () => "ok");
    const address = await app.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => app.close());
    await (await fetch(address)).text();
    expect((await fetch(address)).statusText).toBe("Too Many Requests");
  });
});

describe("Node", () => {
  type NodeRespond = NonNullable<forNode.NodeRateLimitOptions["respond"]>;

  /** Asks twice: the second request is refused. Returns what arrived, null for a closed connection, and Node's object of the response. */
  async function refused(respond: NodeRespond): Promise<{ arrived: [status: number, reason: string, text: string] | null; own: ServerResponse }> {
    let own: ServerResponse | undefined;
    const limited = forNode.rateLimit({ ...oneToken(), key: () => "ann", functionTimeoutMs: 20, respond })((_request: IncomingMessage, response: ServerResponse) => response.end("ok"));
    const server = await listen(createServer((request, response) => void limited(request, (own = response))));
    onTestFinished(() => void server.close());
    const ask = async (): Promise<[status: number, reason: string, text: string]> => {
      const response = await fetch(`http://127.0.0.1:${server.port}/`);
      return [response.status, response.statusText, await response.text()];
    };
    await ask();
    return { arrived: await ask().catch(() => null), own: own as ServerResponse };
  }

  const useLate = (own: ServerResponse) => () => {
    own.setHeader("x-late", "yes");
    own.appendHeader("x-late", "yes").flushHeaders();
    own.writeHead(200, { "x-late": "yes" }).write("late");
    own.end("late");
  };

  test.each<[what: string, respond: NodeRespond]>([
    ["failed", (_refusal, _request, response) => {
      response.write("begun");
      throw new Error("after all");
    }],
    ["took too long", (_refusal, _request, response) => void response.write("begun")],
  ])("L17 · a response that had begun and %s throws nothing later", async (_, respond) => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    const { arrived, own } = await refused(respond);
    expect(arrived).toBeNull();
    expect(useLate(own)).not.toThrow();
  });

  test("L17 · a response that `respond` ended throws nothing later", async () => {
    const { arrived, own } = await refused((_refusal, _request, response) => response.end("ended"));
    expect(arrived).toEqual([429, "Too Many Requests", "ended"]);
    expect(useLate(own)).not.toThrow();
  });

  test("the reason phrase of a failed `respond` is gone, and that of another one stays", async () => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    const failed = await refused((_refusal, _request, response) => {
      response.statusMessage = "Slow down pls";
      throw new Error("after all");
    });
    expect(failed.arrived?.slice(0, 2)).toEqual([429, "Too Many Requests"]);
    const { arrived } = await refused((_refusal, _request, response) => {
      response.statusMessage = "Slow down pls";
      response.end();
    });
    expect(arrived).toEqual([429, "Slow down pls", ""]);
  });
});
