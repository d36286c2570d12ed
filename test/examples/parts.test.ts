// Parts of the example server that need something to go wrong, or to take its time.
import { once } from "node:events";
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { MemoryStore } from "sluice";
import { afterEach, describe, expect, test, vi } from "vitest";
import { readPolicies } from "../../examples/server/config.js";
import { buildServer as buildExpress } from "../../examples/server/express.js";
import { buildServer as buildFastify } from "../../examples/server/fastify.js";
import { buildServer as buildHono } from "../../examples/server/hono.js";
import { RequestLog } from "../../examples/server/log.js";
import { buildServer as buildNode } from "../../examples/server/node.js";
import type { BuildServer } from "../../examples/server/service.js";
import { makeStop } from "../../examples/server/shutdown.js";
import { until } from "../helpers/soon.js";

const running: Server[] = [];
afterEach(() => {
  vi.restoreAllMocks();
  for (const server of running.splice(0)) server.close().closeAllConnections();
});

async function listen(server: Server): Promise<string> {
  running.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function ask(url: string): Promise<IncomingMessage & { text: string }> {
  const [response] = (await once(get(url), "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response) text += chunk;
  return Object.assign(response, { text });
}

const builders: [framework: string, build: BuildServer][] = [
  ["node", buildNode],
  ["express", buildExpress],
  ["fastify", buildFastify],
  ["hono", buildHono],
];

test.each(builders)("a bug in the service on %s is a 500 that tells callers nothing", async (_, buildServer) => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  const bug = new Error("secret");
  const ask = (): never => {
    throw bug;
  };
  const url = await listen(await buildServer({ policies: readPolicies({}), store: Object.assign(new MemoryStore({ clock: () => 0 }), { ask }), onDecision: () => {} }));
  const response = await fetch(`${url}/inbox`, { headers: { "X-Device-Id": "tablet" } });
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({ code: "internal_error", message: "Something went wrong on our side." });
  expect(logged.mock.calls).toEqual([[bug]]);
});

describe("stopping", () => {
  test("waits for a slow answer, whose connection ends with it", async () => {
    const answers: ServerResponse[] = [];
    const server = createServer((_, response) => answers.push(response));
    const stop = makeStop(server);
    const url = await listen(server);
    const asked = ask(url);
    await until(() => answers.length === 1);

    let stopped = false;
    const done = stop().then(() => (stopped = true));
    expect(stop()).toBe(stop());
    await new Promise(setImmediate);
    expect(stopped).toBe(false);

    answers[0]?.end("late");
    const response = await asked;
    expect([response.text, response.headers.connection]).toEqual(["late", "close"]);
    await done;
  });

  test("cuts off what takes longer than the grace", async () => {
    const server = createServer(() => {}); // never answers
    const stop = makeStop(server, 1);
    const asked = ask(await listen(server));
    const failed = asked.catch((error: NodeJS.ErrnoException) => error.code);
    await once(server, "request");
    await stop();
    expect(await failed).toBe("ECONNRESET");
  });
});

test("the log tells when the client went away", async () => {
  const lines: string[] = [];
  const log = new RequestLog((line) => lines.push(line));
  const server = createServer(() => {}); // never answers
  log.follow(server);
  const socket = connect(Number(new URL(await listen(server)).port), "127.0.0.1");
  socket.write("GET /slow?token=secret HTTP/1.1\r\nHost: a\r\n\r\n");
  await once(server, "request");
  socket.destroy();
  await until(() => lines.length === 1);
  expect(JSON.parse(lines[0] as string)).toMatchObject({ method: "GET", path: "/slow", aborted: true, policy: null });
});
