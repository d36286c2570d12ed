// Runs a snippet in this process. Returns its output and its exports.
import { createRequire } from "node:module";
import { inspect } from "node:util";
import ts from "typescript";

const require = createRequire(import.meta.url);

/** "sluice/…" in a snippet means src. */
const entries: Readonly<Record<string, () => Promise<unknown>>> = {
  sluice: () => import("../../src/index.js"),
  "sluice/store": () => import("../../src/store.js"),
  "sluice/http": () => import("../../src/http/index.js"),
  "sluice/web": () => import("../../src/adapters/web.js"),
  "sluice/hono": () => import("../../src/adapters/hono.js"),
  "sluice/node": () => import("../../src/adapters/node.js"),
  "sluice/express": () => import("../../src/adapters/express.js"),
  "sluice/redis": () => import("../../src/stores/redis/redis.js"),
  "sluice/lease": () => import("../../src/stores/lease/lease.js"),
  "sluice/fastify": () => import("../../src/adapters/fastify.js"),
  "sluice/testing": () => import("../../src/testing/index.js"),
  "sluice/client": () => import("../../src/client/index.js"),
};

const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022, esModuleInterop: true };
/** The JavaScript of each snippet that was run. */
const compiled = new Map<string, string>();

/** The output of `code` by `console.log`, a line for each call, as in a terminal. */
export async function printed(code: string): Promise<string> {
  return (await ran(code)).output;
}

/** Runs `code`. Returns its output and its exports. */
export async function ran(code: string): Promise<{ readonly output: string; readonly exports: Readonly<Record<string, unknown>> }> {
  const exports: Record<string, unknown> = {};
  const lines: string[] = [];
  const log = (...values: unknown[]) => {
    lines.push(values.map((value) => (typeof value === "string" ? value : inspect(value, { breakLength: 100 }))).join(" "));
  };
  const loaded = new Map<string, unknown>();
  for (const [, name] of code.matchAll(/from "(sluice[^"]*)"/g)) {
    const load = entries[name as string];
    if (load === undefined) throw new Error(`no entry "${name}" for running snippets`);
    loaded.set(name as string, await load());
  }
  const outputText = compiled.get(code) ?? ts.transpileModule(code, { compilerOptions }).outputText;
  compiled.set(code, outputText);
  // The snippets are part of this repository, so running them is safe.
  const run = Object.getPrototypeOf(async () => undefined).constructor as new (...parts: string[]) => (...values: unknown[]) => Promise<void>;
  await new run("require", "console", "exports", outputText)((name: string) => loaded.get(name) ?? require(name), { log }, exports);
  return { output: lines.join("\n"), exports };
}
