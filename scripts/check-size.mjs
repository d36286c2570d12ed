// The byte budget of each subpath: what it costs a user's bundle, minified and gzipped,
// with everything it imports from sluice and without the framework it serves.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

// Close above what it costs today, so that nothing grows unseen.
const budgets = {
  ".": 13_350,
  "./node": 14_350,
  "./express": 14_150,
  "./fastify": 14_650,
  "./hono": 14_150,
  "./web": 14_050,
  "./memory": 3550,
  "./redis": 8550,
  "./postgres": 7500,
  "./cas": 3000,
  "./http": 14_450,
  "./client": 5550,
  "./client/traffic": 3800,
  "./testing": 29_200, // never in production
  "./store": 5000,
  "createLimiter only": 9150,
  "TokenBucket only": 2350,
  "parseRetryAfter only": 900,
};
// What it is to cost, by the goals. A budget is no aim: docs/performance.md says what stands between the two.
const aims = { "./node": 6000, "./express": 6000, "./fastify": 6000, "./hono": 6000, "./web": 6000, "./client": 5000, "createLimiter only": 4000 };

/** Bytes of what a bundler makes of `code`. */
async function weigh(code) {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: "." },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "neutral",
    conditions: ["production"],
    tsconfigRaw: {}, // what is in dist, not the sources that tsconfig.json names for it
    logLevel: "error",
    external: ["node:*", "express", "fastify", "hono"],
  });
  return gzipSync(outputFiles[0].contents, { level: 9 }).length;
}

function judge(name, bytes) {
  const budget = budgets[name] ?? 0; // so a subpath without a budget fails
  const over = bytes > budget;
  const goal = name in aims ? `, aim ${aims[name]}: ${bytes > aims[name] ? "not met" : "met"}` : "";
  console.log(`${over ? "OVER" : "ok  "} ${name.padEnd(20)} ${String(bytes).padStart(5)} of ${budget} bytes${goal}`);
  if (over) process.exitCode = 1;
}

for (const subpath of Object.keys(JSON.parse(readFileSync("entries.json", "utf8")))) {
  const name = subpath === "." ? "index" : subpath.slice(2);
  judge(subpath, await weigh(`export * from "./dist/${name}.js"`));
}
// What is not imported costs nothing.
judge("createLimiter only", await weigh('export { createLimiter } from "./dist/index.js"'));
judge("TokenBucket only", await weigh('export { TokenBucket, perSecond } from "./dist/index.js"'));
judge("parseRetryAfter only", await weigh('export { parseRetryAfter } from "./dist/client.js"'));
