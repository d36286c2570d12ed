// Failures between the decision and the end of the response: the tokens in flight come back.
import { Hono } from "hono";
import { MemoryStore } from "sluice";
import { rateLimit as onHono } from "sluice/hono";
import { rateLimit as onWeb } from "sluice/web";
import { afterEach, expect, test } from "vitest";
import { soon } from "../helpers/soon.js";
import { begin, CAPACITY, closeAll, left, policy, servers, Work } from "./gate-servers.js";

afterEach(closeAll);

const key = (): string => "ann";

test.each(["node", "express", "fastify"] as const)("L21 · a hook that fails for a field of the limit gives the tokens back: %s", async (name) => {
  const [work, store] = [new Work(), new MemoryStore()];
  const before = (response: object, method: "setHeader" | "header"): void => {
    const target = response as Record<string, (...args: unknown[]) => unknown>;
    const set = target[method] as (...args: unknown[]) => unknown;
    target[method] = function (this: unknown, ...args) {
      if (String(args[0]).startsWith("ratelimit")) throw new Error("a hook");
      return set.apply(this, args);
    };
  };
  const port = await servers[name](work, store, { before });
  expect(await begin(port).status).toBe(500);
  await soon(() => expect(left(store)).toBe(CAPACITY));
  expect(work.began).toBe(0);
});

/** Responses that cannot be sent, or get no fields. */
const UNSENDABLE: Record<string, () => Response> = {
  "nothing": () => undefined as never,
  "a network error": () => Response.error(),
};

test.each(Object.entries(UNSENDABLE))("L21 · a handler that returns %s gives the tokens back: hono", async (_what, make) => {
  const store = new MemoryStore();
  const app = new Hono();
  app.use(onHono({ policy, store, key }));
  app.get("/", () => make());
  // Not `c.text`: it copies fields of the response, which throws once @hono/node-server has replaced `Response`.
  app.onError(() => new Response("error", { status: 500 }));
  await (await app.request("/")).text();
  await soon(() => expect(left(store)).toBe(CAPACITY));
});

test.each(Object.entries(UNSENDABLE))("L21 · a handler that returns %s gives the tokens back: web", async (_what, make) => {
  const store = new MemoryStore();
  const limited = onWeb({ policy, store, key });
  const request = (): Request => new Request("http://localhost/");
  expect(() => limited(make)(request())).toThrow();
  await soon(() => expect(left(store)).toBe(CAPACITY));
  await expect(limited(async () => make())(request())).rejects.toThrow();
  await soon(() => expect(left(store)).toBe(CAPACITY));
});
