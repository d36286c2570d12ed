// `npm run bench`: every section, one after the other. `npm run bench gate -- --only=node` runs the named sections, each
// with the options given, and does not wait for a quiet machine.
import { spawnSync } from "node:child_process";
import { loadavg } from "node:os";

const SECTIONS = ["gate", "decision", "http", "redis", "redis-cluster", "window", "lease", "postgres", "waiting", "simulate", "size", "adaptive", "adaptive-http"];
// Sections of several files have a folder.
const FILES = { "adaptive": "adaptive/run.ts", "adaptive-http": "adaptive/http.ts" };
const QUIET = 0.3;
const PATIENCE_MS = 300_000;

const words = process.argv.slice(2);
const options = words.slice(words.findLastIndex((word) => SECTIONS.includes(word)) + 1);
const named = words.slice(0, words.length - options.length);
for (const name of named) if (!SECTIONS.includes(name)) throw new Error(`Expected a section (${SECTIONS.join(", ")}), got ${name}`);

/** Waits until the machine is quiet. The load is that of the last minute, so the section before counts for a while. */
async function untilQuiet() {
  const started = performance.now();
  while (loadavg()[0] >= QUIET && performance.now() - started < PATIENCE_MS) {
    process.stderr.write(`\rwaiting for a load of ${QUIET}, now ${loadavg()[0].toFixed(2)}   `);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  }
  process.stderr.write("\r".padEnd(50) + "\r");
}

const failed = [];
for (const section of named.length > 0 ? named : SECTIONS) {
  if (named.length === 0 && !options.includes("--quick")) await untilQuiet();
  const started = performance.now();
  console.log(`\n=== ${section}`);
  const { status } = spawnSync("tsx", [FILES[section] ?? `${section}.ts`, ...options], { stdio: "inherit", shell: process.platform === "win32" });
  if (status !== 0) failed.push(section);
  console.log(`=== ${section}: ${((performance.now() - started) / 1_000).toFixed(0)} s`);
}
if (failed.length > 0) {
  console.error(`\nNot measured completely: ${failed.join(", ")}`);
  process.exitCode = 1;
}
