// The programs that the README and the adapters' pages start with, run as they are but for the port: 3000 becomes any free
// one, on loopback only. First by their users, then by an attacker who has read them.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Server, type AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { fencesOf, ROOT } from "../helpers/docs-read.js";
import { ran } from "../helpers/docs-run.js";
import { expectWarnings } from "../setup/warnings.js";

type Fetches = { readonly fetch: (request: Request) => Response | Promise<Response> };

const FRAMEWORKS = ["node", "express", "fastify", "hono", "web"];
const firstOf = (page: string) => fencesOf(page).find(({ language }) => language === "ts")?.text ?? "";
const programs: [program: string, code: string][] = [
  ...FRAMEWORKS.map((name): [string, string] => [`examples/minimal/${name}`, readFileSync(join(ROOT, `examples/minimal/${name}.ts`), "utf8")]),
  ...FRAMEWORKS.map((name): [string, string] => [`the page's ${name}`, firstOf(`docs/adapters/${name}.md`)]),
];

const tokenOf = (user: string) => ({ Authorization: `Bearer token-of-${user}` });
const [ann, bob, dan] = [tokenOf("ann"), tokenOf("bob"), tokenOf("dan")];
const listening: Server[] = [];
const asked: unknown[] = [];
let ask: (headers?: Record<string, string>, method?: string) => Promise<Response>;

/** Whatever a caller may make up. Another one each time. */
const madeUp = (i: number): Record<string, string> => ({
  "X-Device-Id": `device-${i}`,
  "X-User": `user-${i}`,
  "X-Forwarded-For": `192.0.2.${i % 256}`,
  Forwarded: `for=198.51.100.${i % 256}`,
  Cookie: `session=${i}`,
  Origin: `https://${i}.example`,
  "Access-Control-Request-Method": "GET",
});

describe.each(programs)("%s", (_, code) => {
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ["performance", "Date"] }); // no token comes back
    catchPorts();
    const { exports } = await ran(code);
    const server = listening[0];
    if (server === undefined) {
      ask = async (headers = {}, method = "GET") => (exports["default"] as Fetches).fetch(new Request("http://127.0.0.1/inbox", { method, headers }));
      return;
    }
    if (!server.listening) await once(server, "listening");
    // Fastify goes on to every other address of localhost.
    expect(asked[0]).toBe(3000);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/inbox`;
    ask = (headers = {}, method = "GET") => fetch(url, { method, headers });
  });

  afterEach(async () => {
    vi.useRealTimers();
    vi.restoreAllMocks();
    asked.splice(0);
    for (const server of listening) (server as Server & { closeAllConnections?: () => void }).closeAllConnections?.();
    await Promise.all(listening.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
  });

  test("limits each user", async () => {
    const first = await ask(ann);
    const limit = Number(first.headers.get("RateLimit-Limit"));
    expect([first.status, first.headers.get("RateLimit-Remaining")]).toEqual([200, String(limit - 1)]);
    expect(await first.json()).toEqual({ messages: [] });

    const last = await askUntilRefused(limit - 1, () => ann);
    expect(last.headers.get("Retry-After")).toBe("1");
    expect(await last.json()).toMatchObject({ code: "rate_limited", retry_after: 1 });

    const other = await ask(bob);
    expect([other.status, other.headers.get("RateLimit-Remaining")]).toEqual([200, String(limit - 1)]);
    await other.arrayBuffer();
  });

  test("L18 · a user who makes up headers stays in one bucket", async () => {
    const first = await ask({ ...madeUp(0), ...ann });
    await first.arrayBuffer();
    const left = Number(first.headers.get("RateLimit-Remaining"));
    const last = await askUntilRefused(left, (i) => ({ ...madeUp(i + 1), ...ann }));
    expect(last.headers.get("RateLimit-Remaining")).toBe("0");
    await last.arrayBuffer();
  });

  test("L18 · a caller that is not signed in gets 401, with any made-up header", async () => {
    expectWarnings("SLUICE_UNIDENTIFIED");
    for (let i = 0; i < 20; i++) {
      const response = await ask({ ...madeUp(i), ...(i % 2 === 0 ? dan : {}) });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ code: "unidentified" });
    }
  });

  test("L18 · a preflight, real or made up, never gets a handler's answer", async () => {
    for (const extra of [{}, ann, dan]) {
      for (let i = 0; i < 10; i++) {
        const response = await ask({ Origin: "https://app.example", "Access-Control-Request-Method": "GET", ...extra }, "OPTIONS");
        expect(await response.text()).not.toContain("messages");
      }
    }
  });
});

test.each(programs.filter(([name]) => name.endsWith("web")))("%s answers other methods with 405, and names the one it has", async (_, code) => {
  const { exports } = await ran(code);
  for (const method of ["HEAD", "POST", "DELETE"]) {
    const response = await (exports["default"] as Fetches).fetch(new Request("http://127.0.0.1/inbox", { method, headers: { ...ann } }));
    expect([response.status, response.headers.get("Allow")]).toEqual([405, "GET"]);
  }
});

test("the example of a test passes", () => import("../../examples/testing-your-app.js"));

/** Takes the tokens that are left, all at once, and returns the one refusal. */
async function askUntilRefused(left: number, headersOf: (i: number) => Record<string, string>): Promise<Response> {
  const responses = await Promise.all(Array.from({ length: left + 1 }, (_, i) => ask(headersOf(i))));
  const refused = responses.filter(({ status }) => status !== 200);
  await Promise.all(responses.filter((response) => response !== refused[0]).map((response) => response.arrayBuffer()));
  expect(refused.map(({ status }) => status)).toEqual([429]);
  return refused[0] as Response;
}

/** Makes whatever listens do so on a free port of loopback, and remembers the ports that were asked for. */
function catchPorts(): void {
  const listen = Server.prototype.listen as (...args: unknown[]) => Server;
  vi.spyOn(Server.prototype, "listen").mockImplementation(function (this: Server, ...args: unknown[]) {
    const [first] = args;
    asked.push(typeof first === "object" && first !== null ? (first as { port: unknown }).port : first);
    listening.push(this);
    return listen.call(this, 0, "127.0.0.1", ...args.filter((arg) => typeof arg === "function"));
  });
}
