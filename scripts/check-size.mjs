// The byte budget of each subpath: its size in a user's bundle, minified and gzipped. This includes all imports from
// sluice, but not the framework.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

// Open goals: an adapter 15,200, createLimiter 8,200, with RedisStore 21,200. Quotas cost code that does not use them
// 280 bytes in createLimiter and in an adapter, and 570 with RedisStore; the goal is 100. Limits in flight cost it 590,
// 1,150 and 800; the goals are 200 and 300. What happens to tokens between the calls (turns, the end of work, keys of
// settlements) cost createLimiter 330 more, and an adapter 400. Late give-backs and clearer errors cost createLimiter 200
// more, and a 400 that names its limit an adapter 50; give-backs that act once and clients by one function cost RedisStore 1,500. Its script
// decides quotas and limits in flight too, with 600 bytes of Lua. That two limiters of one name with other numbers throw in
// production, too, costs createLimiter 260.
// That a request with limits in flight takes 40 % of the time costs the object of a bucket 110 bytes, and others 20.
// Two clocks, stores that flap, settlements that are told as lost and reads of own members cost createLimiter 1,450 more, and
// createFetch 360. The window's script and its own way cost RedisStore 600.
// That all verbs take options, and refuse costs in their place with the cure, costs createLimiter 330 more.
// That a store answers calls in one method, and that all its answers are checked, costs createLimiter 470 more.
// That equal responses share their fields, and 429s their document, costs an adapter 430 more.
// That a limit finds its own number costs an adapter 100 more, for those who do not use it.
// The limits for entries of users, and for the others a limit just above the present size. Growth then fails the check.
const budgets = {
  ".": 33_620, // 360 of it read ports without brackets, and elements of Forwarded
  "./store": 15_200,
  "./node": 23_100,
  "./express": 22_850,
  "./fastify": 24_400,
  "./hono": 23_650,
  "./nest": 32_050, // the writers of Express and of Fastify, combine, and the checks at start
  "./web": 22_600,
  "./adaptive": 23_700, // most of it is createLimiter
  "./redis": 23_350,
  "./postgres": 24_900,
  "./lease": 8_300,
  "./durable-object": 23_700, // 5,300 of it are calendars and limits in flight: the object gets policies as text
  "./http": 21_950,
  "./client": 10_860,
  "./client/traffic": 7_950, // 180 of it hold the calls of a new route
  "./testing": 88_550, // never in production
  "createLimiter only": 14_100,
  "rateLimit of express only": 22_750,
  "createLimiter and RedisStore": 31_750,
  "createFetch only": 7_960, // 80 of it read a reset alone, 430 of it copy a call, 530 read the waits of real APIs, 140 read members as `fetch` does; goal 7,000
  "createWaiter beside createLimiter": 5_250,
  "TokenBucket only": 4_650, // 110 of it refuse perMinute(5, 15)
  "quotas beside createLimiter": 2_650, // goal 900
  "parseRetryAfter only": 890,
  "createLimiter only, by CommonJS": 43_150, // 170 of it are more files, since sluice/nest shares some; without the checks, 9 kB; nothing else is shaken off
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
    external: ["node:*", "express", "fastify", "hono", "@nestjs/*"],
  });
  return gzipSync(outputFiles[0].contents, { level: 9 }).length;
}

function judge(name, bytes) {
  const budget = budgets[name] ?? 0; // so a subpath without a budget fails
  const over = bytes > budget;
  console.log(`${over ? "OVER" : "ok  "} ${name.padEnd(34)} ${String(bytes).padStart(5)} of ${budget} bytes`);
  if (over) process.exitCode = 1;
}

for (const subpath of Object.keys(JSON.parse(readFileSync("entries.json", "utf8")).subpaths)) {
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
judge("quotas beside createLimiter", (await weigh('export { createLimiter, daily, weekly, monthly } from "./dist/index.js"')) - limiter);
judge("TokenBucket only", await weigh('export { TokenBucket, perSecond } from "./dist/index.js"'));
judge("parseRetryAfter only", await weigh('export { parseRetryAfter } from "./dist/client.js"'));
judge("createLimiter only, by CommonJS", await weigh('module.exports = require("./dist/cjs/production/index.cjs").createLimiter'));
