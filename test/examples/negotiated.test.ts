import { createServer } from "node:http";
import { ManualClock } from "sluice/testing";
import { expect, onTestFinished, test } from "vitest";
import { site } from "../../examples/negotiated/answers.js";
import { listen } from "../adapters/rows/listen.js";

/** A user who has spent both requests, and what the next one gets. */
async function next(path: string, accept: string, method = "GET"): Promise<Response> {
  const server = await listen(createServer(site({ userOf: () => "ann", clock: new ManualClock().now })));
  onTestFinished(() => void server.close());
  const ask = () => fetch(`http://127.0.0.1:${server.port}${path}`, { method, headers: { accept } });
  expect([(await ask()).status, (await ask()).status]).toEqual([200, 200]);
  return ask();
}

const REFUSED = "Too many requests. Try again in 10 seconds.";
const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

test.each<[who: string, accept: string, type: string, body: unknown]>([
  ["a browser", BROWSER, "text/html; charset=utf-8", `<!doctype html><title>Too Many Requests</title><p>${REFUSED}</p>`],
  ["curl", "*/*", "application/problem+json; charset=utf-8", expect.stringContaining('"code":"rate_limited"')],
  ["an API client", "application/problem+json, application/json", "application/problem+json; charset=utf-8", expect.stringContaining(REFUSED)],
  ["a client of plain JSON", "application/json", "application/problem+json; charset=utf-8", expect.stringContaining(REFUSED)],
  ["a client of another type", "image/png", "application/problem+json; charset=utf-8", expect.stringContaining(REFUSED)],
])("%s gets what it reads", async (_, accept, type, body) => {
  const response = await next("/", accept);
  expect([response.status, response.headers.get("content-type"), await response.text()]).toEqual([429, type, body]);
  expect(["retry-after", "ratelimit", "cache-control", "vary"].map((name) => response.headers.get(name))).toEqual(["10", '"site";r=0;t=10', "no-store", "Accept"]);
});

test.each<[accept: string, status: number, type: string]>([
  ["application/graphql-response+json, application/json;q=0.9", 429, "application/graphql-response+json; charset=utf-8"],
  ["application/json", 200, "application/json; charset=utf-8"],
  ["*/*", 200, "application/json; charset=utf-8"],
])("a GraphQL client that accepts %s gets GraphQL's errors", async (accept, status, type) => {
  const response = await next("/graphql", accept, "POST");
  expect([response.status, response.headers.get("content-type"), response.headers.get("retry-after")]).toEqual([status, type, "10"]);
  expect(await response.json()).toEqual({ errors: [{ message: REFUSED, extensions: { code: "RATE_LIMITED", retryAfter: 10 } }] });
});

test("a handler knows what is left", async () => {
  const server = await listen(createServer(site({ userOf: () => "ann", clock: new ManualClock().now })));
  onTestFinished(() => void server.close());
  expect(await (await fetch(`http://127.0.0.1:${server.port}/`)).json()).toEqual({ messages: [], left: 1 });
});
