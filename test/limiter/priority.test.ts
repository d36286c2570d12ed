import { createLimiter, createWaiter, MemoryStore } from "sluice";
import { createGate, triple } from "sluice/http";
import { leased } from "sluice/lease";
import { casStore } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { webReader } from "sluice/web";
import { describe, expect, test } from "vitest";
import { mapBackend } from "../helpers/map-backend.js";
import { LaterStore } from "../helpers/stores.js";
import { all, bulk, testPriority } from "./priority.js";

const clock = new ManualClock(1_000_000);

describe("memory", () => testPriority(() => new MemoryStore({ clock: clock.now }), (ms) => clock.advance(ms)));

describe("compare-and-set", () => {
  testPriority(() => casStore(mapBackend(), { time: clock }), (ms) => clock.advance(ms));
});

describe("leases over a shared store", () => {
  testPriority(() => leased(new LaterStore(clock.now), { leaseMs: 100, time: { now: clock.now, wallNow: clock.now } }), (ms) => clock.advance(ms));
});

test("the local share leaves room in the same proportion", async () => {
  const store = new LaterStore(clock.now, { timeoutMs: Infinity });
  store.consume = () => Promise.reject(new Error("away"));
  const limiter = createLimiter({ policy: all, store });
  const serve = async (policy: typeof all): Promise<number> => {
    let served = 0;
    while ((await limiter.consume("ann", { policy })).allowed) served += 1;
    return served;
  };
  expect(await serve(bulk)).toBe(35);
  expect(await serve(all)).toBe(15);
});

test("a gate's fields show the budget of each request's own policy", async () => {
  const gate = createGate<Request>(
    { policy: (request) => (request.url.endsWith("/export") ? bulk : all), key: () => "ann", headers: [triple()], store: new MemoryStore({ clock: clock.now }) },
    webReader,
  );
  const fieldsOf = async (path: string) => (await gate(new Request(`http://localhost${path}`)) as { readonly fields: readonly string[] }).fields;
  expect(await fieldsOf("/export")).toEqual(["ratelimit-limit", "70", "ratelimit-remaining", "69", "ratelimit-reset", "1"]);
  expect(await fieldsOf("/inbox")).toEqual(["ratelimit-limit", "100", "ratelimit-remaining", "98", "ratelimit-reset", "2"]);
});

test("two limiters of one name with other numbers are an error that names the recipe, in production too", () => {
  const store = new MemoryStore({ clock: clock.now });
  createLimiter({ policy: all, store });
  expect(() => createLimiter({ policy: bulk, store })).toThrow(/one limiter and a `policy` for each call, see .*priority\.md$/);
});

test("a waiter names the page for the option of job queues", async () => {
  const waiter = createWaiter(createLimiter({ policy: all }));
  const text = /^Unknown option `priority`: a waiter serves in order of arrival\. To keep tokens for some calls, see .*\/guides\/priority\.md$/;
  await expect((async () => waiter.consume("ann", { priority: 1 } as object))()).rejects.toThrow(text);
  expect(() => createWaiter(createLimiter({ policy: all }), { priority: 1 } as object)).toThrow(text);
});
