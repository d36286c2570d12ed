// `npm run bench`: every section, one after the other, each with the options given, such as `--quick`.
import { spawnSync } from "node:child_process";

const SECTIONS = ["memory", "http", "redis", "lease", "postgres", "size"];
const failed = [];
for (const section of SECTIONS) {
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
