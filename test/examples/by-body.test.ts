import { createServer, type RequestListener } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { ManualClock } from "sluice/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Service } from "../../examples/by-body/body.js";
import { createApp as createExpress } from "../../examples/by-body/express.js";
import { createApp as createFastify } from "../../examples/by-body/fastify.js";
import { createApp as createHono } from "../../examples/by-body/hono.js";
import { createListener } from "../../examples/by-body/node.js";
import { createHandler } from "../../examples/by-body/web.js";

const frameworks: readonly [name: string, listenerOf: (service: Service) => RequestListener | Promise<RequestListener>][] = [
  ["Express", createExpress],
  ["Fastify", async (service) => {
    const app = await createFastify(service);
    await app.ready();
    return app.routing as RequestListener;
  }],
  ["Hono", (service) => getRequestListener(createHono(service).fetch)],
  ["Node", createListener],
  ["web", (service) => getRequestListener(createHandler(service, () => "192.0.2.7"))],
];

describe.each(frameworks)("%s", (_, listenerOf) => {
  async function serve() {
    const clock = new ManualClock();
    const [checked, sent]: [string[], string[]] = [[], []];
    const service: Service = {
      check: async (account, password) => (checked.push(account), password === `${account}'s secret`),
      sendCode: async (phone) => void sent.push(phone),
      clock: clock.now,
    };
    const server = createServer(await listenerOf(service)).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const post = async (path: string, body: string): Promise<number> => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body, headers: { "content-type": "application/json" } });
      await response.text();
      return response.status;
    };
    const login = (account: unknown, password: string) => post("/login", JSON.stringify({ account, password }));
    const code = (phone: unknown) => post("/login/code", JSON.stringify({ phone }));
    return { clock, checked, sent, post, login, code };
  }

  const spellings = ["ann@example.com", "Ann@Example.com", " ANN@example.com ", "ａｎｎ@example.com"];

  test("guesses at one account get ten tries between all spellings, and no other account is slowed", async () => {
    const { clock, checked, login } = await serve();
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++) statuses.push(await login(spellings[i % spellings.length], `guess ${i}`));
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
    expect(checked).toEqual(Array(10).fill("ann@example.com"));
    expect(await login("bob@example.com", "bob@example.com's secret")).toBe(200);
    clock.advance(360_000);
    expect([await login("ann@example.com", "guess"), await login("ann@example.com", "guess")]).toEqual([401, 429]);
  });

  test("a right password gives its token back, and no other one", async () => {
    const { login } = await serve();
    for (let i = 0; i < 9; i++) expect(await login("ann@example.com", "guess")).toBe(401);
    for (let i = 0; i < 5; i++) expect(await login("ann@example.com", "ann@example.com's secret")).toBe(200);
    expect([await login("ann@example.com", "guess"), await login("ann@example.com", "guess")]).toEqual([401, 429]);
  });

  test("a number gets three messages between all spellings", async () => {
    const { sent, code } = await serve();
    const statuses: number[] = [];
    for (const phone of ["+49 151 5550100", "+491515550100", "0049 (151) 555-0100", "+49.151.5550100", "+491515550101"]) statuses.push(await code(phone));
    expect(statuses).toEqual([200, 200, 200, 429, 200]);
    expect(sent).toEqual(["+491515550100", "+491515550100", "+491515550100", "+491515550101"]);
  });

  test("a body without an account or a number, too long or no JSON reaches nothing, and costs its address", async () => {
    const { clock, checked, sent, post, login, code } = await serve();
    for (const account of [undefined, null, 42, "", "  ", ["ann@example.com"], { name: "ann" }, "a".repeat(255)]) expect(await login(account, "guess")).toBe(400);
    for (const phone of [undefined, ["+491515550100"], "110", "+49 151 CALLME", "+0151 5550100"]) expect(await code(phone)).toBe(400);
    for (const body of ["{", "", "[]", '"ann"']) expect(await post("/login", body)).toBe(400);
    const long = JSON.stringify({ account: "ann@example.com", password: "x".repeat(2_000) });
    expect([400, 413]).toContain(await post("/login", long));
    // Those were 18 of the 30 that an address has in a minute.
    const statuses: number[] = [];
    for (let i = 0; i < 14; i++) statuses.push(await code(`+4915155501${10 + i}`));
    expect(statuses).toEqual([...Array<number>(12).fill(200), 429, 429]);
    expect([checked, sent.length]).toEqual([[], 12]);
    clock.advance(2_000);
    expect([await login("ann@example.com", "guess"), await login("ann@example.com", "guess")]).toEqual([401, 429]);
  });
});
