// The newest versions of the lock file. `npm run check:runtimes` does the same on the lowest.
import { once } from "node:events";
import { createServer, type Server, type ServerOptions } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { createAdaptorServer, getRequestListener } from "@hono/node-server";
import fastify from "fastify";
import fastify4 from "fastify4";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { expect, test } from "vitest";
import { bodySuite, fastifyBounded, honoBounded } from "./bodies.js";

bodySuite("fastify", fastifyBounded(fastify as never));
bodySuite("fastify 4", fastifyBounded(fastify4 as never));
bodySuite("hono", honoBounded({ Hono, bodyLimit: bodyLimit as never, getRequestListener: getRequestListener as never }));

const soon = { connectionsCheckingInterval: 10 };
const HEAD = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n";

test.each<[option: string, options: ServerOptions, sent: string, status: number]>([
  ["headersTimeout", { ...soon, headersTimeout: 50 }, HEAD, 408],
  ["requestTimeout", { ...soon, headersTimeout: 50, requestTimeout: 50 }, `${HEAD}\r\nab`, 408],
  ["maxHeaderSize", { maxHeaderSize: 1_000 }, `${HEAD}Cookie: ${"x".repeat(1_000)}\r\n\r\nabcde`, 431],
  ["none of them", {}, `${HEAD}\r\nabcde`, 200],
])("Node: `%s` ends a request that does not end", async (_, options, sent, status) => {
  const server = createServer(options, (request, response) => void request.resume().on("end", () => response.end("read"))).listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").setEncoding("utf8");
  socket.write(sent);
  const [answer] = (await once(socket, "data")) as [string];
  socket.destroy();
  server.close();
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});

test("Fastify: `requestTimeout` and `http.headersTimeout` reach the server", () => {
  for (const make of [fastify, fastify4 as unknown as typeof fastify]) {
    const { server } = make({ requestTimeout: 1_234, keepAliveTimeout: 2_345, http: { headersTimeout: 3_456 } } as never) as unknown as { readonly server: Server };
    expect([server.requestTimeout, server.keepAliveTimeout, server.headersTimeout]).toEqual([1_234, 2_345, 3_456]);
  }
});

test("Hono: `serverOptions` reach the server", () => {
  const server = createAdaptorServer({ fetch: new Hono().fetch, serverOptions: { requestTimeout: 1_234, headersTimeout: 567 } }) as Server;
  expect([server.requestTimeout, server.headersTimeout]).toEqual([1_234, 567]);
});
