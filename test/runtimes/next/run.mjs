// The tests in Next.js: `node test/runtimes/next/run.mjs [part of a title …]`, after
// `npm run check:runtimes`, which installs Next.js and the packed package. A route handler on Node,
// route handlers and middleware in the edge runtime, each as `next build` makes it and as `next dev` runs it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { installedSluice, requireRuntime, ROOT, RUNTIMES, runTests } from "../runtimes.mjs";

const { version } = requireRuntime("next/package.json");
// Beside node_modules, so that Next.js finds its packages, and in no folder with a configuration of its own.
const APP = mkdtempSync(join(dirname(RUNTIMES), "next-app-"));
const NEXT = join(RUNTIMES, "next/dist/bin/next");

cpSync(join(ROOT, "test/runtimes/next/app"), APP, { recursive: true });
cpSync(installedSluice(), join(APP, "node_modules/sluice"), { recursive: true });
const running = new Set();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
process.once("exit", () => {
  for (const command of running) signalGroup(command, "SIGKILL"); // this process is ending and can wait for nothing
  rmSync(APP, { recursive: true, force: true, maxRetries: 5 });
});

/** Starts a command of Next.js. `output` is what it has printed so far. */
function next(...args) {
  const child = spawn(process.execPath, [NEXT, ...args], {
    cwd: APP,
    // Next.js would write into the lock file of this repository, which lacks its packages.
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NEXT_IGNORE_INCORRECT_LOCKFILE: "1", NODE_ENV: args[0] === "dev" ? "development" : "production" },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true, // a group of its own: Next.js starts workers
  });
  const command = { child, output: "" };
  running.add(command);
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (command.output += chunk));
  command.ended = new Promise((resolve) => child.once("exit", (code) => resolve(code)));
  return command;
}

/** Ends a command and its workers: they may clean up for 5 seconds. */
async function end(command) {
  signalGroup(command, "SIGTERM");
  const isLate = await Promise.race([command.ended.then(() => false), new Promise((resolve) => setTimeout(resolve, 5_000, true))]);
  signalGroup(command, "SIGKILL"); // also a worker that outlives its parent
  if (isLate) await command.ended;
  running.delete(command);
}

function signalGroup({ child }, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has ended.
  }
}

async function build() {
  const command = next("build");
  const code = await command.ended;
  assert.equal(code, 0, `next build ended with ${code}:\n${command.output}`);
}

/** Runs `use` with the address of a server. */
async function serving(how, use) {
  const command = next(how, "--hostname", "127.0.0.1", "--port", "0");
  try {
    for (;;) {
      const [, url] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(command.output) ?? [];
      if (url !== undefined && /ready/i.test(command.output)) return await use(url);
      const early = await Promise.race([command.ended, new Promise((resolve) => setTimeout(resolve, 20))]);
      assert.equal(early, undefined, `next ${how} ended:\n${command.output}`);
    }
  } catch (error) {
    throw new Error(`${error.message}\n${command.output.slice(-4_000)}`, { cause: error });
  } finally {
    await end(command);
  }
}

async function checkAll(url) {
  for (const [path, runtime] of [["/node", "nodejs"], ["/edge", "edge"], ["/page", "nodejs"]]) {
    const responses = [];
    for (let i = 0; i < 3; i++) responses.push(await fetch(`${url}${path}?key=ann`));
    const told = responses.map(({ status, headers }) => [status, headers.get("ratelimit-remaining"), headers.get("retry-after") !== null]);
    assert.deepEqual(told, [[200, "1", false], [200, "0", false], [429, "0", true]], path);
    assert.deepEqual(await responses[0].json(), { runtime }, path);
    assert.equal((await responses[2].json()).code, "rate_limited");
    const many = await Promise.all(Array.from({ length: 50 }, () => fetch(`${url}${path}?key=bob`)));
    assert.equal(many.filter(({ status }) => status === 200).length, 2, path);
  }
  assert.equal((await fetch(`${url}/page`)).status, 401);
  // The share of one process is one token, and an outage is a 503.
  await fetch(`${url}/hangs?key=first`);
  const waited = await Promise.all(Array.from({ length: 50 }, () => fetch(`${url}/hangs?key=ann`)));
  const times = waited.map(({ headers }) => Number(headers.get("x-decided-in-ms")));
  // By the runtime's own clock. The timeout is 100 ms, and a busy machine is later.
  assert.ok(times.every((ms) => ms >= 99), `decided in ${times.join(", ")} ms`);
  assert.deepEqual([200, 503].map((status) => waited.filter((response) => response.status === status).length), [1, 49]);
}

await runTests(`next ${version}`, {
  "L15 · a built app limits on Node, at the edge and in middleware": async () => {
    await build();
    await serving("start", checkAll);
  },
  "L15 · so does an app in development": () => serving("dev", checkAll),
}, 900_000);
