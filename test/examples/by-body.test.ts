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
    const sent: string[] = [];
    const service: Service = { sendCode: async (phone) => void sent.push(phone), clock: clock.now };
    const server = createServer(await listenerOf(service)).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const ask = (body: string) => fetch(`http://127.0.0.1:${port}/code`, { method: "POST", body, headers: { "content-type": "application/json" } });
    const post = async (body: string): Promise<number> => {
      const response = await ask(body);
      await response.text();
      return response.status;
    };
    const code = (phone: unknown) => post(JSON.stringify({ phone }));
    return { clock, sent, ask, post, code };
  }

  test("a number gets three messages between all spellings", async () => {
    const { sent, code } = await serve();
    const statuses: number[] = [];
    for (const phone of ["+49 151 5550100", "+491515550100", "0049 (151) 555-0100", "+49.151.5550100", "+491515550101"]) statuses.push(await code(phone));
    expect(statuses).toEqual([200, 200, 200, 429, 200]);
    expect(sent).toEqual(["+491515550100", "+491515550100", "+491515550100", "+491515550101"]);
  });

  test("a number gets at most three messages in any hour, and three in each", async () => {
    const { clock, sent, code } = await serve();
    const sentAt: number[] = [];
    for (; clock.now() < 4 * 3_600_000; clock.advance(300_000)) if ((await code("+491515550100")) === 200) sentAt.push(clock.now());
    const inTheHourFrom = (start: number) => sentAt.filter((at) => at >= start && at < start + 3_600_000).length;
    expect(Math.max(...sentAt.map(inTheHourFrom))).toBe(3);
    expect(sent).toHaveLength(12);
  });

  test("a stranger cannot tell a number that others asked a code for from one that got none", async () => {
    const { ask, code } = await serve();
    await code("+491515550100");
    const answerFor = async (phone: string) => {
      const response = await ask(JSON.stringify({ phone }));
      const { date: _, ...fields } = Object.fromEntries(response.headers);
      return [response.status, fields, await response.text()];
    };
    expect(await answerFor("+491515550100")).toEqual(await answerFor("+491515550101"));
    await code("+491515550100");
    expect(await answerFor("+491515550100")).toEqual([429, expect.objectContaining({ "retry-after": "3600" }), expect.stringContaining('"code"')]);
  });

  test("a body without a number, too long or no JSON reaches nothing, and costs its address", async () => {
    const { clock, sent, post, code } = await serve();
    for (const phone of [undefined, null, 42, "", ["+491515550100"], { number: "+491515550100" }, "110", "+49 151 CALLME", "+0151 5550100"]) expect(await code(phone)).toBe(400);
    for (const body of ["{", "", "[]", '"ann"']) expect(await post(body)).toBe(400);
    expect([400, 413]).toContain(await post(JSON.stringify({ phone: "+491515550100", more: "x".repeat(2_000) })));
    // Those were 14 of the 30 that an address has in a minute.
    const statuses: number[] = [];
    for (let i = 0; i < 18; i++) statuses.push(await code(`+4915155501${10 + i}`));
    expect(statuses).toEqual([...Array<number>(16).fill(200), 429, 429]);
    expect(sent).toHaveLength(16);
    clock.advance(2_000);
    expect([await code("+491515550199"), await code("+491515550199")]).toEqual([200, 429]);
  });
});
