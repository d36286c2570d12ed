// Runs tests inside other runtimes: where these are installed, and how a result is told.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The folder that holds the runtimes' packages: they are too large for `npm ci`, and some own the name `node`. */
export const RUNTIMES = resolve(process.env["SLUICE_RUNTIMES"] ?? join(ROOT, ".runtimes/node_modules"));

/** The project with the packed package, which `npm run check:runtimes` makes. */
export const PROJECT = resolve(RUNTIMES, "../project");

/** The folder of the packed package. Ends this process if it is not there. */
export function installedSluice() {
  const folder = join(PROJECT, "node_modules/sluice");
  if (existsSync(folder)) return folder;
  console.error(`Expected the packed package in ${folder}, got none. Run \`npm run check:runtimes\` once.`);
  process.exit(1);
}

/** A plugin of esbuild: `sluice` is the packed package, not the sources. Needs `tsconfigRaw: {}`, since the paths of tsconfig.json lead there. */
export function fromProject(project = PROJECT) {
  return {
    name: "the installed package",
    setup({ onResolve, resolve }) {
      onResolve({ filter: /^sluice(\/|$)/ }, ({ path, kind, pluginData }) =>
        pluginData === "second" ? undefined : resolve(path, { kind, resolveDir: project, pluginData: "second" }),
      );
    },
  };
}

/** Loads a package of that folder. Ends this process with a line that says what is missing. */
export function requireRuntime(name) {
  try {
    return createRequire(join(RUNTIMES, "none.cjs"))(name);
  } catch (error) {
    if (error.code !== "MODULE_NOT_FOUND") throw error;
    console.error(`Expected the package ${name} in ${RUNTIMES}, got none. Install it there, or name its folder in SLUICE_RUNTIMES.`);
    process.exit(1);
  }
}

/**
 * The tests of one runtime: runs them one after the other, prints a line for each, and fails this process if one failed.
 * Where requests wait for each other some never end, so a test fails after `limitMs`, long after the busiest machine is done.
 */
export async function runTests(runtime, tests, limitMs = 300_000) {
  const parts = process.argv.slice(2);
  const chosen = Object.entries(tests).filter(([name]) => parts.length === 0 || parts.some((part) => name.includes(part)));
  if (chosen.length === 0 && parts.length > 0) throw new RangeError(`Expected a part of a title, got ${parts.join(", ")}. Titles: ${Object.keys(tests).join("; ")}`);
  let failed = 0;
  for (const [name, run] of chosen) {
    try {
      const skipped = await within(limitMs, run());
      console.log(`${skipped === undefined ? "ok     " : "skipped"} ${runtime}: ${name}${skipped === undefined ? "" : ` (${skipped})`}`);
    } catch (error) {
      failed++;
      console.log(`FAILED  ${runtime}: ${name}\n${error instanceof Error ? error.stack : error}`);
    }
  }
  console.log(failed === 0 ? `${runtime}: all ${chosen.length} passed` : `${runtime}: ${failed} FAILED`);
  process.exit(failed === 0 ? 0 : 1); // a test that hangs must not keep this process
}

function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Expected the test to end within ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
