// `npm run check:runtimes`: runs the suites on the packed package, inside every runtime of the documentation and on the
// lowest version of every peer. Fetches the runtimes from npm into .runtimes. With names, such as `-- Bun Deno`, runs
// only those.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { bundlePrograms } from "../test/runtimes/bundle.mjs";
import { chooseJobs } from "../test/runtimes/choose-jobs.mjs";
import { listJobs } from "../test/runtimes/jobs.mjs";
import { formatReport, readOutput, writeReport } from "../test/runtimes/report.mjs";

const SOURCE = resolve("test/runtimes");
const RUNTIMES = resolve(".runtimes");
const MODULES = join(RUNTIMES, "node_modules");
/** An empty project with only the packed package. Its other imports are in the folder above it. */
const PROJECT = join(RUNTIMES, "project");
// A job spends most of its time waiting for timers, so twice as many run as there are processors.
const LANES = 2 * availableParallelism();
const JOB_MS = 1_200_000; // a busy machine takes twice as long as a quiet one, or more
const isStrict = process.env["SLUICE_REQUIRE_SERVICES"] === "1";

const began = performance.now();
const seconds = (since) => `${((performance.now() - since) / 1_000).toFixed(0)} s`;

await Promise.all([step("install the runtimes", installRuntimes), step("build", () => run("npm", ["run", "--silent", "build"], "."))]);
await step("install the package", installPackage);
await bundlePrograms(PROJECT);
writeTypesProject();

const wanted = process.argv.slice(2);
const jobs = chooseJobs(listJobs(MODULES), wanted);
// The longest job is first, because it would otherwise run by itself at the end.
const LONGEST = ["lowest", "stores", "requests at once"];
const rank = ({ column }) => (LONGEST.includes(column) ? LONGEST.indexOf(column) : LONGEST.length);
const waiting = jobs.toSorted((a, b) => rank(a) - rank(b));
await Promise.all(Array.from({ length: LANES }, async () => {
  for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await runJob(job);
}));

const report = formatReport(jobs);
const failed = jobs.flatMap(({ tests }) => tests.filter(({ outcome }) => outcome === "failed"));
const passed = jobs.flatMap(({ tests }) => tests.filter(({ outcome }) => outcome === "passed"));
console.log(`\n${report}`);
// A partial run must not change the table of runtimes.
const isWhole = wanted.length === 0 && jobs.every(({ missing, tests }) => missing === null && !tests.some(({ name }) => name.includes("(skipped: needs ")));
if (failed.length === 0 && isWhole) writeReport(report);
console.log(`\ncheck:runtimes ${failed.length === 0 ? "passed" : "FAILED"} in ${seconds(began)}\n${passed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length === 0 ? 0 : 1;

async function step(name, work) {
  const start = performance.now();
  await work();
  console.log(`${name}: ${seconds(start)}`);
}

async function run(command, args, cwd) {
  // `npm publish --dry-run` would make `npm pack` a dry run.
  const child = spawn(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, npm_config_dry_run: "false" } });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}`);
}

/**
 * Installs the packages of test/runtimes/package-lock.json, unless they are there. Runs no scripts, because some of
 * them download programs.
 */
async function installRuntimes() {
  const lock = "package-lock.json";
  const isThere = existsSync(join(MODULES, ".package-lock.json")) && existsSync(join(RUNTIMES, lock));
  if (isThere && readFileSync(join(RUNTIMES, lock), "utf8") === readFileSync(join(SOURCE, lock), "utf8")) return;
  mkdirSync(RUNTIMES, { recursive: true });
  // The lock is written last, to mark a complete installation.
  rmSync(join(RUNTIMES, lock), { force: true });
  for (const file of ["package.json", lock]) cpSync(join(SOURCE, file), join(RUNTIMES, file));
  try {
    await run("npm", ["ci", "--ignore-scripts", "--no-bin-links", "--no-audit", "--no-fund", "--prefer-offline"], RUNTIMES);
  } catch (error) {
    rmSync(join(RUNTIMES, lock));
    throw error;
  }
}

/** Packs the package and installs it into an empty project, as a user does. */
async function installPackage() {
  rmSync(PROJECT, { recursive: true, force: true });
  mkdirSync(PROJECT);
  for (const file of readdirSync(RUNTIMES).filter((name) => name.endsWith(".tgz"))) rmSync(join(RUNTIMES, file));
  await run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", RUNTIMES], ".");
  const [tarball] = readdirSync(RUNTIMES).filter((name) => name.endsWith(".tgz"));
  writeFileSync(join(PROJECT, "package.json"), '{ "private": true, "type": "module" }\n');
  // Bun reads the `paths` of the nearest tsconfig.json. Those of this repository lead to the sources.
  writeFileSync(join(PROJECT, "tsconfig.json"), "{}\n");
  await run("npm", ["install", "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--offline", join(RUNTIMES, tarball)], PROJECT);
}

/** A Worker and a middleware of Next.js in TypeScript, each with only its platform's types. */
function writeTypesProject() {
  const subpaths = Object.keys(JSON.parse(readFileSync("entries.json", "utf8")).subpaths).filter((name) => !/node|express|fastify|nest/.test(name));
  const imports = subpaths.map((name, i) => `import * as m${i} from "${name.replace(/^\./, "sluice")}";\n`);
  cpSync("examples/minimal/web.ts", join(PROJECT, "types/workers/worker.ts"));
  cpSync(join(SOURCE, "workerd/types/durable.ts"), join(PROJECT, "types/workers/durable.ts"));
  writeFileSync(join(PROJECT, "types/workers/all.ts"), `${imports.join("")}export const all = [${subpaths.map((_, i) => `m${i}`).join()}];\n`);
  cpSync(join(SOURCE, "next/types"), join(PROJECT, "types/next"), { recursive: true });
  const shared = { target: "es2022", module: "esnext", moduleResolution: "bundler", strict: true, noEmit: true };
  const projects = {
    workers: { ...shared, lib: ["es2022"], types: ["@cloudflare/workers-types"] },
    // The declarations of Next.js need those of React, which the middleware does not.
    next: { ...shared, lib: ["es2022", "dom", "dom.iterable"], types: [], skipLibCheck: true },
  };
  for (const [folder, compilerOptions] of Object.entries(projects)) writeFileSync(join(PROJECT, "types", folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
}

/**
 * Runs a job and records its tests. A job that cannot run here prints a warning, and fails where services are required.
 */
async function runJob(job) {
  const name = `${job.runtime} ${job.version}: ${job.command.slice(-1)}`;
  if (job.missing !== null) {
    console.log(`${isStrict ? "FAILED " : "SKIPPED"} ${name}: ${job.missing}`);
    job.tests = [{ name: `${name} (${job.missing})`, outcome: isStrict ? "failed" : "skipped" }];
    return;
  }
  const start = performance.now();
  const [code, output, complaints] = await spawned(job);
  job.tests = readOutput(job, code, output);
  for (const line of new Set(complaints.split("\n").filter((each) => each.startsWith("SKIPPED")))) console.log(`${job.runtime}: ${line}`);
  const failures = job.tests.filter(({ outcome }) => outcome === "failed");
  const skips = job.tests.filter(({ outcome }) => outcome === "skipped").length;
  console.log(`${failures.length === 0 ? "ok     " : "FAILED "} ${name}, ${job.tests.length - skips - failures.length} passed, ${skips} skipped, ${failures.length} failed in ${seconds(start)}`);
  for (const { name: test, error = "" } of failures) console.log(`\n  ${test}\n${error.replace(/^/gm, "    ")}`);
  if (failures.length > 0) console.log(complaints.slice(-2_000));
}

function spawned({ command: [file, ...args], cwd }) {
  const child = spawn(file, args, { cwd: cwd ?? PROJECT, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, SLUICE_RUNTIMES: MODULES, NO_COLOR: "1", NODE_ENV: "test" } });
  const texts = [child.stdout, child.stderr].map((stream) => {
    const chunks = [];
    stream.on("data", (chunk) => chunks.push(chunk));
    return () => Buffer.concat(chunks).toString();
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), JOB_MS);
  return new Promise((done) => {
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      done([code ?? signal, ...texts.map((text) => text())]);
    });
  });
}
