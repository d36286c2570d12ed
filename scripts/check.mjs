// `npm run check`: every check that a change must pass, in two lanes side by side. A step's output appears when the
// step ends. All steps run, even after a failure, so one run shows all failures. The lines of a failed step that name a
// failure are repeated at the end, because a log is often kept by its end only.
import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";

const MOST_LINES = 120;

const lanes = [
  ["typecheck", "test:types", "check:lock", "lint", "docs"],
  ["test", "test:services", "check:package"],
];

/** Runs one npm script. Resolves to null when it passed, and to its output when it failed. */
function run(script) {
  const started = performance.now();
  const child = spawn("npm", ["run", "--silent", script], {
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32",
    // Properties draw all of their cases, and the real clock leaps in unit tests. `npm publish --dry-run` runs this check
    // too, and would make its `npm pack` a dry run.
    env: { ...process.env, SLUICE_ALL_CASES: "1", SLUICE_LEAPING_CLOCK: "1", npm_config_dry_run: "false" },
  });
  const output = [];
  child.stdout.on("data", (chunk) => output.push(chunk));
  child.stderr.on("data", (chunk) => output.push(chunk));
  return new Promise((resolve) => {
    child.on("close", (code) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      const text = String(Buffer.concat(output));
      process.stdout.write(`\n--- ${script}: ${code === 0 ? "passed" : `FAILED (${code})`} in ${seconds} s\n${text}`);
      resolve(code === 0 ? null : text);
    });
  });
}

/** What names a failure: Vitest's failed tests and errors with the lines behind them, or else the last lines. */
function failuresIn(output) {
  const lines = stripVTControlCharacters(output).split("\n");
  const named = lines.flatMap((line, i) => (/^\s*(FAIL|×|✗)\s|Error:|error TS/.test(line) ? lines.slice(i, i + 6) : []));
  return (named.length > 0 ? named.slice(0, MOST_LINES) : lines.slice(-MOST_LINES)).join("\n");
}

const failed = [];
let passed = 0;
async function runAll(scripts) {
  for (const script of scripts) {
    const output = await run(script);
    if (output === null) passed++;
    else failed.push({ script, output });
  }
}
await runAll(["build"]); // the tool beside the package reads its built types
await Promise.all(lanes.map(runAll));
for (const { script, output } of failed) console.log(`\n--- What failed in ${script}:\n${failuresIn(output)}`);
console.log(failed.length ? `\ncheck FAILED: ${failed.map(({ script }) => script).join(", ")}` : "\ncheck passed");
console.log(`${passed} passed, ${failed.length} failed`);
process.exitCode = failed.length ? 1 : 0;
