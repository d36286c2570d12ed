import { createServer, type RequestListener } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { freshSluice } from "../../helpers/warned.js";

afterEach(() => void vi.restoreAllMocks());

/** The warnings that two requests cost, of which the limit lets the first through. */
async function codesOf(before: RequestListener, headers?: []): Promise<string[]> {
  const { codes } = await freshSluice();
  const { rateLimit } = await import("sluice/node");
  const options = { policy: { capacity: 1, refill: { tokens: 1, everyMs: 3_600_000 } }, key: () => "ann", ...(headers === undefined ? {} : { headers }) };
  const limited = rateLimit(options)((_, response) => void response.end("hello"));
  const server = createServer((request, response) => {
    before(request, response);
    void limited(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    for (let i = 0; i < 2; i++) await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).text();
  } finally {
    server.closeAllConnections();
    server.close();
  }
  return codes();
}

test("SLUICE_HEADERS_SENT when something sent the head before the limiter was asked", async () => {
  expect(await codesOf((_, response) => response.writeHead(200).flushHeaders())).toEqual(["SLUICE_HEADERS_SENT"]);
});

test("SLUICE_HEADERS_SENT for a refusal after the head, even without budget fields", async () => {
  expect(await codesOf((_, response) => response.writeHead(200).flushHeaders(), [])).toEqual(["SLUICE_HEADERS_SENT"]);
});

test("no warning of a head that is sent in time", async () => {
  expect(await codesOf((_, response) => void response.setHeader("X-Own", "1"))).toEqual([]);
});
