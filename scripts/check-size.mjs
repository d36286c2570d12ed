// The byte budget of each subpath: what it costs a user's bundle, minified and gzipped,
// with everything it imports from sluice and without the framework it serves.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

// Close above what it costs today, so that nothing grows unseen. The aims are 4000 for a limiter and 6000 for an adapter.
const budgets = {
  ".": 13_000,
  "./node": 13_800,
  "./express": 13_700,
  "./fastify": 14_100,
  "./hono": 13_700,
  "./web": 13_700,
  "./memory": 3500,
  "./redis": 8400,
  "./postgres": 7500,
  "./cas": 3000,
  "./http": 13_900,
  "./client": 5600,
  "./client/traffic": 3800,
  "./testing": 29_200, // never in production
};

/** Bytes of what a bundler makes of `code`. */
async function weigh(code) {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: "." },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "neutral",
    logLevel: "error",
    external: ["node:*", "express", "fastify", "hono"],
  });
  return gzipSync(outputFiles[0].contents, { level: 9 }).length;
}

function judge(name, bytes, budget = 0) {
  const over = bytes > budget; // so a subpath without a budget fails
  console.log(`${over ? "OVER" : "ok  "} ${name.padEnd(16)} ${String(bytes).padStart(5)} of ${budget} bytes`);
  if (over) process.exitCode = 1;
}

for (const subpath of Object.keys(JSON.parse(readFileSync("entries.json", "utf8")))) {
  const name = subpath === "." ? "index" : subpath.slice(2);
  judge(subpath, await weigh(`export * from "./dist/${name}.js"`), budgets[subpath]);
}
// What is not imported costs nothing.
judge("createLimiter only", await weigh('export { createLimiter } from "./dist/index.js"'), 8900);
judge("TokenBucket only", await weigh('export { TokenBucket, perSecond } from "./dist/index.js"'), 2500);
