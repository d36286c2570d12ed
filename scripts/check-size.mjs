// The byte budget of each subpath: its size in a user's bundle, minified and gzipped. This includes all imports from
// sluice, but not the framework.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

// The limits for entries of users, and for the others a limit just above the present size. Growth then fails the check.
const budgets = {
  ".": 15_750,
  "./store": 8_500,
  "./node": 17_900,
  "./express": 17_700,
  "./fastify": 18_900,
  "./hono": 17_600,
  "./web": 17_200,
  "./memory": 4_600,
  "./redis": 16_300,
  "./postgres": 17_250,
  "./cas": 9_450,
  "./sql": 10_750,
  "./lease": 9_300,
  "./durable-object": 10_450,
  "./http": 19_050,
  "./client": 7_100,
  "./client/vendors": 3_350,
  "./client/traffic": 5_950,
  "./testing": 43_750, // never in production
  "createLimiter only": 8_400,
  "rateLimit of express only": 17_600,
  "createLimiter and RedisStore": 21_150,
  "createFetch only": 6_050, // 6,000, and 50 for Workers
  "createWaiter beside createLimiter": 3_250, // with the part of a waiter that a gate calls
  "TokenBucket only": 3_000,
  "parseRetryAfter only": 750,
};

/** The bytes of a bundle of `code`. */
async function weigh(code) {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: "." },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "neutral",
    conditions: ["production"],
    tsconfigRaw: {}, // use dist, not the sources in tsconfig.json
    logLevel: "error",
    external: ["node:*", "express", "fastify", "hono"],
  });
  return gzipSync(outputFiles[0].contents, { level: 9 }).length;
}

function judge(name, bytes) {
  const budget = budgets[name] ?? 0; // so a subpath without a budget fails
  const over = bytes > budget;
  console.log(`${over ? "OVER" : "ok  "} ${name.padEnd(34)} ${String(bytes).padStart(5)} of ${budget} bytes`);
  if (over) process.exitCode = 1;
}

for (const subpath of Object.keys(JSON.parse(readFileSync("entries.json", "utf8")))) {
  const name = subpath === "." ? "index" : subpath.slice(2);
  judge(subpath, await weigh(`export * from "./dist/${name}.js"`));
}
// An export that is not imported must add no bytes.
const limiter = await weigh('export { createLimiter } from "./dist/index.js"');
judge("createLimiter only", limiter);
judge("rateLimit of express only", await weigh('export { rateLimit } from "./dist/express.js"'));
judge("createLimiter and RedisStore", await weigh('export { createLimiter } from "./dist/index.js"; export { RedisStore } from "./dist/redis.js"'));
judge("createFetch only", await weigh('export { createFetch } from "./dist/client.js"'));
judge("createWaiter beside createLimiter", (await weigh('export { createLimiter, createWaiter } from "./dist/index.js"')) - limiter);
judge("TokenBucket only", await weigh('export { TokenBucket, perSecond } from "./dist/index.js"'));
judge("parseRetryAfter only", await weigh('export { parseRetryAfter } from "./dist/client.js"'));
