// Members that other code adds to Object.prototype are no options of an adapter (CWE-1321).
import Fastify from "fastify";
import { perHour } from "sluice";
import * as forExpress from "sluice/express";
import { rateLimit as forFastify } from "sluice/fastify";
import * as forHono from "sluice/hono";
import * as forNode from "sluice/node";
import * as forWeb from "sluice/web";
import { afterEach, describe, expect, test } from "vitest";
import { NAMES, POLLUTIONS } from "../../core/pollution-names.js";

const prototype = Object.prototype as unknown as Record<string, unknown>;
const names = [...new Set(NAMES), "returns", "renews", "parts", "waits", "consume"];
const options = () => ({ policy: { name: "q", capacity: 1, refill: perHour(1) }, key: () => "u" });

afterEach(() => {
  for (const name of names) Reflect.deleteProperty(prototype, name);
});

/** Makes something while a member is on every object, and returns what it throws. */
function thrown(name: string, value: unknown, make: () => unknown): unknown {
  prototype[name] = value;
  try {
    make();
    return null;
  } catch (error) {
    return error;
  } finally {
    Reflect.deleteProperty(prototype, name);
  }
}

describe.each(Object.entries({ express: forExpress, hono: forHono, node: forNode, web: forWeb }))("sluice/%s", (_, { rateLimit }) => {
  test.each(Object.entries(POLLUTIONS))("makes its gate with every option on Object.prototype as %s", (_name, value) => {
    for (const name of names) expect([name, thrown(name, value, () => (rateLimit as (given: object) => unknown)(options()))]).toEqual([name, null]);
  });
});

test("sluice/web limits with `limits` and `limiter` on Object.prototype", async () => {
  for (const name of ["limits", "limiter"]) {
    prototype[name] = () => 0;
    const handler = forWeb.rateLimit(options())(() => new Response("ok"));
    const statuses = [(await handler(new Request("http://localhost/"))).status, (await handler(new Request("http://localhost/"))).status];
    Reflect.deleteProperty(prototype, name);
    expect(statuses).toEqual([200, 429]);
  }
});

test("sluice/fastify is registered with `limits` and `limiter` on Object.prototype", async () => {
  for (const name of ["limits", "limiter"]) {
    const app = Fastify();
    prototype[name] = () => 0;
    const registered = await Promise.resolve(app.register(forFastify, options())).then(() => "registered", String);
    Reflect.deleteProperty(prototype, name);
    await app.close();
    expect(registered).toBe("registered");
  }
});
