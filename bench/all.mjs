// `npm run bench`: every section, one after the other, each with the options given, such as `--quick`.
import { spawnSync } from "node:child_process";
import { loadavg } from "node:os";

const SECTIONS = ["memory", "http", "redis", "redis-cluster", "lease", "postgres", "waiting", "simulate", "size"];
const QUIET = 0.3;
const PATIENCE_MS = 300_000;

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
for (const section of SECTIONS) {
  if (!process.argv.includes("--quick")) await untilQuiet();
  const started = performance.now();
  console.log(`\n=== ${section}`);
  const { status } = spawnSync("tsx", [`${section}.ts`, ...process.argv.slice(2)], { stdio: "inherit", shell: process.platform === "win32" });
  if (status !== 0) failed.push(section);
  console.log(`=== ${section}: ${((performance.now() - started) / 1_000).toFixed(0)} s`);
}
if (failed.length > 0) {
  console.error(`\nNot measured completely: ${failed.join(", ")}`);
  process.exitCode = 1;
}
