// The first sample of the README and of the site's home page, on each framework, as users run it: port 3000 becomes any free one.
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { Server, type AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ROOT } from "../helpers/docs-read.js";
import { ran } from "../helpers/docs-run.js";

type Ask = (headers: Record<string, string>) => Promise<Response>;

const sourceOf = (name: string): string => readFileSync(join(ROOT, `examples/quick-start/${name}`), "utf8");
const names = readdirSync(join(ROOT, "examples/quick-start"));
const policyIn = (source: string): string => /^const policy = [^]*?^\}\);$/m.exec(source)?.[0] ?? "";

test("all have the same policy, of one line for each limit, and lines that fit the site's column", () => {
  expect(names).toEqual(["express.ts", "fastify.ts", "hono.ts", "node.ts", "workers.ts"]);
  expect(new Set(names.map((name) => policyIn(sourceOf(name)))).size).toBe(1);
  expect(policyIn(sourceOf("node.ts")).match(/^ {4}\{ name: /gm)).toHaveLength(4);
  expect(names.flatMap((name) => sourceOf(name).split("\n").filter((line) => line.length > 86))).toEqual([]);
});

/** Runs a program of the examples or of the README. Returns its server's origin, or null for a Worker, and a function that calls its chat. */
async function startProgram(source: string): Promise<{ readonly origin: string | null; readonly ask: Ask }> {
  const listening: Server[] = [];
  const listen = Server.prototype.listen as (...args: unknown[]) => Server;
  const spy = vi.spyOn(Server.prototype, "listen").mockImplementation(function (this: Server, ...args: unknown[]) {
    listening.push(this);
    return listen.call(this, 0, "127.0.0.1", ...args.filter((arg) => typeof arg === "function"));
  });
  const { exports } = await ran(source);
  spy.mockRestore();
  const [server] = listening as [Server & { closeAllConnections(): void }];
  if (server === undefined) {
    const worker = exports["default"] as { fetch(request: Request): Promise<Response> };
    return { origin: null, ask: (headers) => worker.fetch(new Request("http://127.0.0.1/chat", { method: "POST", headers })) };
  }
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  if (!server.listening) await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, ask: (headers) => fetch(`${origin}/chat`, { method: "POST", headers }) };
}

describe.each(names)("%s", (name) => {
  async function start(): Promise<Ask> {
    return (await startProgram(sourceOf(name))).ask;
  }

  test("serves 15 requests of 2,000 tokens, and refuses the next for the tokens that are missing", async () => {
    const ask = await start();
    const answers: { status: number; headers: Headers; body: unknown }[] = [];
    // One after another, because 4 may be in flight. A request ends when its answer was read.
    for (let i = 0; i < 18; i++) {
      const answer = await ask({ authorization: "Bearer token-of-ann" });
      answers.push({ status: answer.status, headers: answer.headers, body: await answer.json() });
    }
    const served = answers.filter(({ status }) => status === 200);
    expect(served).toHaveLength(15);
    expect(served[0]?.body).toEqual({ answer: "Hello" });
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(3);
    // The wait is 4 s at once, and less after a slow start.
    expect(Number(refused[0]?.headers.get("retry-after"))).toBeLessThanOrEqual(4);
    expect(refused[0]?.body).toMatchObject({ code: "rate_limited", "violated-policies": [expect.stringContaining("tokens") as string] });
  });

  test("asks a caller that is not signed in to sign in", async () => {
    const ask = await start();
    expect((await ask({ authorization: "Bearer made-up" })).status).toBe(401);
  });
});

describe("the login of the README, in the app above it", () => {
  const [, login = ""] = /^## Limit a login by e-mail\n[^]*?```ts\n([^]*?)```/m.exec(readFileSync(join(ROOT, "README.md"), "utf8")) ?? [];

  async function logIn(...bodies: ReadonlyArray<unknown>): Promise<number[]> {
    const { origin } = await startProgram(sourceOf("express.ts").replace("app.use(", `${login}app.use(`));
    const statuses: number[] = [];
    for (const body of bodies) {
      const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
      statuses.push((await fetch(`${origin}/login`, { method: "POST", ...sent })).status);
    }
    return statuses;
  }

  test("five guesses at one account are served, in whatever case, and another account is not affected", async () => {
    const guesses = Array.from({ length: 6 }, (_, i) => ({ email: i % 2 === 0 ? "Ann@example.com" : "ann@example.com" }));
    expect(await logIn(...guesses, { email: "bob@example.com" })).toEqual([204, 204, 204, 204, 204, 429, 204]);
  });

  test("a request without a body, or with something else in place of the e-mail, is no error of the server", async () => {
    expect(await logIn(undefined, { email: 42 }, {}, { email: { $ne: "" } }, [])).toEqual([204, 204, 204, 204, 204]);
  });
});
