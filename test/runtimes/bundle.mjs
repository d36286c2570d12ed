// Bundles the suites, so that runtimes without TypeScript and without vitest can load them.
import { build } from "esbuild";
import { fromProject } from "./runtimes.mjs";

const ROOT = new URL("../../", import.meta.url).pathname;
const common = {
  absWorkingDir: ROOT,
  bundle: true,
  format: "esm",
  platform: "neutral",
  mainFields: ["module", "main"],
  target: "es2022",
  alias: { vitest: "./test/runtimes/runner.ts" },
  // package.json says that no file has side effects. Those of src have none, but tests register themselves.
  ignoreAnnotations: true,
  logLevel: "warning",
};

/** Writes the programs into `project`, where the packed package is installed. They load it, and the frameworks, at run time. */
export async function bundlePrograms(project) {
  const installed = ["@hono/*", "@upstash/redis", "express", "fastify", "hono", "hono/*", "ioredis", "iovalkey", "miniflare", "pg", "playwright-core", "redis"];
  await build({
    ...common,
    entryPoints: { main: "test/runtimes/main.ts", host: "test/runtimes/host.ts" },
    outdir: project,
    outExtension: { ".js": ".mjs" },
    splitting: true,
    external: ["node:*", "sluice", "sluice/*", ...installed],
    banner: { js: 'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);' },
  });
  // A page and a Worker resolve no names, so the package is in this one: the installed one, not the sources.
  await build({
    ...common,
    entryPoints: ["test/runtimes/portable.ts"],
    outfile: `${project}/portable.js`,
    tsconfigRaw: {}, // its paths lead to the sources
    external: ["node:*"], // imported late, by functions that are not called here
    plugins: [fromProject(project)],
  });
}
