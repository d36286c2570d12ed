// `npm run check`: every check that a change must pass, in two lanes side by side. A step's output appears when the
// step ends. All steps run, even after a failure, so one run shows all failures.
import { spawn } from "node:child_process";

const lanes = [
  ["typecheck", "test:types", "check:lock", "lint", "docs"],
  ["build", "test", "test:services", "check:package"],
];

/** Runs one npm script. Resolves to whether it passed. */
function run(script) {
  const started = performance.now();
  const child = spawn("npm", ["run", "--silent", script], {
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32",
    // `npm publish --dry-run` runs this check too, and would make its `npm pack` a dry run.
    env: { ...process.env, npm_config_dry_run: "false" },
  });
  const output = [];
  child.stdout.on("data", (chunk) => output.push(chunk));
  child.stderr.on("data", (chunk) => output.push(chunk));
  return new Promise((resolve) => {
    child.on("close", (code) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      process.stdout.write(`\n--- ${script}: ${code === 0 ? "passed" : `FAILED (${code})`} in ${seconds} s\n${Buffer.concat(output)}`);
      resolve(code === 0);
    });
  });
}

const failed = [];
let passed = 0;
await Promise.all(
  lanes.map(async (lane) => {
    for (const script of lane) {
      if (await run(script)) passed++;
      else failed.push(script);
    }
  }),
);
console.log(failed.length ? `\ncheck FAILED: ${failed.join(", ")}` : "\ncheck passed");
console.log(`${passed} passed, ${failed.length} failed`);
process.exitCode = failed.length ? 1 : 0;
