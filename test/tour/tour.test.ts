// The walks of src/README.md, taken. That of Redis is in test/stores/redis/tour.test.ts.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import type { createLimiter, createWaiter } from "sluice";
import type { createFetch } from "sluice/client";
import type { rateLimit } from "sluice/express";
import { afterEach, expect, test, vi } from "vitest";
import { stopsUnder, taken, TOUR } from "./tour.js";
import { walked } from "./walk.js";

afterEach(() => void vi.useRealTimers());

test("a request of Express", async () => {
  const { rateLimit: limited, walk } = await walked<{ rateLimit: typeof rateLimit }>("adapters/express.ts");
  const app = express().use(limited({ policy: { name: "api", refill: { tokens: 10, everyMs: 1_000 } }, key: () => ["user", "42"] }));
  app.get("/", (_request, response) => void response.json({}));
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const ran = walk();
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await response.text();
  server.close();
  server.closeAllConnections();
  expect(response.status).toBe(200);
  const stops = stopsUnder("A request of Express");
  expect(taken(stops, ran)).toEqual(stops);
});

test("a caller who waits", async () => {
  const sluice = await walked<{ createLimiter: typeof createLimiter; createWaiter: typeof createWaiter }>(
    "limiter/create-limiter.ts", "limiter/waiting/create-waiter.ts",
  );
  vi.useFakeTimers();
  const waiter = sluice.createWaiter(sluice.createLimiter({ policy: { name: "api", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } } }));
  await waiter.consume("42");
  const ran = sluice.walk();
  const waiting = waiter.consume("42");
  await vi.advanceTimersByTimeAsync(1_010);
  expect(await waiting).toMatchObject({ allowed: true });
  const stops = stopsUnder("A caller who waits");
  expect(taken(stops, ran)).toEqual(stops);
});

test("a call of the client", async () => {
  const { createFetch: made, walk } = await walked<{ createFetch: typeof createFetch }>("client/index.ts");
  vi.useFakeTimers();
  const responses = [new Response("{}", { status: 429, headers: { "Retry-After": "1" } }), new Response("{}")];
  const obeying = made({ fetch: () => Promise.resolve(responses.shift() as Response) });
  const ran = walk();
  const answer = obeying("http://localhost/inbox");
  await vi.advanceTimersByTimeAsync(5_000);
  expect((await answer).status).toBe(200);
  const stops = stopsUnder("A call of the client");
  expect(taken(stops, ran)).toEqual(stops);
});

test("a function that is not entered, or later than the tour says, is no stop in its place", () => {
  expect(taken(["a", "b"], ["b", "c", "a"])).toEqual(["b", "a"]);
  expect(taken(["a", "b"], ["a"])).toEqual(["a"]);
});

test("the tour is read in one sitting: at most 210 lines, and about twelve stops on each walk", () => {
  expect(TOUR.split("\n").length).toBeLessThanOrEqual(210);
  for (const walk of ["A request of Express", "A decision in Redis", "A settlement over Redis", "A renewal", "A caller who waits", "A call of the client"]) {
    expect(stopsUnder(walk).length, walk).toBeGreaterThan(8);
    expect(stopsUnder(walk).length, walk).toBeLessThan(15);
  }
});
