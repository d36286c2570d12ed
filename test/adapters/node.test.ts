import { createServer, ServerResponse, IncomingMessage } from "node:http";
import * as http2 from "node:http2";
import type { Socket } from "node:net";
import { createLimiter, perSecond } from "sluice";
import { vendorHeaders, type Outcome } from "sluice/http";
import { rateLimit } from "sluice/node";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { soon } from "../helpers/soon.js";
import { hearWarnings } from "../helpers/warned.js";
import { send } from "../http/wire.js";
import { listen } from "./rows/listen.js";
import { oneToken, told } from "./setup.js";

describe("a wrapped listener", () => {
  test("gives back what the listener returns, at once or later", async () => {
    const at = (key: () => string | Promise<string>) => rateLimit({ ...oneToken(), key })(() => "done")(request(), response());
    expect(at(() => "ann")).toBe("done");
    expect(await at(() => Promise.resolve("ann"))).toBe("done");
  });

  test("lets the listener's errors out", () => {
    const failure = new Error("failed");
    const fail = (): never => {
      throw failure;
    };
    const limited = rateLimit({ ...oneToken(), key: () => "ann" });
    expect(() => limited(fail)(request(), response())).toThrow(failure);
  });

  test("answers 500 with a warning when the key fails, thrown or rejected, and the server lives on", async () => {
    const warnings = hearWarnings();
    const failure = new Error("failed");
    const fail = (): never => {
      throw failure;
    };
    for (const key of [fail, () => Promise.reject(failure)]) {
      const answer = response();
      await rateLimit({ ...oneToken(), key })(() => expect.unreachable())(request(), answer);
      expect([answer.statusCode, answer.getHeader("RateLimit-Remaining"), answer.writableEnded]).toEqual([500, undefined, true]);
    }
    expect(warnings).toEqual([String(failure), String(failure)]);
  });

  test("L18 · a policy that is undefined or null fails, and is neither the limiter's own nor no limit", async () => {
    const limiter = createLimiter({ policy: { capacity: 9, refill: perSecond(1) } });
    const key = () => "ann";
    for (const policy of [undefined, null, Promise.resolve(undefined), Promise.resolve(null)] as never[]) {
      for (const options of [{ key, policy: () => policy }, { key, limiter, policy: () => policy }]) {
        const seen: unknown[] = [];
        await rateLimit({ ...options, onError: (error: unknown) => void seen.push(error) })(() => expect.unreachable())(request(), response());
        await soon(() => expect(seen).toEqual([expect.objectContaining({ message: expect.stringContaining("policy()") as string })]));
      }
    }
    expect(limiter.peek("ann").remaining).toBe(9);
  });

  test("leaves the answer to onError", async () => {
    const seen: unknown[] = [];
    const onError = (error: unknown, _: IncomingMessage, answer: ServerResponse): void => {
      seen.push(error);
      answer.statusCode = 400;
    };
    const answer = response();
    rateLimit({ ...oneToken(), key: () => "ann", cost: () => Number.NaN, onError })(() => expect.unreachable())(request(), answer);
    expect([seen.length, answer.statusCode]).toEqual([1, 400]);
    expect(() => rateLimit({ ...oneToken(), key: () => "ann", onError: true as never })).toThrow("Expected `onError` to be a function, got true");
  });

  test("gives onError what is thrown while a refusal is sent, and else answers 500", async () => {
    const warnings = hearWarnings();
    const failure = new Error("hooked");
    const hooked = (): ServerResponse => {
      const answer = response();
      vi.spyOn(answer, "writeHead").mockImplementationOnce(() => {
        throw failure;
      });
      return answer;
    };
    const seen: unknown[] = [];
    for (const key of [() => "ann", async () => "ann"]) {
      const wrap = (options = {}) => rateLimit({ ...oneToken(), key, cost: () => 2, ...options })(() => expect.unreachable());
      await wrap({ onError: (error: unknown) => void seen.push(error) })(request(), hooked());
      const answer = hooked();
      await wrap()(request(), answer);
      expect([answer.statusCode, answer.writableEnded]).toEqual([500, true]);
    }
    expect(seen).toEqual([failure, failure]);
    expect(warnings).toEqual([String(failure), String(failure)]);
  });

  test("sends a refusal's field even when its name is __proto__", async () => {
    const headers = [vendorHeaders({ remaining: "__proto__" })];
    const server = await listen(createServer(rateLimit({ ...oneToken(), key: () => "ann", headers })((_request, answer) => answer.end("ok"))));
    onTestFinished(() => void server.close());
    await send(server.port);
    const refused = await send(server.port);
    expect([refused.status, refused.field("__proto__"), refused.field("retry-after")]).toEqual([429, "0", "1"]);
  });

  test("shares its budget with the others that one limit wraps", () => {
    const limited = rateLimit({ ...oneToken(), key: () => "ann" });
    const second = response();
    limited(() => {})(request(), response());
    limited(() => {})(request(), second);
    expect(second.statusCode).toBe(429);
  });

  test("41 · works in Node's own http server, fetched by name in any case", async () => {
    const limited = rateLimit({ ...oneToken(), key: () => "ann" });
    const server = await listen(createServer(limited((_request, response) => response.end("ok"))));
    onTestFinished(() => void server.close());
    const get = async () => told(await fetch(`http://127.0.0.1:${server.port}`));
    expect(await get()).toEqual([200, "0", null]);
    expect(await get()).toEqual([429, "0", "1"]);
  });
});

describe("41 · http2", () => {
  test("tells the budget, refuses, and sends no body to a HEAD", async () => {
    const limited = rateLimit<http2.Http2ServerRequest, http2.Http2ServerResponse>({ ...oneToken(), key: (request) => request.headers["x-user"]?.toString() });
    const ask = await serveHttp2(limited((_request, response) => response.end("ok")));

    const allowed = await ask("GET");
    expect(allowed).toMatchObject({ body: "ok", fields: { ":status": 200, "ratelimit-remaining": "0", "ratelimit-limit": "1" } });
    const refused = await ask("GET");
    expect(refused.fields).toMatchObject({ ":status": 429, "retry-after": "1", "ratelimit-reset": "1", ratelimit: '"one";r=0;t=1', "cache-control": "no-store" });
    expect(JSON.parse(refused.body)).toMatchObject({ code: "rate_limited", status: 429 });
    const head = await ask("HEAD");
    expect(head.body).toBe("");
    expect({ ...head.fields, date: "" }).toEqual({ ...refused.fields, date: "" });
  });

  test("tells aborted requests from answered ones", async () => {
    const outcomes: Outcome[] = [];
    const limited = rateLimit<http2.Http2ServerRequest, http2.Http2ServerResponse>({
      ...oneToken(),
      key: () => "ann",
      cost: 0,
      actualCost: (outcome) => void outcomes.push(outcome),
    });
    const reached: Array<() => void> = [];
    const ask = await serveHttp2(limited((request, response) => (request.url === "/slow" ? reached.shift()?.() : response.end("ok"))));
    await ask("GET");
    await ask("HEAD");
    await ask("GET", "/slow", (giveUp) => reached.push(giveUp));
    await expect.poll(() => outcomes).toEqual([{ status: 200, aborted: false }, { status: 200, aborted: false }, { status: 499, aborted: true }]);
  });

  test("tells requests that were aborted before they were allowed", async () => {
    const outcomes: Outcome[] = [];
    const limited = rateLimit<http2.Http2ServerRequest, http2.Http2ServerResponse>({
      ...oneToken(),
      key: (request) => new Promise((resolve) => request.stream.once("close", () => resolve("ann"))),
      actualCost: (outcome) => (outcomes.push(outcome), 0),
    });
    const ask = await serveHttp2(limited((_request, response) => response.end("too late")));
    await ask("GET", "/", (giveUp) => setImmediate(giveUp));
    await expect.poll(() => outcomes).toEqual([{ status: 499, aborted: true }]);
  });
});

function request(): IncomingMessage {
  return Object.assign(new IncomingMessage(null as unknown as Socket), { method: "GET", url: "/" });
}

function response(): ServerResponse {
  return new ServerResponse(request());
}

interface Http2Answer {
  readonly fields: http2.IncomingHttpHeaders;
  readonly body: string;
}

type Asker = (method: string, path?: string, begun?: (giveUp: () => void) => void) => Promise<Http2Answer>;

async function serveHttp2(listener: (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse) => unknown): Promise<Asker> {
  const server = http2.createServer((request, response) => void listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const session = http2.connect(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
  onTestFinished(() => {
    session.destroy();
    server.close();
  });
  return (method, path = "/", begun) =>
    new Promise((resolve) => {
      const stream = session.request({ ":method": method, ":path": path, "x-user": "ann" }).setEncoding("utf8");
      let fields: http2.IncomingHttpHeaders = {};
      let body = "";
      begun?.(() => stream.close(http2.constants.NGHTTP2_CANCEL));
      stream.on("response", (head) => (fields = head));
      stream.on("data", (text: string) => (body += text));
      stream.on("close", () => resolve({ fields, body }));
    });
}
