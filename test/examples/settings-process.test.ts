// The example server as a program: it tells limits, and ends, as its settings say.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { device, ExampleServer } from "./example-server.js";

test.concurrent.each(["node", "express", "fastify", "hono"])("on %s tells limits as it was told to", async (framework) => {
  const env = { SLUICE_HEADERS: "x-ratelimit", SLUICE_RETRY_AFTER: "http-date", SLUICE_BULK_CAPACITY: "1" };
  const server = await ExampleServer.start(["--framework", framework], env);
  try {
    expect((await server.ask("POST /exports", device("told"))).headers).toMatchObject({ "x-ratelimit-limit": "1" });
    const { headers } = await server.ask("POST /exports", device("told"));
    expect(headers["retry-after"]).toMatch(/GMT$/);
    expect(headers).not.toHaveProperty("ratelimit");
  } finally {
    server.kill();
  }
});

test.concurrent("serves under the numbers that it was given", async ({ onTestFinished }) => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-example-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const config = join(folder, "config.json");
  writeFileSync(config, JSON.stringify({ interactive: { capacity: 50 }, bulk: { capacity: 7 } }));
  const server = await ExampleServer.start(["--config", config], { SLUICE_BULK_CAPACITY: "1", SLUICE_BULK_EVERY_MS: "3600000" });
  try {
    const { headers } = await server.ask("GET /inbox", device("configured"));
    expect(headers["ratelimit-policy"]).toBe('"interactive";q=50;w=25');
    expect((await server.ask("POST /exports", device("configured"))).headers["ratelimit-limit"]).toBe("1");
    expect((await server.ask("POST /exports", device("configured"))).headers["retry-after"]).toMatch(/^3[56]\d\d$/);
  } finally {
    server.kill();
  }
});

const wrong: [args: string[], env: Record<string, string>, complaint: string][] = [
  [["--framework", "koa"], {}, 'Expected `--framework` to be node, express, fastify, hono, got "koa"'],
  [["--frame"], {}, "Unknown option '--frame' (--help lists the options)"],
  [["--on-store-error", "deny"], {}, 'Expected `--on-store-error` to be local, allow, unavailable, got "deny"'],
  [["--store-timeout", "soon"], {}, 'Expected `--store-timeout` to be a positive integer of milliseconds, or off, got "soon"'],
  [[], { PORT: "70000" }, 'Expected `PORT` to be a whole number from 0 to 65535, got "70000"'],
  [[], { SLUICE_BULK_TOKENS: "none" }, 'Expected `SLUICE_BULK_TOKENS` to be a positive integer, got "none"'],
  [[], { SLUICE_RETRY_AFTER: "soon" }, 'Expected `SLUICE_RETRY_AFTER` to be seconds, http-date, got "soon"'],
  // The library's own complaint, from where the gates are made.
  [[], { SLUICE_BULK_EVERY_MS: "1000000000000" }, 'Expected policy "bulk" to refill within 2147483647 seconds, the longest Retry-After that clients read, got 3000000000000 ms'],
];
test.concurrent.each(wrong)("%j with %j ends with 2 and one line", async (args, env, complaint) => {
  expect(await ExampleServer.fail(args, env)).toEqual({ code: 2, errors: `${complaint}\n` });
});

test.concurrent("says so when its port is taken", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as AddressInfo;
  const { code, errors } = await ExampleServer.fail([], { PORT: String(port) });
  other.close();
  expect(code).toBe(2);
  expect(errors).toMatch(new RegExp(`^Cannot listen: listen EADDRINUSE[^\\n]*:${port}\\. Set PORT[^\\n]*\\n$`));
});
