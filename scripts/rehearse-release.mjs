// `node scripts/rehearse-release.mjs [file.tgz]`: installs the packed package into an empty folder and does what the
// README says, from top to bottom: its first sample, each row of its table, both commands of a clone. The sample runs on
// each Node, Bun and Deno of `npm run check:runtimes`, which fetches them, and a Worker in workerd. Port 3000 must be free.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { build } from "esbuild";
import { fromProject, requireRuntime, ROOT, RUNTIMES } from "../test/runtimes/runtimes.mjs";

const README = readFileSync(join(ROOT, "README.md"), "utf8");
const isStrict = process.env["SLUICE_REQUIRE_SERVICES"] === "1";
const HOME = "http://127.0.0.1:3000/";
const scratch = mkdtempSync(join(tmpdir(), "sluice-rehearsal-"));
const project = join(scratch, "project");
const results = { passed: 0, failed: 0 };

process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
if (await isTaken()) throw new Error("Expected port 3000 to be free, got a server. End it: the samples listen there");
install(resolve(process.argv[2] ?? pack()));
await part("the first sample", sampleOnEachRuntime);
await part("a Worker", inWorkerd);
await part("the table", rowsOfTable);
await part("a clone", inClone);
console.log(`${results.passed} passed, ${results.failed} failed`);
process.exitCode = results.failed === 0 ? 0 : 1;

/** Runs a part. What it `expect`s is counted, and an error of the part itself counts as one failure. */
async function part(name, run) {
  console.log(`\n${name}`);
  try {
    await run();
  } catch (error) {
    failed(name, error);
  }
}

async function expect(what, check) {
  try {
    await check();
    results.passed += 1;
    console.log(`ok      ${what}`);
  } catch (error) {
    failed(what, error);
  }
}

function failed(what, error) {
  results.failed += 1;
  console.log(`FAILED  ${what}\n${error.stack ?? error}`);
}

/** Says loudly what cannot run here. It is a failure where everything is required. */
function missing(what, cure) {
  if (isStrict) return failed(what, new Error(cure));
  console.log(`SKIPPED ${what}: ${cure}`);
}

function pack() {
  execFileSync("npm", ["run", "--silent", "build"], { cwd: ROOT, stdio: "inherit" });
  execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", scratch], { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
  return join(scratch, readdirSync(scratch).find((name) => name.endsWith(".tgz")));
}

function install(tarball) {
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }\n');
  writeFileSync(join(project, "tsconfig.json"), "{}\n"); // Bun looks for one in the folders above
  const packages = [tarball, "express@5", "ioredis@5", "tsx@4"];
  execFileSync("npm", ["install", "--silent", "--no-audit", "--no-fund", "--prefer-offline", ...packages], { cwd: project, stdio: ["ignore", "ignore", "inherit"] });
}

/** The first block of code in the README after a text. */
function blockOf(language, after = "") {
  const [, code] = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(README.slice(README.indexOf(after))) ?? [];
  assert.ok(code, `Expected a block of ${language} in the README after "${after}"`);
  return code;
}

async function sampleOnEachRuntime() {
  for (const file of ["server.mjs", "server.mts"]) writeFileSync(join(project, file), blockOf("ts"));
  for (const [name, program, ...args] of runtimes()) {
    if (program === null) missing(name, "fetch the runtimes: npm run check:runtimes");
    else await expect(name, () => whileServing(program, args, undefined, oneHundredAMinute));
  }
}

/** The programs, each with the file of the sample. For TypeScript Node 20 needs tsx, as the README says. */
function runtimes() {
  const at = (...path) => {
    const file = join(RUNTIMES, ...path);
    return existsSync(file) ? file : null;
  };
  const node = (major) => at(`node${major}`, "bin/node");
  const bun = readdirSync(at("@oven") ?? scratch).find((name) => name.startsWith("bun-"));
  const deno = readdirSync(at("@deno") ?? scratch).find((name) => existsSync(join(RUNTIMES, "@deno", name, "deno")));
  return [
    ["Node 20", node(20), "server.mjs"],
    ["Node 20, with tsx", node(20), join(project, "node_modules/tsx/dist/cli.mjs"), "server.mts"],
    ...[22, 24, 26].map((major) => [`Node ${major}`, node(major), "server.mts"]),
    ["Bun", bun ? at("@oven", bun, "bin/bun") : null, "server.mts"],
    ["Deno", deno ? at("@deno", deno, "deno") : null, "run", "--allow-all", "--no-remote", "--node-modules-dir=manual", "server.mts"],
  ];
}

/** "100 at once, then 100 a minute", and "Request 101 gets a 429 with Retry-After: 1. Wait that long." */
async function oneHundredAMinute() {
  let served = 0;
  let answer = await fetch(HOME);
  for (; answer.status === 200; answer = await fetch(HOME)) {
    assert.equal(await answer.text(), "Hello");
    served += 1;
  }
  // A token comes back every 600 ms while the requests run.
  assert.ok(served >= 100 && served < 200, `Expected 100 requests to be served at once, got ${served}`);
  assert.equal(answer.status, 429);
  assert.equal(answer.headers.get("retry-after"), "1");
  assert.equal((await answer.json()).status, 429);
  await sleep(1_000);
  assert.equal((await fetch(HOME)).status, 200);
}

async function inWorkerd() {
  const { Log, LogLevel, Miniflare } = requireRuntime("miniflare");
  const { outputFiles } = await build({
    absWorkingDir: ROOT, entryPoints: ["examples/minimal/web.ts"], bundle: true, write: false, format: "esm", target: "es2022",
    conditions: ["workerd", "worker", "browser"], tsconfigRaw: {}, plugins: [fromProject(project)], external: ["node:*"],
  });
  const modules = [{ type: "ESModule", path: "worker.mjs", contents: outputFiles[0].text }];
  const worker = new Miniflare({ modules, compatibilityDate: "2026-04-01", cf: false, host: "127.0.0.1", telemetry: { enabled: false }, log: new Log(LogLevel.NONE) });
  try {
    const url = await worker.ready;
    await expect("workerd", async () => {
      const ask = () => fetch(url, { headers: { authorization: "Bearer token-of-ann" } });
      const statuses = (await Promise.all(Array.from({ length: 14 }, ask))).map(({ status }) => status);
      assert.ok(statuses.includes(429) && statuses.filter((status) => status === 200).length >= 10, statuses.join());
      assert.equal((await fetch(url)).status, 401);
    });
  } finally {
    await worker.dispose();
  }
}

/** The code of a row of the README's table, by its first cell. */
function rowOf(name) {
  const [, code] = new RegExp(`^\\| ${name} \\|.*?\`(.+?)\``, "m").exec(README) ?? [];
  assert.ok(code, `Expected a row "${name}" in the README's table`);
  return code;
}

/** One program of all rows: a month, requests in flight, a stricter route, signed-in users, Redis, and the caller's side. */
async function rowsOfTable() {
  const url = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";
  const hasRedis = await isListening(new URL(url).hostname, Number(new URL(url).port || 6379));
  if (!hasRedis) missing("several processes", `start Redis at ${url}`);
  const limits = `{ name: "rate", refill: perMinute(100) }, { name: "month", ${rowOf("a month's quota")} }, { name: "parallel", ${rowOf("4 requests in flight")} }`;
  writeFileSync(join(project, "rows.mts"), `import express from "express";
import { Redis } from "ioredis";
import { addressKey, monthly, perHour, perMinute, whenDone } from "sluice";
import { rateLimit } from "sluice/express";
import { RedisStore } from "sluice/redis";
declare module "express-serve-static-core" { interface Request { user?: { id: string } } }
const redis = ${hasRedis ? `new Redis(${JSON.stringify(url)})` : "null"};
const app = express();
app.use((request, _, next) => { request.user = { id: request.get("x-user") ?? "none" }; next(); });
const { key } = { ${rowOf("signed-in users")} };
const shared = ${hasRedis ? `{ ${rowOf("several processes")} }` : "{}"};
app.get("/", rateLimit({ policy: { name: "rehearsal", limits: [${limits}] }, key, ...shared }), (_, response) => void response.send("Hello"));
${rowOf("a stricter route")};
app.post("/reports", (_, response) => void response.send("report"));
app.listen(3000);
`);
  writeFileSync(join(project, "caller.mts"), `import { createFetch } from "sluice/client";
const call = ${rowOf("the caller's side")};
const began = performance.now();
let last = 0;
for (let i = 0; i < 101; i++) last = (await call("${HOME}", { headers: { "x-user": "caller" } })).status;
console.log(JSON.stringify({ last, ms: performance.now() - began }));
`);
  const tsx = join(project, "node_modules/tsx/dist/cli.mjs");
  const user = `rehearsal-${process.pid}`;
  await whileServing(process.execPath, [tsx], "rows.mts", async () => {
    await expect("a rate, a month and requests in flight together", async () => {
      const answers = await Promise.all(Array.from({ length: 12 }, () => fetch(HOME, { headers: { "x-user": user } })));
      assert.ok(answers.some(({ status }) => status === 200), answers.map(({ status }) => status).join());
      const policy = answers[0].headers.get("ratelimit-policy");
      for (const limit of ["rate", "month", "parallel"]) assert.ok(policy.includes(`"rehearsal:${limit}"`), policy);
    });
    await expect("a stricter route", async () => {
      const statuses = [];
      for (let i = 0; i < 4; i++) statuses.push((await fetch(`${HOME}reports`, { method: "POST", headers: { "x-user": user } })).status);
      assert.deepEqual(statuses, [200, 200, 200, 429]);
    });
    await expect("the caller's side", async () => {
      const { last, ms } = JSON.parse(await outputOf(process.execPath, [tsx, "caller.mts"], project));
      assert.equal(last, 200, `after ${ms} ms`);
    });
  });
}

/** `npm ci && npm start` in a clone, and the requests that the README tries there. */
async function inClone() {
  const clone = join(scratch, "clone");
  execFileSync("git", ["clone", "--quiet", "--depth", "1", `file://${ROOT}`, clone], { stdio: "inherit" });
  execFileSync("npm", ["ci", "--no-audit", "--no-fund", "--prefer-offline"], { cwd: clone, stdio: ["ignore", "ignore", "inherit"] });
  await whileServing("npm", ["start"], undefined, async () => {
    for (const [, statuses, command] of blockOf("sh", "In a second terminal").matchAll(/^# (.+)\n(curl .+)$/gm)) {
      await expect(command, async () => {
        const printed = await outputOf("sh", ["-c", command], clone);
        // A body has no end of line, so that the next answer begins behind it.
        assert.deepEqual([...printed.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status).sort(), statuses.split(", ").sort());
      });
    }
  }, clone);
}

/** Starts a program, waits until it listens on port 3000, and ends it afterwards. */
async function whileServing(program, args, file, use, cwd = project) {
  const child = spawn(program, file === undefined ? args : [...args, file], { cwd, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (printed += text));
  try {
    for (let tries = 0; !(await isTaken()); tries++) {
      assert.ok(child.exitCode === null && tries < 600, `Expected a server on port 3000, got:\n${printed}`);
      await sleep(100);
    }
    await use();
  } finally {
    const ended = child.exitCode === null ? once(child, "exit") : undefined;
    try {
      process.kill(0 - Number(child.pid), "SIGKILL"); // with what it started
    } catch {
      // It has ended by itself.
    }
    await ended;
    while (await isTaken()) await sleep(50);
  }
}

async function outputOf(program, args, cwd) {
  const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.on("data", (text) => (printed += text));
  const [code] = await once(child, "close");
  assert.equal(code, 0, `${program} ${args.join(" ")} ended with ${code}`);
  return printed;
}

function isTaken() {
  return isListening("127.0.0.1", 3000);
}

function isListening(host, port) {
  return new Promise((done) => {
    const socket = connect(port, host, () => done(true));
    socket.once("error", () => done(false)).once("close", () => done(false));
    socket.once("connect", () => socket.destroy());
  });
}
