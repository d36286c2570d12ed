// Members that other code adds to Object.prototype are no options of an adapter (CWE-1321).
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import { perHour } from "sluice";
import * as forExpress from "sluice/express";
import { rateLimit as forFastify } from "sluice/fastify";
import * as forHono from "sluice/hono";
import * as forNode from "sluice/node";
import * as forWeb from "sluice/web";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
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

/** What each adapter answers to three requests of one caller, whose key is found later. */
const later = () => ({ policy: { name: "q", capacity: 2, refill: perHour(1) }, key: async () => "u", cost: () => 1 });
async function overHttp(listener: RequestListener): Promise<number[]> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const ask = async () => (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)).status;
  return [await ask(), await ask(), await ask()];
}
const servers: Readonly<Record<string, () => Promise<number[]>>> = {
  express: () => overHttp(express().use(forExpress.rateLimit(later())).get("/", (_request, response) => void response.send("ok"))),
  node: () => overHttp(forNode.rateLimit(later())((_request, response) => void response.end("ok")) as RequestListener),
  async fastify() {
    const app = Fastify();
    onTestFinished(() => app.close());
    await app.register(forFastify, later());
    app.get("/", async () => "ok");
    const ask = async () => (await app.inject("/")).statusCode;
    return [await ask(), await ask(), await ask()];
  },
  async hono() {
    const app = new Hono().use(forHono.rateLimit(later())).get("/", (c) => c.text("ok"));
    const ask = async () => (await app.request("/")).status;
    return [await ask(), await ask(), await ask()];
  },
  async web() {
    const handler = forWeb.rateLimit(later())(() => new Response("ok"));
    const ask = async () => (await handler(new Request("http://localhost/"))).status;
    return [await ask(), await ask(), await ask()];
  },
};
describe.each(Object.keys(servers))("sluice/%s", (name) => {
  test.each([["outcome", "pass"], ["outcome", "skip"], ["outcome", 0], ["reason", null], ["cost", 0], ["skips", true], ["caller", "other"], ["policy", 0], ["parts", []]])("limits a caller that is found later with `%s` on Object.prototype as %j", async (member, value) => {
    names.push(member);
    // Not enumerable: Express and Node go through the members of some objects.
    Object.defineProperty(prototype, member, { value, configurable: true, writable: true });
    expect(await (servers[name] as () => Promise<number[]>)()).toEqual([200, 200, 429]);
  });
});
