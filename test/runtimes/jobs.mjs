// What `npm run check:runtimes` runs: in which runtime, with which program, and what the table says of it.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { tsImport } from "tsx/esm/api";

const { chromiumProgram } = await tsImport("../helpers/chromium.ts", import.meta.url);

const ROOT = new URL("../../", import.meta.url).pathname;
/** The processor and system in the names of npm packages that hold a runtime's program. */
const HOST = `${process.platform}-${process.arch}`;
const BUN = { "linux-x64": "linux-x64", "linux-arm64": "linux-aarch64", "darwin-x64": "darwin-x64", "darwin-arm64": "darwin-aarch64" };
const DENO = { "linux-x64": "linux-x64-glibc", "linux-arm64": "linux-arm64-glibc", "darwin-x64": "darwin-x64", "darwin-arm64": "darwin-arm64" };

/**
 * The jobs, for the packages in `modules`. Each has the `runtime` of its row, the `column` of the table, a `command`, and
 * `missing`: why it cannot run here, if it cannot. `cwd` is the project with the package, unless a job names another.
 */
export function listJobs(modules) {
  const package_ = (name) => JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8"));
  const program = (...path) => {
    const file = join(modules, ...path);
    return existsSync(file) ? file : null;
  };
  const jobs = [];
  const add = (runtime, version, column, command, missing = null, cwd = null) => jobs.push({ runtime, version, column, command, missing, cwd });
  const addRuntime = (runtime, file, args, native) => {
    const missing = file === null ? `npm has no ${runtime} for ${HOST}` : null;
    const version = missing ? "–" : /\d+\.\d+\.\d+/.exec(execFileSync(file, ["--version"], { encoding: "utf8" }))[0];
    const run = (column, ...suites) => add(runtime, version, column, [file, ...args, "main.mjs", ...suites], missing);
    run("stores", "stores");
    run("adapters", "adapters");
    if (native) run("adapters", "native");
    run("core, client", "core", "client");
    run("two copies", "copies");
  };

  for (const major of ["20", "22", "24", "26"]) addRuntime(`Node ${major}`, program(`node${major}`, "bin/node"), [], false);
  addRuntime("Bun", program("@oven", `bun-${BUN[HOST]}`, "bin/bun"), [], true);
  const deno = ["run", "--allow-all", "--no-remote", "--node-modules-dir=manual"];
  addRuntime("Deno", program("@deno", DENO[HOST] ?? "none", "deno"), deno, true);

  const node = program("node20", "bin/node") ?? process.execPath;
  add("lowest peers", "on Node 20", "lowest", [node, "main.mjs", "lowest"]);

  const workerd = package_("workerd").version;
  add("Cloudflare Workers", `workerd ${workerd}`, "core, client", [process.execPath, "host.mjs", "workerd", "core", "client"]);
  add("Cloudflare Workers", `workerd ${workerd}`, "stores", [process.execPath, "host.mjs", "workerd", "stores"]);
  const types = (folder) => [process.execPath, createRequire(import.meta.url).resolve("typescript/bin/tsc"), "-p", `types/${folder}`];
  add("Cloudflare Workers", `workerd ${workerd}`, "types", types("workers"));
  add("Next.js", package_("next").version, "types", types("next"));
  const chromium = chromiumProgram();
  const missing = chromium === undefined ? "there is no Chromium: run scripts/install-test-servers.sh as root, or set SLUICE_CHROMIUM" : null;
  const version = missing ? "–" : /\d+\.\d+\.\d+/.exec(execFileSync(chromium, ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }))[0];
  add("Chromium", version, "core, client", [process.execPath, "host.mjs", "chromium", "core", "client"], missing);
  add("Chromium", version, "stores", [process.execPath, "host.mjs", "chromium", "stores"], missing);

  // Programs of their own, which take the packages' folder in SLUICE_RUNTIMES and print a line for each test.
  const own = [["Cloudflare Workers", `workerd ${workerd}`, "workerd"], ["Next.js", package_("next").version, "next"]];
  for (const [runtime, of, folder] of own) {
    const file = new URL(`${folder}/run.mjs`, import.meta.url).pathname;
    if (existsSync(file)) add(runtime, of, "requests at once", [process.execPath, file], null, ROOT);
  }
  return jobs;
}
