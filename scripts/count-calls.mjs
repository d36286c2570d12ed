// Counts the calls of our functions for one allowed Express request over the memory store: `node scripts/count-calls.mjs`.
//
// How it counts: esbuild translates each file of src by itself, and `#diagnostics` is the file of the condition
// "production". So a function of a file is a function of its source. A real Express server runs `rateLimit` with a
// policy and a key of two parts. After 2,000 requests, V8's precise coverage (calls of each function, taken through
// node:inspector) is read after each of 51 requests, when the response has closed. The request with the median number
// of calls is shown. Counted are calls of functions, methods, getters and field initializers that src declares.
// Functions of the options, of Express and of Node are not. V8 inlines nothing while it counts.
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { Agent, createServer, request } from "node:http";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import express from "express";

// Open goal: 65 calls. The limits are the present numbers. Growth then fails the check. Three of the calls ask for a
// member of a value itself, not one of a polluted Object.prototype.
const LIMITS = { calls: 84, files: 22 };
const WARM_UP = 2_000;
const REQUESTS = 51;

const folder = mkdtempSync(join(tmpdir(), "sluice-calls-"));
try {
  await translate(folder);
  report(await countRequests(folder));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function translate(outdir) {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  await build({ entryPoints: files.map((file) => join("src", file)), outbase: "src", outdir, format: "esm", target: "es2022", logLevel: "error" });
  writeFileSync(join(outdir, "package.json"), JSON.stringify({ type: "module", imports: { "#diagnostics": "./diagnostics/none.js" } }));
}

/** The calls of each function, for each request: lists of `{ file, name, count }`. */
async function countRequests(root) {
  const url = (file) => pathToFileURL(join(root, file)).href;
  const { rateLimit } = await import(url("adapters/express.js"));
  const app = express();
  app.use(rateLimit({ policy: { name: "api", capacity: 1_000_000, refill: { tokens: 1, everyMs: 1_000 } }, key: () => ["user", "42"] }));
  app.get("/", (_, response) => void response.json({ messages: [] }));
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });

  const ask = async () => {
    const closed = new Promise((done) => server.once("request", (_, response) => response.once("close", done)));
    const sent = request({ port: server.address().port, host: "127.0.0.1", agent }).end();
    const [response] = await once(sent, "response");
    if (response.statusCode !== 200) throw new Error(`Expected the status 200, got ${response.statusCode}`);
    await once(response.resume(), "end");
    await closed;
    await new Promise((done) => setImmediate(done)); // what listens to `close` after us has run, too
  };

  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  for (let i = 0; i < WARM_UP; i++) await ask();
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const counted = [];
  for (let i = 0; i <= REQUESTS; i++) {
    await ask();
    counted.push(callsIn((await session.post("Profiler.takePreciseCoverage")).result, url("/")));
  }
  session.disconnect();
  agent.destroy();
  server.close();
  return counted.slice(1); // V8 also has calls from before the count in the first one
}

function callsIn(scripts, root) {
  return scripts
    .filter(({ url }) => url.startsWith(root))
    .flatMap(({ url, functions }) =>
      functions
        .filter(({ ranges: [{ startOffset, count }], functionName }) => count > 0 && (startOffset > 0 || functionName !== ""))
        .map(({ functionName, ranges: [{ startOffset, count }] }) => {
          const file = `src/${url.slice(root.length).replace(/\.js$/, ".ts")}`;
          return { file, name: functionName || firstLineAt(url, startOffset), count };
        }),
    );
}

/** Shows a function without a name: its first line. */
function firstLineAt(url, offset) {
  return `\`${readFileSync(fileURLToPath(url), "utf8").slice(offset).split("\n", 1)[0].slice(0, 60).trim()}\``;
}

function report(requests) {
  const sum = (calls) => calls.reduce((total, { count }) => total + count, 0);
  const sorted = requests.toSorted((a, b) => sum(a) - sum(b));
  const calls = sorted[sorted.length >> 1];
  const files = groupByFile(calls);
  for (const [file, own] of [...files].sort((a, b) => sum(b[1]) - sum(a[1]))) {
    const names = own.toSorted((a, b) => b.count - a.count).map(({ name, count }) => (count === 1 ? name : `${name} ×${count}`));
    console.log(`${String(sum(own)).padStart(4)} ${file}: ${names.join(", ")}`);
  }
  console.log(`\n${REQUESTS} requests: ${sum(sorted[0])} to ${sum(sorted.at(-1))} calls each`);
  judge("calls", sum(calls));
  console.log(`     functions ${calls.length}`);
  judge("files", files.size);
}

function judge(what, count) {
  const over = count > LIMITS[what];
  console.log(`${over ? "OVER" : "ok  "} ${what} ${count} of ${LIMITS[what]}`);
  if (over) process.exitCode = 1;
}

function groupByFile(calls) {
  const files = new Map();
  for (const call of calls) files.set(call.file, [...(files.get(call.file) ?? []), call]);
  return files;
}
