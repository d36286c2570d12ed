// The byte budget of each subpath: what it costs a user's bundle, minified and gzipped,
// with everything it imports from sluice and without the framework it serves.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const budgets = {
  ".": 4000,
  "./node": 6000,
  "./express": 6000,
  "./fastify": 6000,
  "./hono": 6000,
  "./web": 6000,
  "./memory": 3000,
  "./http": 5000,
  "./testing": 16_000, // never in production
};

let over = 0;
for (const subpath of Object.keys(JSON.parse(readFileSync("entries.json", "utf8")))) {
  const { outputFiles } = await build({
    entryPoints: [`dist/${subpath === "." ? "index" : subpath.slice(2)}.js`],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "neutral",
    logLevel: "error",
    external: ["node:*", "express", "fastify", "hono"],
  });
  const bytes = gzipSync(outputFiles[0].contents, { level: 9 }).length;
  const budget = budgets[subpath] ?? 0; // a subpath without a budget fails
  if (bytes > budget) over++;
  console.log(`${bytes > budget ? "OVER" : "ok  "} ${subpath.padEnd(10)} ${String(bytes).padStart(6)} of ${budget} bytes`);
}
process.exitCode = over ? 1 : 0;
