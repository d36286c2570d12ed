// The programs that the README shows, run as they are but for the port: 3000 becomes any free one, on loopback only.
import { once } from "node:events";
import { Server, type AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";

type Ask = (headers: Record<string, string>) => Promise<Response>;

const listening: Server[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(listening.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

const programs: [framework: string, run: () => Promise<unknown>][] = [
  ["node", () => import("../../examples/minimal/node.js")],
  ["express", () => import("../../examples/minimal/express.js")],
  ["fastify", () => import("../../examples/minimal/fastify.js")],
  ["hono", () => import("../../examples/minimal/hono.js")],
];

test.each(programs)("%s limits each device", async (_, run) => {
  const ports = catchPorts();
  await run();
  const server = listening[0] as Server;
  if (!server.listening) await once(server, "listening");
  // Fastify goes on to every other address of localhost.
  expect(ports[0]).toBe(3000);
  await walk((headers) => fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/inbox`, { headers }));
});

test("web limits each device", async () => {
  const { default: server } = await import("../../examples/minimal/web.js");
  await walk(async (headers) => server.fetch(new Request("http://127.0.0.1/inbox", { headers })));
});

test("the example of a test passes", () => import("../../examples/testing-your-app.js"));

/** Makes whatever listens do so on a free port of loopback. Returns the ports that were asked for. */
function catchPorts(): unknown[] {
  const asked: unknown[] = [];
  const listen = Server.prototype.listen as (...args: unknown[]) => Server;
  vi.spyOn(Server.prototype, "listen").mockImplementation(function (this: Server, ...args: unknown[]) {
    const [first] = args;
    asked.push(typeof first === "object" && first !== null ? (first as { port: unknown }).port : first);
    listening.push(this);
    return listen.call(this, 0, "127.0.0.1", ...args.filter((arg) => typeof arg === "function"));
  });
  return asked;
}

// Tokens come back while this runs, so it counts on neither a number of requests nor a moment.
async function walk(ask: Ask): Promise<void> {
  const first = await ask({ "X-Device-Id": "tablet" });
  expect(first.status).toBe(200);
  expect(first.headers.get("RateLimit-Remaining")).toBe("9");
  expect(await first.json()).toEqual({ messages: [] });

  let response = first;
  for (let i = 0; i < 1_000 && response.status === 200; i++) {
    response = await ask({ "X-Device-Id": "tablet" });
    const remaining = Number(response.headers.get("RateLimit-Remaining"));
    expect(remaining).toBeGreaterThanOrEqual(0);
    expect(remaining).toBeLessThan(10);
    if (response.status === 200) await response.arrayBuffer();
  }
  expect(response.status).toBe(429);
  expect(response.headers.get("Retry-After")).toBe("1");
  expect(await response.json()).toMatchObject({ code: "rate_limited", retry_after: 1 });

  const other = await ask({ "X-Device-Id": "phone" });
  expect(other.status).toBe(200);
  expect(other.headers.get("RateLimit-Remaining")).toBe("9");
  await other.arrayBuffer();
}
