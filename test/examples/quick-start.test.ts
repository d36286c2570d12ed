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

describe.each(names)("%s", (name) => {
  async function start(): Promise<Ask> {
    const listening: Server[] = [];
    const listen = Server.prototype.listen as (...args: unknown[]) => Server;
    const spy = vi.spyOn(Server.prototype, "listen").mockImplementation(function (this: Server, ...args: unknown[]) {
      listening.push(this);
      return listen.call(this, 0, "127.0.0.1", ...args.filter((arg) => typeof arg === "function"));
    });
    const { exports } = await ran(sourceOf(name));
    spy.mockRestore();
    const [server] = listening as [Server & { closeAllConnections(): void }];
    if (server === undefined) {
      const worker = exports["default"] as { fetch(request: Request): Promise<Response> };
      return (headers) => worker.fetch(new Request("http://127.0.0.1/chat", { method: "POST", headers }));
    }
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    if (!server.listening) await once(server, "listening");
    return (headers) => fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/chat`, { method: "POST", headers });
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
