// The first sample of the README and of the site's home page, on each framework, as users run it: port 3000 becomes any free one.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../helpers/docs-read.js";
import { started, stopClocks } from "../helpers/started.js";

type Ask = () => Promise<Response>;

const sourceOf = (name: string): string => readFileSync(join(ROOT, `examples/quick-start/${name}`), "utf8");
const names = readdirSync(join(ROOT, "examples/quick-start"));

test("all have the same policy, at most 16 lines, and lines that fit the site's column", () => {
  expect(names).toEqual(["express.ts", "fastify.ts", "hono.ts", "nest.ts", "next.ts", "node.ts", "workers.ts"]);
  expect(new Set(names.map((name) => /policy: .*/.exec(sourceOf(name))?.[0])).size).toBe(1);
  const lines = names.map((name) => sourceOf(name).trimEnd().split("\n"));
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(16);
  expect(lines.flat().filter((line) => line.length > 86)).toEqual([]);
});

test("the key of each says what a proxy needs, or who writes its field", () => {
  const [express, fastify, hono, nest, next, node] = names.map(sourceOf);
  for (const source of [express, nest]) expect(source).toContain('// Behind a proxy: app.set("trust proxy", 1)');
  expect(fastify).toContain("// Behind a proxy: Fastify({ trustProxy: ");
  expect(next).toContain("// Vercel itself writes this field. Elsewhere your own proxy must.");
  for (const source of [hono, node]) expect(source).toMatch(/\/\/ Behind a proxy: addressKey\(proxyaddr\(/);
});

/** Runs a sample. Returns a function that asks it for `/`. */
async function start(name: string): Promise<Ask> {
  const { origin, exports } = await started(sourceOf(name));
  if (origin !== "") return () => fetch(origin);
  const { fetch: answer } = (exports["default"] ?? { fetch: exports["GET"] }) as { fetch(request: Request): Promise<Response> };
  return () => answer(new Request("http://127.0.0.1/", { headers: { "cf-connecting-ip": "192.0.2.1", "x-real-ip": "192.0.2.1" } }));
}

test.each(names)("%s serves 100 requests at once, and refuses the next for up to a second", async (name) => {
  stopClocks();
  const ask = await start(name);
  const answers: { readonly status: number; readonly headers: Headers; readonly text: string }[] = [];
  for (let i = 0; i < 102; i++) {
    const answer = await ask();
    answers.push({ status: answer.status, headers: answer.headers, text: await answer.text() });
  }
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 102 }, (_, i) => (i < 100 ? 200 : 429)));
  expect(answers[0]?.text).toBe("Hello");
  expect(answers[100]?.headers.get("retry-after")).toBe("1");
  expect(JSON.parse(answers[100]?.text ?? "")).toMatchObject({ code: "rate_limited", "violated-policies": ["api"] });
});
